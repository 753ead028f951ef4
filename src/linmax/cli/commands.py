"""The commands that need no file of votes; each imports what it needs when called: help comes at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linmax.cli.main import app, gently, plainly
from linmax.cli.options import Attributes, Experts, File, Fold, Id, Label, Reading, Shape


def _version(asked: bool) -> None:
    if asked:
        from linmax import __version__

        typer.echo(f"linmax {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Learn whom to trust: an on-line, mistake-bounded combination of experts' votes."""


@app.command()
def demo(
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Shuffles the digits and tears the scraps.")
    ] = 0,
    learner: Annotated[
        str | None, typer.Option(metavar="TERM", help="Who learns, such as 'Averaged(Winnow(1.2))'.")
    ] = None,
    picture: Annotated[Path, typer.Option(help="Where the curves are drawn.")] = Path("linmax-demo.png"),
    seconds: Annotated[
        float, typer.Option(min=0, max=600, help="How long to watch, when on a terminal.")
    ] = 6.0,
) -> None:
    """Watch linmax learn whom to trust among twelve weak classifiers of digits."""
    with plainly():
        from linmax.cli.demo import show

        show(seed=seed, learner=learner, picture=picture, seconds=seconds)


@app.command()
def learners(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One of them, to be told all about it.")
    ] = None,
) -> None:
    """List the rules, techniques and sources of experts that a learner is built from, or describe one."""
    with plainly():
        from linmax.cli.learners import describe, show

        if name is None:
            show()
        else:
            describe(name)


@app.command()
def bounds(
    rule: Annotated[
        str | None,
        typer.Argument(metavar="[RULE]", help="Such as 'Winnow(1.2)'; else all that have a bound."),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("--n", min=1, max=10**12, help="How many sub-experts there are.", show_default="100"),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="By which some weights u, sum |u| = 1, are right.", show_default="0.1"),
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="The hinge loss of u, summed over the trials.", show_default="0")
    ] = None,
    panel: Annotated[
        Path | None, typer.Option(help="Instead: a file of votes and labels, as for fuse.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="The column of labels.", show_default="truth, label, gold or target")
    ] = None,
    first: Annotated[
        int | None, typer.Option(min=1, help="Only so many items of the file.", show_default="20000")
    ] = None,
    C: Annotated[
        float | None,
        typer.Option("--C", help="Of the SVM that finds u: large means little noise.", show_default="1"),
    ] = None,
) -> None:
    """Tell how often a rule can be wrong: in a case, or on a panel beside the mistakes made there."""
    with plainly():
        from linmax.cli.bounds import Panel, calculate, on_panel

        if panel is None:
            _alone(
                {"--label": label, "--first": first, "--C": C},
                "without --panel; name a file with it",
            )
            calculate(
                rule,
                100 if n is None else n,
                0.1 if margin is None else margin,
                0.0 if noise is None else noise,
            )
        else:
            _alone(
                {"--n": n, "--margin": margin, "--noise": noise},
                "with --panel, which finds them in the file; leave out one or the other",
            )
            on_panel(Panel(panel, label, first, 1.0 if C is None else C), rule)


def _alone(given: dict[str, object], end: str) -> None:
    """Refuse options that would go unheard."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} {value} does not go {end}")


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Experiments, or 'all'; none lists them.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=2, max=10_000, help="Runs of each cell, else as in the paper.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few cells and runs: a look, kept apart.")] = False,
    data: Annotated[Path | None, typer.Option(help="The folder of data, else ../shared/data.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where results go, else experiments/results.")] = None,
    cores: Annotated[
        int | None, typer.Option(min=1, help="How many cells at a time, else all cores.")
    ] = None,
) -> None:
    """Run the papers' experiments and set what linmax finds beside what they claim."""
    with plainly():
        from linmax.cli.reproduce import reproduce as run

        without = run(names or [], runs=runs, quick=quick, data=data, folder=folder, cores=cores)
    if without:
        raise typer.Exit(1)


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
        from linmax.cli.main import start as start_fast

        start_fast()
        from linmax.cli.fuse import fuse as run
        from linmax.cli.options import Orders

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
        from linmax.cli.compare import Wishes, as_values, show
        from linmax.cli.compare import compare as run
        from linmax.cli.output import as_json, out

        reading = Reading(file, label, id, attributes, experts, shape, fold)
        outcome = run(reading, Wishes(learners or [], labels, shuffle, picture))
        if json:
            as_json(as_values(outcome))
        else:
            show(outcome, out())
        if not outcome.complete:
            raise KeyboardInterrupt(f"stopped after {outcome.contest.items} items: this is incomplete")


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
        from linmax.cli.inspect import inspect as run

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
        from linmax.cli.explain import Wanted, show
        from linmax.cli.explain import explain as run
        from linmax.cli.output import as_json, out

        reading = Reading(file, label, column, attributes, experts, shape, fold)
        found = run(model, reading, Wanted(item, row))
        if json:
            as_json(found.as_json())
        else:
            show(found, out())
