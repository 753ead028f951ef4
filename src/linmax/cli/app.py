"""The commands that need no file of votes; each imports what it needs when called: help comes at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linmax.cli.frame import app, plainly


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
