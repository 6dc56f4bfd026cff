"""Analyses that run at any level."""
