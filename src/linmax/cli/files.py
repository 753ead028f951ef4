"""The commands that learn from a file of votes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linmax.cli.frame import app, gently, plainly
from linmax.cli.reading import Attributes, Experts, File, Fold, Id, Label, Reading, Shape


@app.command()
def fuse(
    file: File,
    label: Label = None,
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="TERM", help="Who learns, such as 'Averaged(Winnow(1.2))'.", show_default="recommended()"
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with everything: report.html.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the model, for predict, explain and --from.")
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="MODEL",
            help="Go on from a model; in the middle of a file, if it stopped there.",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="With --from: learn rows that the model has learned before, too.")
    ] = False,
    checkpoint: Annotated[
        int,
        typer.Option(min=0, metavar="ROWS", help="Write the model every so many rows; 0 is only at the end."),
    ] = 0,
    output: Annotated[
        Path | None, typer.Option(help="Write every guess: .csv, .tsv, .jsonl or .parquet.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Labels that came later, in a file of their own, joined by id.")
    ] = None,
    shuffle: Annotated[
        int | None,
        typer.Option(min=0, metavar="SEED", help="Learn the rows in random order; all are in memory then."),
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPERT=NUMBER", help="What it costs to ask an expert; repeat it."),
    ] = None,
    id: Id = None,
    attributes: Attributes = None,
    experts: Experts = None,
    shape: Shape = None,
    fold: Fold = False,
    abstain: Annotated[
        str | None,
        typer.Option(
            metavar="VOTE",
            help="The vote that abstains; none: nobody does.",
            show_default="-1, and an empty cell",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of whatever is random in a learner.")] = 0,
    json: Annotated[
        bool, typer.Option("--json", help="Print everything as one JSON object, and nothing else.")
    ] = False,
) -> None:
    """Learn whom to trust from a file of votes with their truth, in one pass, and tell how it went."""
    with plainly(), gently():
        from linmax.cli import quick

        quick.start()
        from linmax.cli.fusing import fuse as run
        from linmax.cli.orders import Orders

        reading = Reading(file, label, id, attributes, experts, shape, fold)
        finished = run(
            reading,
            Orders(
                learner,
                seed,
                abstain,
                start,
                again,
                save,
                checkpoint,
                labels,
                shuffle,
                cost,
                output,
                report,
                json,
            ),
        )
    if not finished:
        raise typer.Exit(130)


@app.command()
def compare(
    file: File,
    learners: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LEARNER]...",
            help="Such as 'Averaged(Winnow(1.2))'; gains are against the first.",
            show_default="recommended() and others",
        ),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Labels in a file of their own, joined by id; --label is its column.")
    ] = None,
    shuffle: Annotated[
        int | None, typer.Option(min=0, metavar="SEED", help="Shuffle the rows, all held in memory.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw the mistakes of all as curves.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    label: Label = None,
    id: Id = None,
    attributes: Attributes = None,
    experts: Experts = None,
    shape: Shape = None,
    fold: Fold = False,
) -> None:
    """Let several learners learn a file side by side, beside its plurality and its best expert."""
    with plainly():
        from linmax.cli.comparing import Wishes
        from linmax.cli.comparing import compare as run
        from linmax.cli.consoles import as_json, out
        from linmax.cli.standings import as_values, show

        reading = Reading(file, label, id, attributes, experts, shape, fold)
        outcome = run(reading, Wishes(learners or [], labels, shuffle, picture))
        if json:
            as_json(as_values(outcome))
        else:
            show(outcome, out())
        if not outcome.complete:
            raise KeyboardInterrupt(f"stopped after {outcome.contest.items} items: this is incomplete")
