"""Files that are not read into memory: their columns, and what their first rows do not tell."""
