"""The built-in passes: one file a pass, a folder a level."""
