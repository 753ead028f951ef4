"""The commands: their parameters, options and help.

To add one, write a function with the decorator `command`. It imports what it needs when it is called, so that
`linmax --help` is quick, and it raises errors as they are: `CommandGroup` prints them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linmax.cli.errors import current_name
from linmax.cli.group import COMMANDS, CommandGroup, command
from linmax.cli.options.decisions import ConsultOptions, PredictOptions
from linmax.cli.options.files import (
    BoundsOptions,
    CompareOptions,
    ExplainOptions,
    FilesAndLearners,
    FilesOptions,
    FuseOptions,
    Json,
    Learner,
    Model,
)
from linmax.cli.options.servers import FollowOptions, ServeOptions
from linmax.cli.options.tasks import Cluster, DatasetOptions, EngineOptions, KeyedOptions, LocalCluster

__all__ = ["COMMANDS", "app"]

app = typer.Typer(
    name="linmax",
    help="Learn whom to trust: an on-line, mistake-bounded combination of experts' votes.",
    cls=CommandGroup,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": current_name},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from linmax import __version__

        typer.echo(f"linmax {__version__}")
        raise typer.Exit


@app.callback()
def linmax(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Learn whom to trust: an on-line, mistake-bounded combination of experts' votes."""


@command
def demo(
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="The seed of the panel and of the order of the digits.")
    ] = 0,
    learner: Learner = None,
    picture: Annotated[Path, typer.Option(help="The file for the curves.")] = Path("linmax-demo.png"),
    seconds: Annotated[
        float, typer.Option(min=0, max=600, help="The duration of the live table on a terminal.")
    ] = 6.0,
) -> None:
    """Watch linmax learn whom to trust among twelve weak classifiers (requires the extra sklearn)."""
    from linmax.cli.demo.demo import run_demo

    run_demo(seed=seed, learner=learner, picture=picture, seconds=seconds)


@command
def look(read: FilesOptions, json: Json = False) -> None:
    """Show how files are read: the role of every column, why, and the command to learn from them."""
    from linmax.cli.look import look as run

    if not run(read, json=json):
        raise typer.Exit(2)


@command
def fuse(read: FilesOptions, options: FuseOptions, keys: KeyedOptions, engine: EngineOptions) -> None:
    """Learn whom to trust from a file of votes and labels, in one pass, and report the result."""
    if keys.by:
        from linmax.cli.fuse.keyed import fuse_by_key

        if not fuse_by_key(read, options, keys, engine):
            raise typer.Exit(1)
        return
    keys.refuse()
    engine.refuse("--by COLUMN")
    from linmax.cli.fuse.fuse import fuse as run

    code = run(read, options)
    if code:
        raise typer.Exit(code)


@command
def predict(
    model: Model, read: FilesOptions, options: PredictOptions, dataset: DatasetOptions, engine: EngineOptions
) -> None:
    """Predict the class of every row of a file; the model does not learn."""
    if dataset.by or engine.asked or (model.is_dir() and (model / "manifest.json").exists()):
        from linmax.cli.models.predict_dataset import predict_dataset

        if not predict_dataset(model, read, options, dataset, engine):
            raise typer.Exit(1)
        return
    dataset.refuse()
    from linmax.cli.models.predict import predict as run

    run(model, read, options)


@command
def inspect(model: Model, json: Json = False) -> None:
    """Show what a model has learned, and from how many items."""
    from linmax.cli.models.inspect import inspect as run

    run(model, json=json)


@command
def explain(model: Model, read: ExplainOptions, json: Json = False) -> None:
    """Explain the prediction for one item of a file: each expert's vote, and what it contributed."""
    from linmax.cli.models.explain import explain_item, print_explanation
    from linmax.cli.output import print_json, stdout_console

    found = explain_item(model, read)
    if json:
        print_json(found.as_dict())
    else:
        print_explanation(found, stdout_console())


@command
def consult(model: Model, read: FilesOptions, options: ConsultOptions) -> None:
    """Show what asking experts one by one would save, on a file of votes; the model does not learn."""
    from linmax.cli.consult import as_dict, print_replay
    from linmax.cli.consult import consult as run
    from linmax.cli.output import print_json, stdout_console

    replay = run(model, read, options)
    if options.json:
        print_json(as_dict(replay))
    else:
        print_replay(replay, options, stdout_console())


