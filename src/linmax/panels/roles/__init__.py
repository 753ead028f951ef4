"""Roles: what the columns of a table are, inferred from their names and contents."""
