"""`linmax fuse --by`: one model per key of a data set, and a summary of all keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from linmax.cli.options.files import FilesOptions, FuseOptions, split_names
from linmax.cli.options.tasks import EngineOptions, KeyedOptions
from linmax.cli.output import print_json, print_table, shorten, stdout_console, task_progress
from linmax.scale.by_key.fusions import KeyedResult, keyed
from linmax.scale.dataset import split_key
from linmax.validation import count_noun

SHOWN_KEYS = 10
"""Keys that are printed, those with the most items."""
SHOWN_PROBLEMS = 20
ALLOWED = {"learner", "save", "relearn", "seed", "json"}
"""The options of fuse that have a meaning with --by."""


def fuse_by_key(
    read: FilesOptions,
    options: FuseOptions,
    by: KeyedOptions,
    engine: EngineOptions,
    console: Console | None = None,
) -> bool:
    """Learn the keys and print a summary; return whether there was no problem."""
    console = console or stdout_console(lasting=True)
    for field in fields(options):
        if field.name not in ALLOWED and getattr(options, field.name) != field.default:
            name = {"start": "from"}.get(field.name, field.name).replace("_", "-")
            raise ValueError(f"--{name} cannot be combined with --by; leave out one of them")
    if options.save is None:
        raise ValueError("--by requires --save FOLDER, for the models")
    if read.labels is not None:
        raise ValueError(f"--labels {read.labels} cannot be combined with --by; join the labels first")
    keys = split_names(by.by)
    assert keys is not None
    with explain_interrupt(options.save), task_progress() as show:
        result = keyed(
            read.paths, by=keys, time=by.time, store=options.save, learner=options.learner,
            seed=options.seed or 0, pooled=by.pooled, buckets=by.buckets, resume=by.resume,
            relearn=options.relearn, on_progress=show, **engine.where(), **read.panel_arguments(),
        )  # fmt: skip
    totals = totals_of(result)
    if options.json:
        print_json(
            {**totals, "notes": result.notes, "problems": result.problems, "models": str(options.save)}
        )
    else:
        print_keys(console, result, totals, options.save)
    return not result.problems


@contextmanager
def explain_interrupt(folder: Path) -> Iterator[None]:
    """Add to a Ctrl-C how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped; what is finished is in {folder}: go on with --resume") from None


def totals_of(result: KeyedResult) -> dict[str, Any]:
    """Return the sums over all keys, for JSON."""
    counts = {"learned": result.items, "without_key": result.without_key}
    return {**sum_keys(result.models.table()), **counts}


def sum_keys(table: Any) -> dict[str, Any]:
    """Return the sums of a table of results."""
    import pyarrow.compute as pc

    items, trials, mistakes = (
        pc.sum(table.column(name)).as_py() or 0 for name in ("items", "trials", "mistakes")
    )
    judged = table.filter(pc.is_valid(table.column("plurality")))
    better = pc.sum(pc.greater(judged.column("accuracy"), judged.column("plurality"))).as_py() or 0
    return {
        "keys": len(table),
        "items": items,
        "trials": trials,
        "mistakes": mistakes,
        "accuracy": 1.0 - mistakes / trials if trials else None,
        "better_than_plurality": better,
    }


def print_largest_keys(console: Console, table: Any, columns: tuple[str, ...]) -> None:
    """Print the rows of a table of results with the most items."""
    by = ", ".join(columns)
    largest = table.sort_by([("items", "descending"), ("key", "ascending")])
    rows = [
        (
            ", ".join(map(shorten, split_key(row["key"], len(columns)))),
            f"{row['items']:,}", f"{row['mistakes']:,}", _share(row["accuracy"]),
            f"{_share(row['accuracy_low'])} to {_share(row['accuracy_high'])}", _share(row["plurality"]),
            f"{shorten(row['best_expert'])} {_share(row['best_expert_accuracy'])}".strip(),
            _share(row["most_frequent_share"]),
        )
        for row in largest.slice(0, SHOWN_KEYS).to_pylist()
    ]  # fmt: skip
    headings = (by, "items", "mistakes", "accuracy", "95 %", "plurality", "best expert", "most frequent")
    print_table(console, headings, rows, left={by, "best expert"})
    if len(table) > SHOWN_KEYS:
        console.print(Text(f"and {len(table) - SHOWN_KEYS:,} more."))


def print_keys(console: Console, result: KeyedResult, totals: dict[str, Any], folder: Path) -> None:
    """Print the largest keys, the sums, and what went wrong."""
    by = ", ".join(result.models.by)
    print_largest_keys(console, result.models.table(), result.models.by)
    sentence = f"{count_noun(totals['keys'], 'key')}, {count_noun(totals['items'], 'item')}"
    sentence += f" ({totals['learned']:,} learned now)"
    if totals["trials"]:
        sentence += f", {totals['accuracy']:.2%} correct"
        better = totals["better_than_plurality"]
        verb = "is better than its" if better == 1 else "are better than their"
        sentence += f"; {count_noun(better, 'key')} {verb} plurality"
    console.print(Text(f"{sentence}.", style="bold"), soft_wrap=True)
    if totals["without_key"]:
        console.print(Text(f"{totals['without_key']:,} rows have no {by}, and are left out."), soft_wrap=True)
    for note in result.notes:
        console.print(Text(f"Note: {note}.", style="yellow"), soft_wrap=True)
    failed = result.models.table().column("error").drop_null()
    print_problems(
        console,
        result.problems,
        "--relearn: other keys have learned these files" if len(failed) else "--resume",
    )
    console.print(Text(f"Models: {folder}"), soft_wrap=True)


def print_problems(console: Console, problems: list[str], again: str = "--resume") -> None:
    """Print what went wrong, a line each, and how to run again."""
    for problem in problems[:SHOWN_PROBLEMS]:
        console.print(Text(f"Problem: {problem}.", style="bold red"), soft_wrap=True)
    if len(problems) > SHOWN_PROBLEMS:
        console.print(Text(f"and {len(problems) - SHOWN_PROBLEMS:,} more problems."))
    if problems:
        console.print(
            Text(f"Everything else is kept; fix these, and run again with {again}."), soft_wrap=True
        )


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2%}"
