"""Warnings about suspicious data in the first rows of a file, before anything is learned from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any

import pyarrow as pa

from linmax.inputs import Triplets
from linmax.streams.chunk import Chunk
from linmax.streams.columns import normalize
from linmax.streams.schema import short_list, short_repr
from linmax.streams.stream import Stream

FEW_VALUES = 20  # distinct values are never suspicious
MANY_VALUES = 1000  # distinct values are suspicious in any number of rows
MIN_OVERLAP = 0.1  # fraction of the labels that should occur among the votes
MIN_ROWS_PER_LABEL = 5  # with fewer rows, sorted labels are a coincidence


def data_warnings(stream: Stream | Chunk) -> list[str]:
    """Check the next chunk of a stream for common mistakes.

    Reported are missing labels, names that differ by case or whitespace only, labels for which no expert
    votes, columns that look like ids, and rows that are sorted by label.

    Parameters
    ----------
    stream : Stream or Chunk
        A stream, whose next chunk is checked and not consumed, or a chunk.

    Returns
    -------
    list of str
        One sentence per warning.

    Examples
    --------
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
    by_expert = _count_votes(chunk.votes)
    votes: Counter[Any] = sum(by_expert.values(), Counter())
    return [
        *_missing_labels(chunk, labels),
        *_spelling_variants("votes", votes),
        *_spelling_variants("labels", Counter(labels)),
        *_labels_without_votes(votes, labels),
        *_id_columns(by_expert, labels, chunk.items),
        *_sorted_rows(labels),
    ]


def _count_votes(votes: Any) -> dict[Any, Counter[Any]]:
    """Count the votes of each expert for each class; scores count as one vote for each class."""
    counts: dict[Any, Counter[Any]] = {}
    if isinstance(votes, pa.Table):
        for name in votes.column_names:
            counts[name] = Counter()
            for pair in votes.column(name).value_counts().to_pylist():
                if pair["values"] not in (None, ""):
                    counts[name][pair["values"]] += pair["counts"]
    elif isinstance(votes, Triplets):
        for expert, label in zip(votes.expert.tolist(), votes.label.tolist(), strict=True):
            counts.setdefault(expert, Counter())[label] += 1
    elif votes is not None:
        for item in votes:
            for expert, vote in item.items():
                counts.setdefault(expert, Counter()).update(vote if isinstance(vote, dict) else [vote])
    return counts


def _missing_labels(chunk: Chunk, labels: list[Any]) -> Iterator[str]:
    if chunk.labels is not None and len(labels) < chunk.items:
        missing = chunk.items - len(labels)
        yield f"{missing} of the first {chunk.items} rows have no label: they are only predicted"


def _spelling_variants(role: str, counts: Counter[Any]) -> Iterator[str]:
    """Report names that differ from a more frequent one by case or whitespace only."""
    usual: dict[str | None, str] = {}
    for name, count in counts.most_common():
        if not isinstance(name, str):
            return
        most_frequent = usual.setdefault(normalize(name), name)
        if most_frequent != name and len(usual) <= MANY_VALUES:
            yield (
                f"{role} have {short_repr(name)} ({_times(count)}) beside {short_repr(most_frequent)}"
                f" ({_times(counts[most_frequent])}); ignore_case=True makes them equal"
            )


def _labels_without_votes(votes: Counter[Any], labels: list[Any]) -> Iterator[str]:
    counts = Counter(labels)
    known = sum(count for name, count in counts.items() if name in votes)
    if labels and votes and known < MIN_OVERLAP * len(labels):
        some_votes = short_list((short_repr(name) for name, _ in votes.most_common(3)), 3)
        some_labels = short_list((short_repr(name) for name, _ in counts.most_common(3)), 3)
        yield (
            f"{known} of {len(labels)} labels occur among the votes (votes are {some_votes}, labels"
            f" {some_labels}); check label=, or whether both name classes in the same way"
        )


def _id_columns(by_expert: dict[Any, Counter[Any]], labels: list[Any], items: int) -> Iterator[str]:
    classes = len(set(labels))
    if _looks_like_ids(classes, len(labels)):
        yield (
            f"the label has {classes} different values in {len(labels)} rows, like an id;"
            " name the column of labels with label="
        )
    for expert, counts in by_expert.items():
        if _looks_like_ids(len(counts), sum(counts.values())) and len(counts) > classes:
            yield (
                f"expert {short_repr(expert)} has {len(counts)} different votes in {items} rows;"
                " if it is not an expert, select the columns with votes with experts="
            )


def _looks_like_ids(distinct: int, rows: int) -> bool:
    return distinct > FEW_VALUES and (distinct > rows / 2 or distinct > MANY_VALUES)


def _sorted_rows(labels: list[Any]) -> Iterator[str]:
    distinct = len(set(labels))
    changes = filter(None, (label != following for label, following in pairwise(labels)))
    is_sorted = next(islice(changes, max(distinct - 1, 0), None), None) is None
    if distinct > 1 and is_sorted and len(labels) >= MIN_ROWS_PER_LABEL * distinct:
        yield "rows are sorted by label, and what is learned depends on the order, so shuffle them"


def _times(count: int) -> str:
    return f"{count} time{'s' * (count != 1)}"
