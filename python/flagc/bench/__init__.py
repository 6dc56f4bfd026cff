"""Time launches on a device, against baselines in the same run."""
