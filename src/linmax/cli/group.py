"""The group of all commands: each is built when it is called, and its errors end in one line.

A command is a function in `commands.py` with the decorator `command`. Building one from its parameters takes
typer longer than most commands run, so only the one that is called is built; `linmax --help` builds all.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, get_type_hints

import typer
from typer.core import TyperGroup
from typer.main import get_command

from linmax.cli.errors import exit_on_error, exit_on_sigterm

Function = Callable[..., None]

COMMANDS: dict[str, Function] = {}
"""The functions of the commands by name, in the order of `linmax --help`."""


def command(function: Function) -> Function:
    """Add a command, named after its function; the docstring is its help.

    A parameter whose type is a dataclass gives the command one option per field.
    """
    COMMANDS[function.__name__.replace("_", "-")] = function
    return function


@functools.cache
def build_command(name: str) -> Any:
    """The command that typer builds from a function."""
    single = typer.Typer(add_completion=False)
    single.command(name)(expand_options(COMMANDS[name]))
    return get_command(single)


class CommandGroup(TyperGroup):
    """The commands in `COMMANDS`; an exception in one of them becomes one line and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command with a name, or None."""
        return build_command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called; a misspelled name is answered with a similar one."""
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            close = get_close_matches(args[0], COMMANDS, 1)
            fix = f"did you mean {close[0]!r}?" if close else "linmax --help lists all commands"
            raise ValueError(f"there is no command {args[0]!r}; {fix}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what comes before the command; without any words print the help."""
        with exit_on_error():
            if not args and not ctx.resilient_parsing:
                typer.echo(ctx.get_help())
                raise typer.Exit(2)
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with exit_on_error(), exit_on_sigterm():
            return super().invoke(ctx)


def expand_options(command: Function) -> Function:
    """Replace each parameter of a command that is a dataclass by one parameter per field.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Size:
    ...     width: int = 3
    >>> @expand_options
    ... def draw(name: str, size: Size) -> None:
    ...     print(name, size)
    >>> str(inspect.signature(draw))
    '(*, name: str, width: int = 3)'
    >>> draw(name="box", width=5)
    box Size(width=5)
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, tuple[type[Any], dict[str, Any]]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if not dataclasses.is_dataclass(hints[name]):
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        fields = get_type_hints(hints[name], include_extras=True)
        groups[name] = (hints[name], fields)
        for field in dataclasses.fields(hints[name]):
            default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
            parameters.append(
                inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=fields[field.name]
                )
            )

    @functools.wraps(command)
    def expanded(**values: Any) -> None:
        made = {
            name: kind(**{field: values.pop(field) for field in fields if field in values})
            for name, (kind, fields) in groups.items()
        }
        command(**values, **made)

    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {one.name: one.annotation for one in parameters}
    del expanded.__wrapped__
    return expanded
