"""Chunks: consecutive items of a stream, as `Fusion.learn` takes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from linmax.inputs import Triplets
from linmax.streams.columns import single_chunk, to_numpy


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive items of a stream.

    A session learns a chunk with `fusion.learn(chunk.votes, chunk.labels, attributes=chunk.attributes)`.

    Parameters
    ----------
    first : int
        Index of the first item in the stream, counted from 0.
    lines : ndarray of int64
        The line (or row) of the file at which each item starts, counted from 1.
    votes : pyarrow.Table, Triplets, list of dict, or None
        The votes; None if the file has none.
    raw_labels : ndarray, pyarrow.Array or None
        The labels as they were read; texts are an Arrow dictionary array. `labels` is the same as a
        NumPy array.
    attributes : pyarrow.Table, list of dict, or None
        The attributes.
    ids : list or None
        The ids.

    Examples
    --------
    >>> import io
    >>> from linmax.streams import open_stream
    >>> (chunk,) = open_stream(io.BytesIO(b"ann,bob,truth\\nham,spam,spam\\nham,,\\n"), label="truth")
    >>> chunk
    Chunk(first=0, items=2)
    >>> chunk.labels, chunk.lines
    (array(['spam', None], dtype=object), array([2, 3]))
    """

    first: int
    lines: NDArray[np.int64] = field(repr=False)
    votes: Any = field(repr=False)
    raw_labels: Any = field(repr=False)
    attributes: Any = field(repr=False)
    ids: list[Any] | None = field(repr=False)

    @cached_property
    def labels(self) -> Any:
        """The labels as a NumPy array, with None for missing ones; None without a column of labels."""
        return to_numpy(self.raw_labels) if isinstance(self.raw_labels, pa.Array) else self.raw_labels

    @property
    def items(self) -> int:
        """Number of items."""
        return len(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __repr__(self) -> str:
        return f"Chunk(first={self.first}, items={self.items})"

    def slice(self, start: int, stop: int) -> Chunk:
        """Return the items from `start` up to but not including `stop`.

        Examples
        --------
        >>> import io
        >>> from linmax.streams import open_stream
        >>> (chunk,) = open_stream(io.BytesIO(b"ann,truth\\nham,spam\\nspam,spam\\n"), label="truth")
        >>> chunk.slice(1, 2), chunk.slice(1, 2).vote_dict(0)
        (Chunk(first=1, items=1), {'ann': 'spam'})
        """
        if start <= 0 and stop >= self.items:
            return self
        return self._select(range(start, min(stop, self.items)), self.first + max(start, 0))

    def take(self, rows: Any) -> Chunk:
        """Return the items with these indices, in this order; `first` does not change."""
        return self._select(rows, self.first)

    def with_labels(self, labels: Any) -> Chunk:
        """Return the same items with other labels."""
        return replace(self, raw_labels=labels)

    def vote_dict(self, t: int) -> dict[Any, Any]:
        """Return the votes on one item as a dict, as `Fusion.explain_one` takes them, without abstentions."""
        return self._select(range(t, t + 1), self.first).vote_dicts()[0]

    def vote_dicts(self) -> list[dict[Any, Any]]:
        """Return the votes on every item as dicts."""
        votes = self.votes
        if isinstance(votes, pa.Table):
            columns = [to_numpy(single_chunk(column)).tolist() for column in votes.columns]
            rows = (zip(votes.column_names, row, strict=True) for row in zip(*columns, strict=True))
            return [{name: vote for name, vote in row if vote is not None} for row in rows]
        dicts: list[dict[Any, Any]] = [{} for _ in range(self.items)]
        if isinstance(votes, Triplets):
            for j, t in enumerate(votes.item.tolist()):
                if votes.value is None:
                    dicts[t][votes.expert[j]] = votes.label[j]
                else:
                    dicts[t].setdefault(votes.expert[j], {})[votes.label[j]] = float(votes.value[j])
            return dicts
        return dicts if votes is None else [dict(item) for item in votes]

    def attribute_dict(self, t: int) -> dict[Any, Any] | None:
        """Return the attributes of one item as a dict; None if the stream has none."""
        if self.attributes is None:
            return None
        return self._select(range(t, t + 1), self.first).attribute_dicts()[0]

    def attribute_dicts(self) -> list[dict[Any, Any]]:
        """Return the attributes of every item as dicts, empty if the stream has none."""
        if self.attributes is None:
            return [{} for _ in range(self.items)]
        rows = self.attributes.to_pylist() if isinstance(self.attributes, pa.Table) else self.attributes
        return [dict(row) for row in rows]

    def _select(self, rows: Any, first: int) -> Chunk:
        at = np.arange(rows.start, rows.stop) if isinstance(rows, range) else np.asarray(rows, np.int64)
        return Chunk(
            first,
            self.lines[at],
            _select_rows(self.votes, at, rows),
            _select_rows(self.raw_labels, at, rows),
            _select_rows(self.attributes, at, rows),
            None if self.ids is None else [self.ids[i] for i in at.tolist()],
        )


def concat_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Concatenate chunks of one stream.

    Parameters
    ----------
    chunks : sequence of Chunk
        At least one chunk.

    Returns
    -------
    Chunk
    """
    first, sizes = chunks[0], [chunk.items for chunk in chunks]
    votes = [chunk.votes for chunk in chunks]
    if len(set(map(type, votes))) > 1:  # scores, of which the first chunks have none
        votes = [chunk.vote_dicts() for chunk in chunks]
    return Chunk(
        first.first,
        np.concatenate([chunk.lines for chunk in chunks]),
        _concat(votes, sizes),
        None if first.labels is None else np.concatenate([chunk.labels for chunk in chunks]),
        _concat([chunk.attributes for chunk in chunks], sizes),
        None if first.ids is None else [name for chunk in chunks for name in chunk.ids or ()],
    )


def shuffle_items(chunks: Iterable[Chunk], seed: int) -> Iterator[Chunk]:
    """Read all items into memory and yield them in random order, as one chunk.

    Parameters
    ----------
    chunks : iterable of Chunk
        The chunks of one stream.
    seed : int
        Seed of the random order.

    Examples
    --------
    >>> import io
    >>> from linmax.streams import open_stream
    >>> stream = open_stream(io.BytesIO(b"ann,truth\\n" + b"a,b\\n" * 5), label="truth")
    >>> [chunk.lines.tolist() for chunk in shuffle_items(stream, seed=0)]
    [[4, 6, 5, 2, 3]]
    """
    all_chunks = list(chunks)
    if all_chunks:
        whole = concat_chunks(all_chunks)
        yield whole.take(np.random.default_rng(seed).permutation(whole.items))


def _select_rows(data: Any, at: NDArray[np.int64], rows: Any) -> Any:
    """Select rows of votes, labels or attributes; a range of rows is sliced without a copy."""
    if data is None:
        return None
    if isinstance(data, np.ndarray):
        return data[at]
    if isinstance(data, pa.Table | pa.Array):
        return data.slice(rows.start, len(rows)) if isinstance(rows, range) else data.take(pa.array(at))
    if isinstance(data, Triplets):
        new_item = np.full(int(data.items or 0), -1)
        new_item[at] = np.arange(len(at))
        selected = np.flatnonzero(new_item[data.item] >= 0)
        order = selected[np.argsort(new_item[data.item[selected]], kind="stable")]
        return Triplets(
            new_item[data.item[order]],
            data.expert[order],
            data.label[order],
            None if data.value is None else data.value[order],
            len(at),
        )
    return [data[i] for i in at.tolist()]


def _concat(parts: list[Any], sizes: list[int]) -> Any:
    """Concatenate the votes or attributes of chunks with so many items each."""
    if parts[0] is None:
        return None
    if isinstance(parts[0], pa.Table):
        return pa.concat_tables(parts, promote_options="default").combine_chunks()
    if isinstance(parts[0], Triplets):
        starts = np.cumsum([0, *sizes[:-1]])
        has_values = parts[0].value is not None
        return Triplets(
            np.concatenate([part.item + start for part, start in zip(parts, starts, strict=True)]),
            np.concatenate([part.expert for part in parts]),
            np.concatenate([part.label for part in parts]),
            np.concatenate([part.value for part in parts]) if has_values else None,
            sum(sizes),
        )
    return [item for part in parts for item in part]
