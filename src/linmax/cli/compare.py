"""`linmax compare`: several learners on the same files, next to the plurality and the best expert."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.cli.fuse.late_doubts import StreamedVotes
from linmax.cli.inputs import check_needs, choose_order, name_rows, parse_learner, require_reading
from linmax.cli.options.files import CompareOptions, FilesOptions
from linmax.cli.options.tasks import EngineOptions
from linmax.cli.output import (
    check_output,
    print_warning_messages,
    progress_bar,
    shorten,
    task_progress,
)
from linmax.evaluate.comparison import ComparisonResult, LearnerComparison
from linmax.evaluate.significance import Gain
from linmax.spec import Learner
from linmax.streams import Chunk, Stream
from linmax.streams.chunk import shuffle_items

ON_VOTES = (
    "recommended()",
    "Averaged(Recycled(Winnow(1.2)))",
    "Averaged(Perceptron())",
    "Winnow(1.2)",
    "WeightedMajority(None, 1.5)",
)
ON_ATTRIBUTES = (
    "recommended(votes=False, attributes=True)",
    "Averaged(Perceptron().on(Attributes() + Thresholds()))",
    "Averaged(PassiveAggressive().on(Attributes() + Thresholds()))",
    "Logistic(0.1).on(Attributes() + Thresholds())",
    "Perceptron().on(Attributes() + Thresholds())",
)

FILE = re.compile(r"[^(]*[./\\#*:]|-")
"""How the name of a file begins: with a dot or another sign before any bracket."""
ROWS = 8192
"""Rows that each learner learns at a time, which is how long Ctrl-C may have to wait."""

WIDE = 120
"""Columns of a terminal from which on everything fits into one table."""

NAME_WIDTH, BETWEEN = 16, 3
"""Columns of a terminal that the names of learners have at least, if they need them, and those between two
columns of a table."""

Rows = list[tuple[ComparisonResult, tuple[str, ...]]]


class Comparison(NamedTuple):
    """The result of a comparison, and whether it reached the end of the file."""

    file: str
    learners: LearnerComparison
    complete: bool

    @property
    def items(self) -> int:
        """Items that were read."""
        return self.learners.items


def split_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell files from learners: these have no dot before the first bracket, and are no files in the folder.

    >>> split_words(["votes.csv", "gold.csv", "Winnow(1.2)", "Averaged(Perceptron())"])
    (['votes.csv', 'gold.csv'], ['Winnow(1.2)', 'Averaged(Perceptron())'])
    """
    files: list[str] = []
    learners: list[str] = []
    for word in words:
        is_learner = bool(files) and FILE.match(word) is None and not Path(word).exists()
        (learners if is_learner else files).append(word)
    return files, learners


def compare_learners(
    read: FilesOptions, options: CompareOptions, engine: EngineOptions | None = None
) -> Comparison:
    """Run the learners side by side, or each as a task; Ctrl-C stops and keeps what was counted."""
    files, texts = split_words(read.paths)
    learners = {text.strip(): parse_learner(text) for text in texts}
    if len(learners) < len(texts):
        raise ValueError("a learner is named twice; name each once")
    _check_picture(options.picture)
    panel = require_reading(replace(read, paths=files).open(), files)
    order = choose_order(panel, options.shuffle, options.in_order)
    print_warning_messages([*panel.warnings, *order.warnings])
    votes = StreamedVotes(panel)
    with panel.stream() as stream:
        file = stream.schema.file
        first = stream.peek()
        if first is None:
            raise ValueError(f"{file} has no items, so there is nothing to compare")
        comparison = LearnerComparison(learners or _default_learners(first))
        for name, fusion in zip(comparison.names, comparison.fusions, strict=True):
            check_needs(fusion, first, name, file)
        if engine is not None and (engine.asked or options.cache is not None):
            read = replace(read, paths=files)
            complete = _run_tasks(comparison, stream, votes, order.seed, read, options, engine)
        else:
            complete = _run(comparison, stream, votes, order.seed)
    print_warning_messages(votes.doubts())
    if not comparison.trials and complete:
        where = file if read.labels is None else read.labels
        raise ValueError(
            f"no item of {file} has a label in {where} that could be predicted; check the columns"
        )
    if options.picture is not None and comparison.trials:
        from linmax.report.charts.line_chart import draw_comparison

        draw_comparison(*comparison.curves(), options.picture, title=f"{file}: cumulative mistakes")
    return Comparison(file, comparison, complete)


def _run(comparison: LearnerComparison, stream: Stream, votes: StreamedVotes, seed: int | None) -> bool:
    file = stream.schema.file
    try:
        with progress_bar(stream, "compiling") as bar:
            for chunk in votes.watch(stream if seed is None else shuffle_items(stream, seed)):
                for start in range(0, chunk.items, ROWS):
                    part = chunk.slice(start, start + ROWS)
                    with name_rows(file, part):
                        labels = part.labels
                        if not comparison.items:
                            comparison.warm_up(part, labels)
                        comparison.learn(part, labels)
                    bar.update(comparison.items, "comparing")
    except KeyboardInterrupt:
        if not comparison.trials:
            raise
        return False
    return True


