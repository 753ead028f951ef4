"""Trials picked out of their arrays and put one after the other: recycled instances, then new ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax.experts.base import Data, Frozen
from linmax.forms import Dense, Hard, Rows, Sparse, SparseRows


def take(data: Data, trials: np.ndarray | slice) -> Data:
    """These trials, in this order."""
    return Data(_take(data.votes, trials), _take(data.rows, trials), _take(data.frozen, trials))


def _take(part: Any, trials: np.ndarray | slice) -> Any:
    if part is None:
        return None
    if isinstance(part, Sparse | SparseRows):
        indptr, *columns = part
        chosen = np.arange(len(indptr) - 1)[trials]
        lengths = indptr[chosen + 1] - indptr[chosen]
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        entries = np.arange(starts[-1]) + np.repeat(indptr[chosen] - starts[:-1], lengths)
        return type(part)(starts, *(column[entries] for column in columns))
    return type(part)(*(column[trials] for column in part))


def append(before: Data, after: Data) -> Data:
    """The trials of one tape, then those of another."""
    return Data(
        _append(before.votes, after.votes),
        _append(before.rows, after.rows),
        _append(before.frozen, after.frozen),
    )


def _append(before: Any, after: Any) -> Any:
    if before is None or after is None:
        return after
    if type(before) is not type(after):
        before, after = sparse(before), sparse(after)
    if isinstance(before, Sparse | SparseRows):
        indptr = np.concatenate((before.indptr, after.indptr[1:] + before.indptr[-1]))
        return type(before)(
            indptr, *(np.concatenate(both) for both in zip(before[1:], after[1:], strict=True))
        )
    blanks = (-1,) if isinstance(before, Hard) else (-1, 0, 0) if isinstance(before, Frozen) else (0,)
    return type(before)(*(_stack(*both) for both in zip(before, after, blanks, strict=True)))


def _stack(before: np.ndarray, after: np.ndarray, blank: int) -> np.ndarray:
    widths = tuple(max(pair) for pair in zip(before.shape[1:], after.shape[1:], strict=True))
    stacked = np.full((len(before) + len(after), *widths), blank, dtype=before.dtype)
    stacked[(slice(len(before)), *map(slice, before.shape[1:]))] = before
    stacked[(slice(len(before), None), *map(slice, after.shape[1:]))] = after
    return stacked


def sparse(part: Any) -> Any:
    """The same votes or attributes without their zeros."""
    if isinstance(part, Hard):
        trial, expert = np.nonzero(part.codes >= 0)
        label = part.codes[trial, expert]
        return Sparse(_starts(trial, len(part.codes)), expert.astype(np.int32), label, np.ones(len(label)))
    if isinstance(part, Dense):
        trial, expert, label = np.nonzero(part.values)
        value = part.values[trial, expert, label]
        return Sparse(
            _starts(trial, len(part.values)), expert.astype(np.int32), label.astype(np.int32), value
        )
    if isinstance(part, Rows):
        trial, attribute = np.nonzero(part.values)
        value = part.values[trial, attribute]
        return SparseRows(_starts(trial, len(part.values)), attribute.astype(np.int32), value)
    return part


def _starts(trial: np.ndarray, trials: int) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(np.bincount(trial, minlength=trials)))).astype(np.int64)
