"""The program that all commands belong to; each imports what it needs when it is called."""

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

app = typer.Typer(
    name="linmax",
    help="Learn whom to trust: an on-line, mistake-bounded combination of experts' votes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@contextmanager
def plainly() -> Iterator[None]:
    """An error is one sentence; neither Ctrl-C nor a reader who has enough (`| head`) is one."""
    try:
        yield
    except BrokenPipeError:
        with suppress(OSError, ValueError):  # else Python complains of it once more at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except ValueError as error:
        typer.echo(f"linmax: {as_options(str(error))}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt as interrupt:
        typer.echo(f"\nlinmax: {str(interrupt) or 'stopped'}", err=True)
        raise typer.Exit(130) from None


@contextmanager
def gently() -> Iterator[None]:
    """Let a polite kill unwind what is under way, so that no half-written file is left behind."""
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


def as_options(sentence: str) -> str:
    """A sentence of the library, with its parameters as options of the command line.

    >>> as_options("name those that vote with experts=, or pass shape=; fold=True makes them one")
    'name those that vote with --experts, or pass --shape; --fold makes them one'
    """
    sentence = sentence.replace("so shuffle them", "so mix them with --shuffle SEED")
    sentence = re.sub(r"(?<![\w-])fold=True\b", "--fold", sentence)
    return re.sub(r"(?<![\w-])(label|id|attributes|experts|shape|abstain)=(?=[\s,;.]|$)", r"--\1", sentence)
