"""From a user's file to the kernels to compile."""
