"""The command line: parse, call, show."""

from linmax.cli import commands
from linmax.cli.main import app, main

__all__ = ["app", "commands", "main"]
