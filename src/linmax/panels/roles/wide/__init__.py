"""The roles of the columns of a wide table, one row per item."""
