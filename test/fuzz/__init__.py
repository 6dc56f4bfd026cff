"""Random kernels and shapes on the emulated AI Core against float64; see cases.py."""
