"""Check the results of launches against references."""
