"""How a command ends: error messages, exit codes and signals."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer

RENAMED = {"again": "relearn", "fold": "ignore-case"}
"""Former names of options, which are still accepted."""


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Turn an exception into one line on standard error and an exit code.

    A ValueError and a missing extra exit with 2, Ctrl-C exits with 130, and a closed pipe (`| head`) with 0.
    """
    try:
        yield
    except BrokenPipeError:
        with suppress(OSError, ValueError):  # otherwise Python reports the closed pipe again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except ValueError as error:
        typer.echo(f"linmax: {as_options(str(error))}", err=True)
        raise typer.Exit(2) from None
    except ImportError as error:
        if "pip install 'linmax[" not in str(error):
            raise
        typer.echo(f"linmax: {error}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt as interrupt:
        typer.echo(f"\nlinmax: {str(interrupt) or 'stopped'}", err=True)
        raise typer.Exit(130) from None


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Let SIGTERM raise SystemExit, so that files that are only partly written are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def as_options(message: str) -> str:
    """Replace the parameters in a message of the library by options of the command line.

    >>> as_options("name the voting columns with experts=, or pass shape=; ignore_case=True makes them equal")
    'name the voting columns with --experts, or pass --shape; --ignore-case makes them equal'
    """
    message = message.replace("so shuffle them", "so shuffle them with --shuffle SEED")
    message = re.sub(r"(?<![\w-])ignore_case=True\b", "--ignore-case", message)
    return re.sub(r"(?<![\w-])(label|id|attributes|experts|shape|abstain)=(?=[\s,;.]|$)", r"--\1", message)


def current_name(option: str) -> str:
    """The present name of an option that may be written by its former name, without the dashes.

    >>> current_name("again"), current_name("seed")
    ('relearn', 'seed')
    """
    return RENAMED.get(option, option)
