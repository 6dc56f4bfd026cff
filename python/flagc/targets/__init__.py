"""The targets flagc compiles for: one folder each."""
