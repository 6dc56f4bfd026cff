"""Analyses of modules, apart from the passes that act on them."""
