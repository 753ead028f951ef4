"""Formats: files of each kind as tables of plain columns."""
