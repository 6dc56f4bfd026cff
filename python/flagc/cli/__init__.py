"""The commands: flagc, flagc-opt, flagc-run."""
