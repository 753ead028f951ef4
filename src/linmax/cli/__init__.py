"""The command line: parse, call, show."""

from linmax.cli import app as general
from linmax.cli import files, models
from linmax.cli.frame import app
from linmax.cli.quick import main

__all__ = ["app", "files", "general", "main", "models"]
