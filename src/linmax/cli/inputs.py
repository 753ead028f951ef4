"""What commands read: learners and costs as text, models, and files with their labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from linmax import spec
from linmax.cli.options import ReadOptions
from linmax.fusion import Fusion, load
from linmax.spec import Learner
from linmax.streams import Chunk, LateLabels, Schema, Stream, StreamError, read_labels
from linmax.streams.schema import short_list, split_score_column


def parse_learner(text: str, what: str = "learner") -> Any:
    """The learner that a text describes.

    >>> parse_learner("Averaged(Winnow(1.2))")
    Averaged(Winnow(1.2))
    >>> parse_learner("Votes()")
    Traceback (most recent call last):
    ValueError: Votes() is not a learner; write one like Winnow(1.2)
    """
    made = spec.parse(text)
    if not isinstance(made, Learner):
        raise ValueError(f"{text} is not a {what}; write one like Winnow(1.2)")
    return made


def parse_costs(texts: list[str]) -> dict[str, float]:
    """Costs such as "gpt=3.5".

    >>> parse_costs(["gpt=3.5", "bert=0"])
    {'gpt': 3.5, 'bert': 0.0}
    """
    costs = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            costs[name] = float(number)
        except ValueError:
            name = ""
        if not name or not 0.0 <= costs[name] < float("inf"):
            raise ValueError(f"--cost is written EXPERT=NUMBER, such as gpt=3.5 (got {text!r})")
    return costs


def check_costs(costs: dict[str, float], schema: Schema) -> None:
    """Refuse the cost of an unknown expert, if the schema names all experts."""
    if schema.shape not in ("wide", "scores") or schema.open:
        return
    by_class = schema.shape == "scores"
    experts = {split_score_column(column)[0] if by_class else column for column in schema.experts}
    for name in costs:
        if name not in experts:
            close = get_close_matches(name, sorted(experts), 1)
            fix = f"did you mean {close[0]!r}?" if close else f"it has {short_list(sorted(experts))}"
            raise ValueError(f"--cost: {schema.file} has no expert {name!r}; {fix}")


def load_model(path: Path) -> Fusion:
    """The session in a model file."""
    if not path.exists():
        raise ValueError(f"there is no file {str(path)!r}; check the path")
    return load(path)


def check_needs(fusion: Fusion, chunk: Chunk, who: str, file: str) -> None:
    """Refuse a file that lacks the votes or the attributes that the learner learns from."""
    if "votes" in fusion.needs and chunk.votes is None:
        raise ValueError(f"{who} learns from votes and {file} has none; name the columns with --experts")
    if fusion.needs - {"votes"} and chunk.attributes is None:
        raise ValueError(f"{who} learns from attributes; name their columns in {file} with --attributes")


def check_known_experts(fusion: Fusion, experts: list[Any], who: str, file: str) -> None:
    """Refuse a panel if the model knows none of its experts."""
    known = fusion.experts
    if "votes" in fusion.needs and known and experts and not set(experts) & set(known):
        raise ValueError(
            f"{file} has no expert that {who} knows (it has {short_list(map(repr, experts))}; the model knows"
            f" {short_list(map(repr, known))}); name the columns as in the file that the model learned"
        )


@contextmanager
def name_rows(file: str, chunk: Chunk) -> Iterator[None]:
    """Add the file and the rows to the message of an error."""
    try:
        yield
    except StreamError:
        raise
    except ValueError as error:
        rows = f"{chunk.lines[0]} to {chunk.lines[-1]}" if chunk.items else "none"
        raise ValueError(f"{file}, rows {rows}: {error}") from None


class Labeller:
    """The labels of the items of a file: those that came later, if there are any, or the file's own."""

    def __init__(self, late: LateLabels | None) -> None:
        self.late = late
        self.joined = 0  # items that have a late label

    def labels(self, chunk: Chunk) -> Any:
        """The label of each item; None where there is none."""
        if self.late is None:
            return chunk.labels
        late = self.late.for_ids(chunk.ids or ()).tolist()
        self.joined += chunk.items - late.count(None)
        own = [None] * chunk.items if chunk.labels is None else chunk.labels.tolist()
        both = [first if second is None else second for first, second in zip(own, late, strict=True)]
        return np.array([*both, None], object)[:-1]

    def label(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """The same chunks, with their labels."""
        return (chunk if self.late is None else chunk.with_labels(self.labels(chunk)) for chunk in chunks)


def open_labelled(read: ReadOptions, labels: Path | None) -> tuple[Stream, Labeller]:
    """Open a file, and the file of labels if there is one; items must have labels in one of them."""
    stream = _open(read, labels)
    file, id_column = stream.schema.file, stream.schema.id
    if labels is not None:
        if id_column is None:
            raise ValueError(
                f"--labels {labels} is joined by id and {file} has none; name the column with --id"
            )
        late = read_labels(labels, id=id_column, label=read.label, ignore_case=read.ignore_case)
        return stream, Labeller(late)
    if stream.schema.label is None:
        raise ValueError(
            f"{file} has no column of labels; name it with --label, or a file of labels with --labels"
        )
    return stream, Labeller(None)


def _open(read: ReadOptions, labels: Path | None) -> Stream:
    """With --labels, --label is a column of the file of labels, and perhaps of this file, too."""
    if labels is None or read.label is None:
        return read.open()
    if str(read.path) != "-":  # standard input can be read only once
        with suppress(StreamError):
            return read.open()
    return replace(read, label=None).open()
