"""The options of `linmax follow`; nothing here imports the packages that do the work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from linmax.cli.options import Json, Learner


@dataclass(frozen=True)
class FollowOptions:
    """The options of `linmax follow`."""

    model: Annotated[Path | None, typer.Option(help="A model file that learns; a new one is made.")] = None
    data: Annotated[
        Path | None, typer.Option(help="The data folder of a server that does not run meanwhile.")
    ] = None
    server: Annotated[
        str | None,
        typer.Option(help="The address of a running server; LINMAX_TOKEN has a token that it knows."),
    ] = None
    fusion: Annotated[
        str | None, typer.Option(help="--data, --server: the fusion; a new one is created.")
    ] = None
    learner: Learner = None
    from_start: Annotated[
        bool,
        typer.Option("--from-start", help="Begin with the oldest message, if no position was saved before."),
    ] = False
    until_idle: Annotated[
        float | None,
        typer.Option(min=0, help="Stop after so many seconds without a message.", show_default="never"),
    ] = None
    batch: Annotated[int, typer.Option(min=1, max=10_000, help="The largest number of messages at once.")] = (
        1000
    )
    save_every: Annotated[int, typer.Option(min=1, help="--model: messages between two saves.")] = 10_000
    save_seconds: Annotated[float, typer.Option(min=0, help="--model: seconds between two saves.")] = 5.0
    rejected: Annotated[
        Path | None, typer.Option(help="A file to which messages that cannot be used are appended.")
    ] = None
    json: Json = False
