"""Whole files read into memory, with the roles of their columns inferred by content."""

from linmax.validation import require_extra

require_extra("pyarrow", "cli", "linmax.panels")

from linmax.panels.table import RawTable, load_table  # noqa: E402

__all__ = ["RawTable", "load_table"]
