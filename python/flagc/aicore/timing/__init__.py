"""The timing model of the emulated AI Core: how long a launch would take on a chip."""
