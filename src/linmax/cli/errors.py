"""How a command ends: error messages, exit codes and signals."""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from linmax.cli.output import discard_stdout

RENAMED = {"again": "relearn", "fold": "ignore-case"}
"""Former names of options, which are still accepted."""


UsageError: type[Any] = typer.BadParameter.__mro__[1]
"""What typer raises for an unknown option, a missing argument or a bad value."""


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Turn an exception into one line on standard error and an exit code.

    A ValueError, a wrong option, a missing extra and a failed read or write exit with 2, Ctrl-C with 130, and
    a closed pipe (`| head`) with 0.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # an error of the last write is reported here, and not by Python at exit
    except BrokenPipeError:
        discard_stdout()
        raise typer.Exit(0) from None
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # rich exits with 1, for example in the help
            raise typer.Exit(0) from None
        raise
    except OSError as error:
        discard_stdout()
        _exit(describe_os_error(error))
    except ValueError as error:
        _exit(as_options(str(error)))
    except UsageError as error:
        _exit(describe_usage_error(error))
    except ImportError as error:
        if "pip install 'linmax[" not in str(error):
            raise
        _exit(str(error))
    except KeyboardInterrupt as interrupt:
        typer.echo(f"\nlinmax: {str(interrupt) or 'stopped'}", err=True)
        raise typer.Exit(130) from None


def _exit(message: str) -> NoReturn:
    typer.echo(f"linmax: {message}", err=True)
    raise typer.Exit(2) from None


def describe_os_error(error: OSError) -> str:
    """One sentence on a failed read or write.

    >>> describe_os_error(PermissionError(13, "Permission denied", "votes.csv"))
    'cannot read or write votes.csv: Permission denied; check the path and its permissions'
    >>> describe_os_error(OSError(28, "No space left on device"))
    'cannot write the output: No space left on device; write it elsewhere, or free some space'
    """
    reason = error.strerror or str(error)
    if error.filename is None:
        return f"cannot write the output: {reason}; write it elsewhere, or free some space"
    return f"cannot read or write {error.filename}: {reason}; check the path and its permissions"


def describe_usage_error(error: Any) -> str:
    """One sentence on a wrong option or argument.

    >>> describe_usage_error(typer.BadParameter("7 is too large."))
    'invalid value: 7 is too large; linmax --help lists the options'
    """
    program = error.ctx.command_path if error.ctx else "linmax"
    if close := getattr(error, "possibilities", None):
        return f"there is no option {error.option_name}; did you mean {close[0]}?"
    text = " ".join(error.format_message().split()).rstrip(".")
    return f"{text[:1].lower()}{text[1:]}; {program} --help lists the options"


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

    >>> as_options("name the voting columns with experts=, or pass shape=")
    'name the voting columns with --experts, or pass --shape'
    """
    return re.sub(r"(?<![\w-])(label|id|attributes|experts|shape|abstain)=(?=[\s,;.]|$)", r"--\1", message)


def current_name(option: str) -> str:
    """The present name of an option that may be written by its former name, without the dashes.

    >>> current_name("again"), current_name("seed")
    ('relearn', 'seed')
    """
    return RENAMED.get(option, option)
