"""Whole files: those of each format as tables of plain columns.

The reader of a format, such as `read_csv`, takes the open file (`source`, whose `part` names a sheet or key),
how much of it is read (`limit`) and perhaps whether its first row names the columns (`header`). It returns a
`Loaded`.
"""
