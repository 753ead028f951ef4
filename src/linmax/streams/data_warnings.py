"""What looks odd in the first rows of a file, said before anything is learned from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any

import pyarrow as pa

from linmax.inputs import Triplets
from linmax.streams.chunk import Chunk
from linmax.streams.columns import fold
from linmax.streams.schema import short_list, short_repr
from linmax.streams.stream import Stream

FEW = 20  # different values are no cause for wonder
MANY = 1000  # different values are one, in any number of rows
OVERLAP = 0.1  # of the labels, at least, somebody should vote for
RUNS = 5  # rows per label, at least, before an order means anything


def data_warnings(stream: Stream | Chunk) -> list[str]:
    """Sentences about what looks odd in a chunk, or in the next chunk of a stream (which stays to be read).

    >>> import io
    >>> from linmax.streams import open_stream
    >>> rows = b"ham,ham\\nspam,spam\\n" * 30 + b"Spam ,spam\\n"
    >>> for sentence in data_warnings(open_stream(io.BytesIO(b"ann,truth\\n" + rows))):
    ...     print(sentence)
    votes have 'Spam ' (1 time) beside 'spam' (30 times); ignore_case=True makes them equal
    """
    chunk = stream.peek() if isinstance(stream, Stream) else stream
    if chunk is None:
        return ["there are no rows"]
    labels = [] if chunk.labels is None else [name for name in chunk.labels.tolist() if name is not None]
    panel = _panel(chunk.votes)
    votes: Counter[Any] = sum(panel.values(), Counter())
    sentences = [*_missing(chunk, labels), *_variants("votes", votes), *_variants("labels", Counter(labels))]
    sentences += _strangers(votes, labels)
    sentences += _crowds(panel, labels, chunk.items)
    sentences += _order(labels)
    return sentences


def _panel(votes: Any) -> dict[Any, Counter[Any]]:
    """How often each expert votes for what; scores count as one vote for each class."""
    panel: dict[Any, Counter[Any]] = {}
    if isinstance(votes, pa.Table):
        for name in votes.column_names:
            counts = votes.column(name).value_counts().to_pylist()
            panel[name] = Counter()
            for pair in counts:
                if pair["values"] not in (None, ""):
                    panel[name][pair["values"]] += pair["counts"]
    elif isinstance(votes, Triplets):
        for expert, label in zip(votes.expert.tolist(), votes.label.tolist(), strict=True):
            panel.setdefault(expert, Counter())[label] += 1
    elif votes is not None:
        for item in votes:
            for expert, vote in item.items():
                panel.setdefault(expert, Counter()).update(vote if isinstance(vote, dict) else [vote])
    return panel


def _missing(chunk: Chunk, labels: list[Any]) -> Iterator[str]:
    if chunk.labels is not None and len(labels) < chunk.items:
        none = chunk.items - len(labels)
        yield f"{none} of the first {chunk.items} rows have no label: they are predicted only"


def _variants(what: str, counts: Counter[Any]) -> Iterator[str]:
    """Rare names that differ from a frequent one only by case or blanks."""
    usual: dict[str | None, str] = {}
    for name, _ in counts.most_common():
        if not isinstance(name, str):
            return
        best = usual.setdefault(fold(name), name)
        if best != name and len(usual) <= MANY:
            yield (
                f"{what} have {short_repr(name)} ({_times(counts[name])}) beside {short_repr(best)}"
                f" ({_times(counts[best])}); ignore_case=True makes them equal"
            )


def _strangers(votes: Counter[Any], labels: list[Any]) -> Iterator[str]:
    counts = Counter(labels)
    known = sum(times for name, times in counts.items() if name in votes)
    if labels and votes and known < OVERLAP * len(labels):
        said = short_list((short_repr(name) for name, _ in votes.most_common(3)), 3)
        truth = short_list((short_repr(name) for name, _ in counts.most_common(3)), 3)
        yield (
            f"{known} of {len(labels)} labels are ever voted for (votes are {said}, labels {truth});"
            " check label=, or whether both name classes in the same way"
        )


def _crowds(panel: dict[Any, Counter[Any]], labels: list[Any], items: int) -> Iterator[str]:
    if _crowded(len(set(labels)), len(labels)):
        yield (
            f"the label has {len(set(labels))} different values in {len(labels)} rows, like an id;"
            " name the column of labels with label="
        )
    for expert, counts in panel.items():
        if _crowded(len(counts), sum(counts.values())) and len(counts) > len(set(labels)):
            yield (
                f"expert {short_repr(expert)} says {len(counts)} different things in {items} rows;"
                " if it is no expert, name those that vote with experts="
            )


def _crowded(different: int, rows: int) -> bool:
    return different > FEW and (different > rows / 2 or different > MANY)


def _order(labels: list[Any]) -> Iterator[str]:
    different = len(set(labels))
    changes = (one != other for one, other in pairwise(labels))
    more = next(islice(filter(None, changes), max(different - 1, 0), None), None)  # than a sorted file has
    if different > 1 and more is None and len(labels) >= RUNS * different:
        yield "rows are sorted by label, and what is learned depends on the order, so shuffle them"


def _times(count: int) -> str:
    return f"{count} time{'s' * (count != 1)}"
