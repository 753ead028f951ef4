"""`linmax explain`: the prediction for one item, and what each expert contributed to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.cli.inputs import (
    check_known_experts,
    check_needs,
    describe_unknown,
    ignored_columns,
    load_model,
    name_rows,
    open_for_model,
    print_unknown_votes,
)
from linmax.cli.options.files import ExplainOptions
from linmax.cli.output import format_key, format_number, print_message, shorten
from linmax.evaluate.margins import margins
from linmax.experts.base import expert_owner
from linmax.fusion import Explanation
from linmax.streams import Chunk, Stream
from linmax.streams.columns import id_text
from linmax.streams.schema import short_repr

MAX_CLASSES, MAX_EXPERTS, MAX_MEMBERS = 5, 20, 10
"""Rows of the tables."""


class Contribution(NamedTuple):
    """What one expert, or another owner of sub-experts, contributed to the scores.

    Attributes
    ----------
    name : str
        The owner.
    says : object
        Its vote or value; None if it abstains or, like thresholds, has none.
    guess, rival : float
        What it added to the score of the predicted class and of the runner-up.
    difference : float
        guess - rival.
    """

    name: str
    says: Any
    guess: float
    rival: float | None
    difference: float


@dataclass(frozen=True)
class ExplainedItem:
    """An item of a file and the explanation of its prediction.

    Attributes
    ----------
    model, file : str
        Where they come from.
    row : int
        The number of the item; the first is 1.
    line : int
        The line, or the row, of the file.
    id, guess, truth : object
        The item's id, prediction and label.
    runner_up : object
        The class with the second-highest score.
    margin : float or None
        The relative difference of the two highest scores.
    scores : list of (class, score)
        The predicted class first, then by score.
    parts : list of Contribution
        The largest difference first.
    members : list of (learner, weight, prediction)
        The members of an ensemble, the largest weight first.
    """

    model: str
    file: str
    row: int
    line: int
    id: Any
    guess: Any
    truth: Any
    runner_up: Any
    margin: float | None
    scores: list[tuple[Any, float]]
    parts: list[Contribution]
    members: list[tuple[str, float, Any]]

    def as_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        scores = [{"class": label, "score": score} for label, score in self.scores]
        members = [{"learner": name, "part": part, "guess": guess} for name, part, guess in self.members]
        return {**vars(self), "scores": scores, "members": members}


def explain_item(model: Path, read: ExplainOptions) -> ExplainedItem:
    """Find the item in the file, and explain the model's prediction."""
    if (read.item is None) == (read.row is None):
        raise ValueError("explain requires one item: pass either --id or --row")
    fusion = load_model(model)
    panel = open_for_model(read, fusion, [read.path])
    if unknown := ignored_columns(panel):
        print_message(describe_unknown(str(model), unknown, panel.file))
    with panel.stream() as stream:
        chunk = find_item(stream, read)
        file = stream.schema.file
        check_needs(fusion, chunk, str(model), file)
        votes = chunk.vote_dict(0)
        columns = getattr(chunk.votes, "column_names", votes)
        check_known_experts(fusion, list(columns), str(model), file)
        attributes = chunk.attribute_dict(0)
        with name_rows(file, chunk):
            why = fusion.explain_one(votes if chunk.votes is not None else None, attributes=attributes)
    values = {("attribute", name): value for name, value in (attributes or {}).items()}
    values |= {expert_owner(name): vote for name, vote in votes.items()}
    found = _explained(str(model), file, chunk, values, why)
    print_unknown_votes(panel, str(model))
    if found.truth is not None and found.truth not in fusion.classes:
        print_message(f"the label of the item, {short_repr(found.truth)}, is no class that {model} knows")
    return found


def find_item(stream: Stream, read: ExplainOptions) -> Chunk:
    """The item that is asked for, as a chunk of one item."""
    file = stream.schema.file
    if read.row is not None:
        for chunk in stream:
            if read.row <= chunk.first + chunk.items:
                return chunk.slice(read.row - 1 - chunk.first, read.row - chunk.first)
        raise ValueError(f"{file} has {stream.rows_read} items and no item {read.row}; the first is --row 1")
    if stream.schema.id is None:
        raise ValueError(f"{file} has no column of ids; name it with --id-column, or pass --row")
    found: Chunk | None = None
    for chunk in stream:
        for t, name in enumerate(chunk.ids or ()):
            if name is not None and id_text(name) == read.item:
                if found is not None:
                    raise ValueError(
                        f"{file} has the id {short_repr(read.item)} in items {found.first + 1} and"
                        f" {chunk.first + t + 1}; choose one with --row"
                    )
                found = chunk.slice(t, t + 1)
    if found is None:
        raise ValueError(
            f"{file} has no item with the id {short_repr(read.item)}; ids are compared as text, exactly"
        )
    return found


