"""The options of `linmax serve` and `linmax follow`; nothing here imports the packages that do the work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from linmax.cli.options.files import Json, Learner


@dataclass(frozen=True)
class ServeOptions:
    """The options of `linmax serve`."""

    data: Annotated[Path | None, typer.Option(help="The data folder of the server.")] = None
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 is a free one.")] = 8000
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A host name that requests may be for, such as that of a proxy; repeatable."),
    ] = None
    rate: Annotated[
        float, typer.Option(min=0, help="Requests per second of one token; 0 means no limit.")
    ] = 0.0
    keep_days: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Compact the log: remove events that are older, except what the states need.",
            show_default="keep everything",
        ),
    ] = None
    memory: Annotated[
        int, typer.Option(min=1, help="Megabytes of fusions in memory; others are loaded when needed.")
    ] = 1024
    label_wait: Annotated[
        float,
        typer.Option(min=0, max=60, help="Seconds for which a label waits for its prediction before a 404."),
    ] = 0.2
    log_format: Annotated[str, typer.Option(help="Logs on standard error: text or json.")] = "text"
    log_level: Annotated[str, typer.Option(help="error, warning, or info: every request.")] = "warning"
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve a generated panel with simulated votes and late labels.")
    ] = False
    fusion: Annotated[str | None, typer.Option(help="export: the fusion.", show_default="the only one")] = (
        None
    )
    name: Annotated[str | None, typer.Option(help="token create: who has the token.")] = None
    scopes: Annotated[
        str, typer.Option(help="token create: what it may do: predict, label, learn, grow, read, admin.")
    ] = "predict,label,read"
    fusions: Annotated[str, typer.Option(help="token create: the fusions it is for, with wildcards.")] = "*"
    days: Annotated[float | None, typer.Option(help="token create: when it ends.", show_default="never")] = (
        None
    )


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