def _run_tasks(
    comparison: LearnerComparison,
    stream: Stream,
    votes: StreamedVotes,
    seed: int | None,
    read: FilesOptions,
    options: CompareOptions,
    engine: EngineOptions,
) -> bool:
    """Run each learner as a task, then count their predictions on the stream."""
    from linmax.scale import sweep

    if "-" in read.paths:
        raise ValueError("standard input cannot be read by several processes; write it to a file")
    learners = [fusion.learner for fusion in comparison.fusions]
    panel = {stream.schema.file: [str(Path(path).absolute()) for path in read.paths]}
    labels = None if read.labels is None else str(Path(read.labels).absolute())
    columns = {**read.panel_arguments(), "labels": labels, "labels_id": read.labels_id}
    with task_progress() as show:
        done = 0

        def count(_: int, result: Any) -> None:
            nonlocal done
            done += 1
            show("learners", done, len(learners))

        results = sweep(
            learners, panel, [seed], cache=options.cache, on_result=count, **engine.where(), **columns
        )
    seconds = np.array([one.seconds for one in results])
    first = 0
    for chunk in votes.watch(stream if seed is None else shuffle_items(stream, seed)):
        flags = np.stack([one.correct[first : first + chunk.items] for one in results])
        comparison.count(chunk, flags, seconds * (chunk.items / results[0].items))
        first += chunk.items
    return True


def _default_learners(first: Chunk) -> dict[str, Learner]:
    names: tuple[str, ...] = ON_ATTRIBUTES if first.votes is None else ON_VOTES
    if first.votes is not None and first.attributes is not None:
        names = ("recommended(attributes=True)", *names)
    return {name: parse_learner(name) for name in names}


def _check_picture(picture: Path | None) -> None:
    if picture is None:
        return
    if picture.suffix.lower() != ".png":
        raise ValueError(f"cannot draw {picture}: the name must end in .png")
    check_output(picture, "draw")


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """The result for JSON, the most accurate first."""
    learners = comparison.learners
    return {
        "file": comparison.file,
        "complete": comparison.complete,
        "items": learners.items,
        "trials": learners.trials,
        "unlabelled": learners.unlabelled,
        "novel": learners.novel,
        "reference": learners.names[0],
        "results": learners.results(),
    }


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print mistakes and gains in one table, or in two or more on a narrow terminal."""
    learners = comparison.learners
    results = learners.results()
    first = learners.names[0]
    microseconds = "us per item" if console.options.ascii_only else "µs per item"
    counts = ("mistakes", "accuracy", "last half", microseconds)
    gains = ("gain", "95 %", "p")
    console.print(Text(f"{comparison.file}: {_format_trials(comparison)}", style="bold"))
    if console.width >= WIDE:
        rows = [(one, (*_format_counts(one), *_format_gain(one.gain))) for one in results]
        _print_table(console, (*counts, *gains), rows, first, learners.trials)
    else:
        counted: Rows = [(one, _format_counts(one)) for one in results]
        gained: Rows = [(one, _format_gain(one.gain)) for one in results if one.gain]
        _print_table(console, counts, counted, first, learners.trials)
        _print_table(console, gains, gained, first, learners.trials)
    console.print(
        Text(
            f"gain: difference in accuracy from {first} in percentage points, with a 95 % confidence"
            " interval; p: p-value of McNemar's test."
        )
    )


def _print_table(
    console: Console,
    headings: tuple[str, ...],
    rows: Rows,
    first: str,
    trials: int,
) -> None:
    names = []
    for result, _ in rows:
        name = f"{result.name}: {shorten(result.detail)}" if result.detail else result.name
        names.append(name + (f" (of {result.trials:,} items)" if 0 < result.trials < trials else ""))
    columns = [(heading, *(cells[i] for _, cells in rows)) for i, heading in enumerate(headings)]
    widest = max(cell_len(cell) for column in columns for cell in column)
    longest = max(map(cell_len, ["learner", *names]))
    width = max(min(longest, NAME_WIDTH, console.width - widest - BETWEEN - 2), cell_len("learner"))
    for group in _fitting(columns, console.width - width - 2):
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        table.add_column("learner", overflow="fold", min_width=width)
        for heading, *_ in group:
            table.add_column(heading, justify="right", no_wrap=True)
        for place, (result, _) in enumerate(rows):
            cells = (column[place + 1] for column in group)
            style = "bold cyan" if result.name == first else ""
            table.add_row(*map(Text, (names[place], *cells)), style=style)
        console.print(table)


def _fitting(columns: list[tuple[str, ...]], room: int) -> list[list[tuple[str, ...]]]:
    """Divide columns among as few tables as there must be so that each fits; a table has one at least.

    >>> _fitting([("mistakes", "3"), ("accuracy", "97.50%"), ("last half", "100.00%")], 25)
    [[('mistakes', '3'), ('accuracy', '97.50%')], [('last half', '100.00%')]]
    """
    groups: list[list[tuple[str, ...]]] = []
    left = 0
    for column in columns:
        width = max(map(cell_len, column)) + BETWEEN
        if not groups or width > left:
            groups.append([])
            left = room
        groups[-1].append(column)
        left -= width
    return groups


def _format_counts(result: ComparisonResult) -> tuple[str, ...]:
    microseconds = "" if result.microseconds is None else f"{result.microseconds:.2f}"
    return (
        str(result.mistakes),
        _format_part(result.accuracy),
        _format_part(result.accuracy_last_half),
        microseconds,
    )


def _format_gain(gain: Gain | None) -> tuple[str, str, str]:
    if gain is None:
        return "", "", ""
    interval = f"{100 * gain.ci_low:+.2f} to {100 * gain.ci_high:+.2f}"
    return f"{100 * gain.gain:+.2f}", interval, "< 0.001" if gain.p_value < 0.001 else f"{gain.p_value:.3f}"


def _format_part(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2%}"


def _format_trials(comparison: Comparison) -> str:
    learners = comparison.learners
    text = f"{learners.trials} trials"
    if learners.unlabelled:
        text += f", {learners.unlabelled} items without a label"
    if learners.novel:
        text += f", {learners.novel} novel labels"
    return text if comparison.complete else f"{text} (incomplete)"
