"""The commands that take a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linmax.cli.frame import app, gently, plainly
from linmax.cli.reading import Attributes, Experts, File, Fold, Id, Label, Reading, Shape

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that fusion.save wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def predict(
    model: Model,
    file: File,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Where the guesses go: .csv, .tsv, .jsonl or .parquet.",
            show_default="standard output, as CSV",
        ),
    ] = None,
    label: Label = None,
    id: Id = None,
    attributes: Attributes = None,
    experts: Experts = None,
    shape: Shape = None,
    fold: Fold = False,
) -> None:
    """Guess every row of a file with a model as it is; nothing is learned."""
    with plainly(), gently():
        from linmax.cli.predict import predict as run

        run(model, Reading(file, label, id, attributes, experts, shape, fold), output)


@app.command()
def inspect(model: Model, json: Json = False) -> None:
    """Tell what a model has learned, and from how much."""
    with plainly():
        from linmax.cli.inspecting import inspect as run

        run(model, json=json)


@app.command()
def explain(
    model: Model,
    file: File,
    item: Annotated[str | None, typer.Option("--id", help="The id of the item.")] = None,
    row: Annotated[int | None, typer.Option("--row", min=1, help="Its number, from 1 on.")] = None,
    json: Json = False,
    label: Label = None,
    column: Annotated[
        str | None,
        typer.Option("--id-column", help="The column of ids.", show_default="id, if there is one"),
    ] = None,
    attributes: Attributes = None,
    experts: Experts = None,
    shape: Shape = None,
    fold: Fold = False,
) -> None:
    """Tell why a model guesses one item of a file as it does: who said what, and what that added."""
    with plainly():
        from linmax.cli.consoles import as_json, out
        from linmax.cli.explaining import Wanted
        from linmax.cli.explaining import explain as run
        from linmax.cli.reasons import show

        reading = Reading(file, label, column, attributes, experts, shape, fold)
        found = run(model, reading, Wanted(item, row))
        if json:
            as_json(found.as_json())
        else:
            show(found, out())
