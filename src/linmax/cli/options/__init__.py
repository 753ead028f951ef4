"""The options of the commands, each declared once, as fields of frozen dataclasses."""
