"""Built-in passes of level ttir."""
