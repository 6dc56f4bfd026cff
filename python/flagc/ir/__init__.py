"""IR in and out of Triton, and the views of it that a pass author works with."""
