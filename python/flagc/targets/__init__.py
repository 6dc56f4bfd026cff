"""Targets: one folder each, all implementing the same protocol."""
