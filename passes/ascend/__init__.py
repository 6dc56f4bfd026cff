"""Built-in passes of level ascend."""
