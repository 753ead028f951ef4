"""Whole files read into memory, with the roles of their columns inferred by content."""

from linmax.validation import require_extra

require_extra("pyarrow", "cli", "linmax.panels")

from linmax.panels.panel import Panel, read_panel  # noqa: E402
from linmax.panels.roles.column_role import PanelOptions  # noqa: E402
from linmax.panels.table import RawTable, load_table  # noqa: E402

__all__ = ["Panel", "PanelOptions", "RawTable", "load_table", "read_panel"]
