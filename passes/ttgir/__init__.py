"""Built-in passes of level ttgir."""
