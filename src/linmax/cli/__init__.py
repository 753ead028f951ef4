"""The command line: parse, call, show."""

from linmax.cli.app import app

__all__ = ["app"]
