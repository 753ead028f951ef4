"""Rows of a file as columns, whatever the format: what readers give and shapes take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from linmax.inputs import Triplets
from linmax.streams.columns import as_numpy, combined


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some items of a stream: `fusion.learn(chunk.votes, chunk.labels, attributes=chunk.attributes)`.

    >>> import io
    >>> from linmax.streams import open_stream
    >>> (chunk,) = open_stream(io.BytesIO(b"ann,bob,truth\\nham,spam,spam\\nham,,\\n"))
    >>> chunk
    Chunk(first=0, items=2)
    >>> chunk.labels, chunk.lines
    (array(['spam', None], dtype=object), array([2, 3]))
    """

    first: int  # number of the first item, from 0 on
    lines: NDArray[np.int64] = field(repr=False)  # where in the file each item begins, from 1 on
    votes: Any = field(repr=False)  # an Arrow table, Triplets or dicts; None where nobody votes
    raw_labels: Any = field(
        repr=False
    )  # the labels as they were read: an array of numpy's or Arrow's, or None
    attributes: Any = field(repr=False)  # an Arrow table or dicts, or None
    ids: list[Any] | None = field(repr=False)

    @cached_property
    def labels(self) -> Any:
        """An array, with None where a label is missing; None without a column of labels."""
        return as_numpy(self.raw_labels) if isinstance(self.raw_labels, pa.Array) else self.raw_labels

    @property
    def items(self) -> int:
        """How many there are."""
        return len(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __repr__(self) -> str:
        return f"Chunk(first={self.first}, items={self.items})"

    def slice(self, begin: int, end: int) -> Chunk:
        """Some items that follow one another.

        >>> import io
        >>> from linmax.streams import open_stream
        >>> (chunk,) = open_stream(io.BytesIO(b"ann,truth\\nham,spam\\nspam,spam\\n"))
        >>> chunk.slice(1, 2), chunk.slice(1, 2).item(0)
        (Chunk(first=1, items=1), {'ann': 'spam'})
        """
        whole = begin <= 0 and end >= self.items
        return self if whole else self._of(range(begin, min(end, self.items)), self.first + max(begin, 0))

    def take(self, rows: Any) -> Chunk:
        """Some items, in the order of `rows`; `first` stays what it was."""
        return self._of(rows, self.first)

    def _of(self, rows: Any, first: int) -> Chunk:
        at = np.arange(rows.start, rows.stop) if isinstance(rows, range) else np.asarray(rows, np.int64)
        return Chunk(
            first,
            self.lines[at],
            _rows_of(self.votes, at, rows),
            _rows_of(self.raw_labels, at, rows),
            _rows_of(self.attributes, at, rows),
            None if self.ids is None else [self.ids[i] for i in at.tolist()],
        )

    def with_labels(self, labels: Any) -> Chunk:
        """The same items with other labels."""
        return replace(self, raw_labels=labels)

    def vote_dict(self, t: int) -> dict[Any, Any]:
        """The votes on one item, as `Fusion.explain_one` takes them; who abstains is left out."""
        return self._of(range(t, t + 1), self.first).vote_dicts()[0]

    def vote_dicts(self) -> list[dict[Any, Any]]:
        """The votes on every item, each as `item` has them."""
        votes = self.votes
        if isinstance(votes, pa.Table):
            columns = [as_numpy(combined(column)).tolist() for column in votes.columns]
            rows = (zip(votes.column_names, row, strict=True) for row in zip(*columns, strict=True))
            return [{name: vote for name, vote in row if vote is not None} for row in rows]
        said: list[dict[Any, Any]] = [{} for _ in range(self.items)]
        if isinstance(votes, Triplets):
            for j, t in enumerate(votes.item.tolist()):
                if votes.value is None:
                    said[t][votes.expert[j]] = votes.label[j]
                else:
                    said[t].setdefault(votes.expert[j], {})[votes.label[j]] = float(votes.value[j])
            return said
        return said if votes is None else [dict(item) for item in votes]

    def attribute_dicts(self) -> list[dict[Any, Any]]:
        """The attributes of every item, each as `traits_at` has them; empty where there are none."""
        if self.attributes is None:
            return [{} for _ in range(self.items)]
        rows = self.attributes.to_pylist() if isinstance(self.attributes, pa.Table) else self.attributes
        return [dict(row) for row in rows]

    def attribute_dict(self, t: int) -> dict[Any, Any] | None:
        """The attributes of one item; None where there are none."""
        return None if self.attributes is None else self._of(range(t, t + 1), self.first).attribute_dicts()[0]


def concat_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Pieces of one stream as a single one."""
    first = chunks[0]
    return Chunk(
        first.first,
        np.concatenate([chunk.lines for chunk in chunks]),
        _all_of([chunk.votes for chunk in chunks], [chunk.items for chunk in chunks]),
        None if first.labels is None else np.concatenate([chunk.labels for chunk in chunks]),
        _all_of([chunk.attributes for chunk in chunks], [chunk.items for chunk in chunks]),
        None if first.ids is None else [name for chunk in chunks for name in chunk.ids or ()],
    )


def shuffle_items(chunks: Iterable[Chunk], seed: int) -> Iterator[Chunk]:
    """All items in random order, in one chunk; all are in memory then.

    >>> import io
    >>> from linmax.streams import open_stream
    >>> stream = open_stream(io.BytesIO(b"ann,truth\\n" + b"a,b\\n" * 5))
    >>> [chunk.lines.tolist() for chunk in shuffle_items(stream, seed=0)]
    [[4, 6, 5, 2, 3]]
    """
    every = list(chunks)
    if every:
        whole = concat_chunks(every)
        yield whole.take(np.random.default_rng(seed).permutation(whole.items))


def _rows_of(data: Any, at: NDArray[np.int64], rows: Any) -> Any:
    if data is None:
        return None
    if isinstance(data, np.ndarray):
        return data[at]
    if isinstance(data, pa.Table | pa.Array):
        return data.slice(rows.start, len(rows)) if isinstance(rows, range) else data.take(pa.array(at))
    if isinstance(data, Triplets):
        place = np.full(int(data.items or 0), -1)
        place[at] = np.arange(len(at))
        kept = np.flatnonzero(place[data.item] >= 0)
        order = kept[np.argsort(place[data.item[kept]], kind="stable")]
        return Triplets(
            place[data.item[order]], data.expert[order], data.label[order],
            None if data.value is None else data.value[order], len(at),
        )  # fmt: skip
    return [data[i] for i in at.tolist()]


def _all_of(parts: list[Any], items: list[int]) -> Any:
    if parts[0] is None:
        return None
    if isinstance(parts[0], pa.Table):
        return pa.concat_tables(parts, promote_options="default").combine_chunks()
    if isinstance(parts[0], Triplets):
        starts = np.cumsum([0, *items[:-1]])
        valued = parts[0].value is not None
        return Triplets(
            np.concatenate([part.item + start for part, start in zip(parts, starts, strict=True)]),
            np.concatenate([part.expert for part in parts]),
            np.concatenate([part.label for part in parts]),
            np.concatenate([part.value for part in parts]) if valued else None,
            sum(items),
        )  # fmt: skip
    return [item for part in parts for item in part]
