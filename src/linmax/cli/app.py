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


@contextmanager
def _plainly() -> Iterator[None]:
    """An error is one sentence, and Ctrl-C no error at all."""
    try:
        yield
    except ValueError as error:
        typer.echo(f"linmax: {error}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("\nlinmax: stopped", err=True)
        raise typer.Exit(130) from None
