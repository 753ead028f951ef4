"""The commands; each imports what it needs when it is called, so that help comes at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="linmax",
    help="Learn whom to trust: an on-line, mistake-bounded combination of experts' votes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    with _plainly():
        from linmax.cli.demo import show

        show(seed=seed, learner=learner, picture=picture, seconds=seconds)


@app.command()
def learners() -> None:
    """List the rules, techniques and sources of experts that a learner is built from."""
    with _plainly():
        from linmax.cli.learners import show

        show()


@app.command()
def bounds(
    rule: Annotated[
        str | None,
        typer.Argument(metavar="[RULE]", help="Such as 'Winnow(1.2)'; else all that have a bound."),
    ] = None,
    n: Annotated[int, typer.Option("--n", min=1, help="How many sub-experts there are.")] = 100,
    margin: Annotated[float, typer.Option(help="By which some weights u, sum |u| = 1, are right.")] = 0.1,
    noise: Annotated[float, typer.Option(min=0, help="The hinge loss of u, summed over the trials.")] = 0.0,
    panel: Annotated[
        Path | None, typer.Option(help="Instead: a CSV of votes, a column per expert and one of labels.")
    ] = None,
    label: Annotated[str, typer.Option(help="The column of labels.")] = "label",
    first: Annotated[int | None, typer.Option(min=1, help="Only so many items of the file.")] = None,
    C: Annotated[float, typer.Option("--C", help="Of the SVM that finds u: large means little noise.")] = 1.0,
) -> None:
    """Tell how often a rule can be wrong: in a case, or on a panel beside the mistakes made there."""
    with _plainly():
        from linmax.cli.bounds import calculate, on_panel

        if panel is None:
            calculate(rule, n, margin, noise)
        else:
            on_panel(panel, label, first, C)


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
    with _plainly():
        from linmax.cli.reproduce import reproduce as run

        without = run(names or [], runs=runs, quick=quick, data=data, folder=folder, cores=cores)
    if without:
        raise typer.Exit(1)


@contextmanager
def _plainly() -> Iterator[None]:
    """An error is one sentence, and Ctrl-C no error at all."""
    try:
        yield
    except ValueError as error:
        typer.echo(f"linmax: {error}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt as interrupt:
        typer.echo(f"\nlinmax: {str(interrupt) or 'stopped'}", err=True)
        raise typer.Exit(130) from None
