"""What users get to see: tables, IR dumps, files, JSON, crash reports."""
