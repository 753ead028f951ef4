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


def start() -> None:
    """Let pyarrow set itself up without pandas, which it would like to know of: that takes half a second."""
    import pyarrow

    with _Absent("pandas"):
        pyarrow.array([0]).to_numpy()


def main() -> None:
    """The program: as `app`, but without taking Python apart at the end, which takes a fifth of a second."""
    pass

    code: object = 0
    try:
        app()
    except SystemExit as done:
        code = done.code
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


class _Absent:
    """For a while a module cannot be imported, unless it is there already."""

    def __init__(self, module: str) -> None:
        self.module = module

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == self.module:
            raise ModuleNotFoundError(f"linmax does without {name}", name=name)

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *error: object) -> None:
        sys.meta_path.remove(self)