def _explained(
    model: str, file: str, chunk: Chunk, values: dict[Any, Any], why: Explanation
) -> ExplainedItem:
    scores = sorted(why.scores.items(), key=lambda one: (one[0] != why.guess, -one[1]))
    rival = scores[1][0] if len(scores) > 1 else None
    row_of_scores = np.array([[score for _, score in scores]])
    number, code = np.array([len(scores)], np.int32), np.zeros(1, np.int32)  # the prediction comes first
    margin = margins(row_of_scores, number, code)[0]
    parts = [
        Contribution(
            format_key(owner),
            _without_numpy(values.get(owner)),
            added.get(why.guess, 0.0),
            None if len(scores) < 2 else added.get(rival, 0.0),
            added.get(why.guess, 0.0) - added.get(rival, 0.0),
        )
        for owner, added in why.contributions.items()
    ]
    return ExplainedItem(
        model=model,
        file=file,
        row=chunk.first + 1,
        line=int(chunk.lines[0]),
        id=None if chunk.ids is None else chunk.ids[0],
        guess=why.guess,
        truth=None if chunk.labels is None else chunk.labels.tolist()[0],
        runner_up=rival,
        margin=float(margin),
        scores=scores,
        parts=sorted(parts, key=lambda part: -abs(part.difference)),
        members=sorted(((name, *rest) for name, rest in why.members.items()), key=lambda one: -one[1]),
    )


def _without_numpy(vote: Any) -> Any:
    """A vote with Python's own types."""
    if isinstance(vote, dict):
        return {_without_numpy(name): score for name, score in vote.items()}
    return vote.item() if isinstance(vote, np.generic) else vote


def print_explanation(found: ExplainedItem, console: Console) -> None:
    """Print the prediction, the scores, the contributions and, for an ensemble, its members."""
    item_id = "" if found.id is None else f", id {shorten(found.id)}"
    truth = "unknown" if found.truth is None else shorten(found.truth)
    prediction = "nothing" if found.guess is None else shorten(found.guess)
    console.print(
        Text(f"{found.file}, item {found.row} (row {found.line}{item_id})", style="bold"), soft_wrap=True
    )
    console.print(Text(f"{found.model} predicts {prediction}; the truth is {truth}."), soft_wrap=True)
    if found.runner_up is not None and found.margin is not None:
        console.print(Text(f"The runner-up is {shorten(found.runner_up)}; the margin is {found.margin:.2f}."))
        if found.margin < 0.0:
            console.print(Text("Another class has a higher score: the costs of mistakes decide."))
    if found.scores:
        _print_table(
            console,
            ("class", "score"),
            [(shorten(label), format_number(score)) for label, score in found.scores[:MAX_CLASSES]],
            len(found.scores) - MAX_CLASSES,
        )
    if found.parts:
        _print_contributions(console, found)
    if found.members:
        _print_table(
            console,
            ("member", "weight", "prediction"),
            [(name, f"{part:.1%}", shorten(guess)) for name, part, guess in found.members[:MAX_MEMBERS]],
            len(found.members) - MAX_MEMBERS,
        )


def _print_contributions(console: Console, found: ExplainedItem) -> None:
    scores = dict(found.scores)
    headings = ["expert", "vote", f"for {shorten(found.guess)}"]
    total = ["total", "", _signed(scores.get(found.guess, 0.0))]
    if found.runner_up is not None:
        headings += [f"for {shorten(found.runner_up)}", "difference"]
        second = scores[found.runner_up]
        total += [_signed(second), _signed(scores[found.guess] - second)]
    rows = []
    for part in found.parts[:MAX_EXPERTS]:
        row = [shorten(part.name), shorten(part.says), _signed(part.guess)]
        if found.runner_up is not None:
            row += [_signed(part.rival or 0.0), _signed(part.difference)]
        rows.append(row)
    _print_table(console, headings, rows, len(found.parts) - MAX_EXPERTS, total)


def _print_table(console: Console, headings: Any, rows: Any, omitted: int, total: Any = None) -> None:
    """Print a table, with the number of omitted rows and perhaps a row of totals."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for at, heading in enumerate(headings):
        is_text = at == 0 or heading in ("vote", "prediction")
        table.add_column(Text(heading), overflow="fold", justify="left" if is_text else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    if omitted > 0:
        table.add_row(f"... and {omitted} more")
    if total is not None:
        table.add_section()
        table.add_row(*map(Text, total))
    console.print(table)


def _signed(value: float) -> str:
    return f"{value:+.4g}" if value else "0"