@command
def compare(read: FilesAndLearners, options: CompareOptions, engine: EngineOptions) -> None:
    """Compare several learners on the same files, together with the plurality and the best expert."""
    from linmax.cli.compare import compare_learners, print_comparison, to_dict
    from linmax.cli.output import print_json, stdout_console

    outcome = compare_learners(read, options, engine)
    if options.json:
        print_json(to_dict(outcome))
    else:
        print_comparison(outcome, stdout_console())
    if not outcome.complete:
        raise KeyboardInterrupt(f"stopped after {outcome.items} items: the result is incomplete")


@command
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Experiments, or 'all'; without a name they are listed."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=2, max=10_000, help="The number of runs of each cell.", show_default="as in the paper"
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run few cells, a few times; results are stored separately.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(envvar="LINMAX_DATA", help="The folder with the data.", show_default="./data"),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="The folder for the results.", show_default="experiments/results")
    ] = None,
    cores: Annotated[
        int | None, typer.Option(min=1, help="The number of cells run in parallel.", show_default="all cores")
    ] = None,
    cluster: Cluster = None,
    local_cluster: LocalCluster = False,
) -> None:
    """Run the papers' experiments and compare the results with what the papers report."""
    from linmax.cli.reproduce import reproduce as run

    engine = EngineOptions(cluster=cluster, local_cluster=local_cluster, workers=cores)
    without_data = run(names or [], runs=runs, quick=quick, data=data, folder=folder, engine=engine.where())
    if without_data:
        raise typer.Exit(1)


@command
def bounds(
    panel: BoundsOptions,
    rule: Annotated[
        str | None,
        typer.Argument(metavar="[RULE]", help="Such as 'Winnow(1.2)'.", show_default="all that have a bound"),
    ] = None,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="With --certify: the CSV file.")
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("--n", min=1, max=10**12, help="The number of sub-experts.", show_default="100"),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="The margin of some weights u with sum |u| = 1.", show_default="0.1"),
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="The hinge loss of u, summed over the trials.", show_default="0")
    ] = None,
) -> None:
    """Show how many mistakes a rule can make: in a given case, or on a panel, next to its actual mistakes."""
    from linmax.cli.bounds.bounds import print_bounds, print_panel_bounds

    if panel.panel is None and not panel.certify:
        if file is not None:
            raise ValueError(
                f"a file is read with --panel {file} or --certify RULE {file} (got {file!r} alone)"
            )
        panel.check_unused()
        print_bounds(
            rule, 100 if n is None else n, 0.1 if margin is None else margin, 0.0 if noise is None else noise
        )
        return
    for name, value in (("--n", n), ("--margin", margin), ("--noise", noise)):
        if value is not None:
            option = "--certify" if panel.certify else "--panel"
            raise ValueError(
                f"{name} {value} cannot be combined with {option}, which computes it from the file;"
                " leave out one of them"
            )
    if panel.certify:
        from linmax.cli.bounds.certificate import write_certificate

        write_certificate(rule, file, panel)
        return
    if file is not None or panel.output is not None:
        raise ValueError("--panel takes one file and no -o; a certificate is written with --certify")
    print_panel_bounds(panel, rule)


@command
def serve(
    options: ServeOptions,
    action: Annotated[
        str | None,
        typer.Argument(
            metavar="[ACTION]",
            help="verify, backup, restore, export or token; without one the server starts.",
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]...", help="The file of the action, or 'create' or 'revoke NUMBER'."),
    ] = None,
) -> None:
    """Serve fusions over HTTP: predict now, learn when the label comes (requires the extra service)."""
    from linmax.cli.servers.serve import serve as run

    run(action, words or [], options)


@command
def follow(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="The log: kafka://HOST/TOPIC, redis://HOST/0?stream=STREAM or nats://HOST/STREAM.",
        ),
    ],
    options: FollowOptions,
) -> None:
    """Learn votes and late labels from a message log (requires the extra kafka, redis or nats)."""
    from linmax.cli.servers.follow import follow as run

    run(source, options)


@command
def warm_up(
    learners: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LEARNER]...",
            help="Such as 'Winnow(1.2)'.",
            show_default="those of Fusion() and of files",
        ),
    ] = None,
) -> None:
    """Compile learners for items of every form, so that later processes start at once."""
    from linmax.cli.warm_up import warm_up as run

    run(learners or [])


@command
def learners(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One of them, to be described in full.")
    ] = None,
) -> None:
    """List the rules, techniques and sources of experts that a learner is built from, or describe one."""
    from linmax.cli.learners import describe_entry, list_entries

    if name is None:
        list_entries()
    else:
        describe_entry(name)
