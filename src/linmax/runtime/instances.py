"""The latest labelled trials: recycling replays them, voting evaluates hypotheses on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linmax.experts.base import FrozenVotes, TrialData
from linmax.experts.generated import GeneratedSource
from linmax.kernels.forms import Dense, Hard, Rows, Sparse, SparseRows
from linmax.kernels.forms.votes import code_type
from linmax.kernels.sources.scaling import ScaledRows

FORMS: dict[str, Any] = {"votes": Sparse, "rows": SparseRows, "scaled": ScaledRows}


class TrialSequence(NamedTuple):
    """Trials one after the other: those of the buffer, then new ones.

    Parameters
    ----------
    data
        Votes and attributes.
    labels
        The code of each trial's label, -1 where there is none.
    known
        The number of classes that are known when a trial is scored.
    buffered
        How many of the trials are from the buffer.
    """

    data: TrialData
    labels: np.ndarray
    known: np.ndarray
    buffered: int

    def latest(self, size: int) -> np.ndarray:
        """Return the positions of the latest labelled trials, at most `size`."""
        tail = size  # most trials are labelled, so the end of the sequence is usually enough
        while True:
            begin = max(len(self.labels) - tail, 0)
            labelled = begin + np.flatnonzero(self.labels[begin:] >= 0)
            if not begin or len(labelled) >= size:
                return labelled[max(len(labelled) - size, 0) :]
            tail *= 2


class InstanceBuffer:
    """Votes, attributes and labels of the latest labelled trials, oldest first.

    Parameters
    ----------
    size
        How many trials are kept.
    generated
        The sources that generate votes.
    """

    def __init__(self, size: int, generated: tuple[GeneratedSource, ...] = ()) -> None:
        self.size = size
        self.generated = generated
        self.data = TrialData()
        self.labels = np.zeros(0, dtype=np.int32)

    def followed_by(
        self, batch: Any, rows: slice, derive: Callable[[TrialData, np.ndarray], TrialData]
    ) -> TrialSequence:
        """Return the buffered trials and then rows of a batch; only the rows if none has a label.

        `derive` adds to their data what is computed from attributes and labels.
        """
        data, labels, known = TrialData(batch.votes, batch.rows), batch.labels[rows], batch.known[rows]
        if len(labels) != batch.trials:
            data = take(data, rows)
        if isinstance(data.votes, Hard):
            codes = data.votes.codes.astype(code_type(batch.classes_seen), copy=False)
            data = replace(data, votes=Hard(codes))
        data = replace(derive(data, labels), new_attributes=tuple(batch.new_attributes))
        buffered = len(self.labels)
        if not buffered or not (labels >= 0).any():
            return TrialSequence(data, labels, known, 0)
        return TrialSequence(
            append(self.data, data),
            np.concatenate((self.labels, labels)),
            np.concatenate((np.zeros(buffered, dtype=np.int32), known)),
            buffered,
        )

    def update(self, trials: TrialSequence) -> None:
        """Keep the latest of these trials."""
        if not self.size:
            return
        places = trials.latest(self.size)
        if len(places):
            self.data = take(replace(trials.data, frozen=None), places)
            self.labels = trials.labels[places]

    def state(self) -> dict[str, np.ndarray]:
        """Return the buffer as arrays."""
        state = {"kept.labels": self.labels}
        for name in FORMS:
            part = getattr(self.data, name)
            if part is not None:
                whole = to_sparse(part)
                state |= {f"kept.{name}.{field}": getattr(whole, field) for field in whole._fields}
        for i, part in enumerate((self.data.generated or {}).values()):
            state |= {f"kept.generated.{i}.{field}": getattr(part, field) for field in part._fields}
        return state

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over arrays that `state` returned."""
        self.labels = state["kept.labels"]
        data: dict[str, Any] = {}
        for name, form in FORMS.items():
            if f"kept.{name}.{form._fields[0]}" in state:
                data[name] = form(*(state[f"kept.{name}.{field}"] for field in form._fields))
        if "kept.generated.0.indptr" in state:
            data["generated"] = {
                source: Sparse(*(state[f"kept.generated.{i}.{field}"] for field in Sparse._fields))
                for i, source in enumerate(self.generated)
            }
        self.data = TrialData(**data)


def take(data: TrialData, trials: np.ndarray | slice) -> TrialData:
    """Return these trials, in this order."""
    return TrialData(
        _take(data.votes, trials),
        _take(data.rows, trials),
        _take(data.frozen, trials),
        _take(data.scaled, trials),
        data.generated and {source: _take(part, trials) for source, part in data.generated.items()},
    )


def _take(part: Any, trials: np.ndarray | slice) -> Any:
    if part is None:
        return None
    if isinstance(part, Sparse | SparseRows | ScaledRows):
        indptr, *columns = part
        chosen = np.arange(len(indptr) - 1)[trials]
        lengths = indptr[chosen + 1] - indptr[chosen]
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        entries = np.arange(starts[-1]) + np.repeat(indptr[chosen] - starts[:-1], lengths)
        return type(part)(starts, *(column[entries] for column in columns))
    return type(part)(*(column[trials] for column in part))


def append(before: TrialData, after: TrialData) -> TrialData:
    """Return the trials of one and then those of the other."""
    return TrialData(
        _append(before.votes, after.votes),
        _append(before.rows, after.rows),
        _append(before.frozen, after.frozen),
        _append(before.scaled, after.scaled),
        after.generated
        and {
            source: _append((before.generated or {}).get(source), part)
            for source, part in after.generated.items()
        },
    )


def _append(before: Any, after: Any) -> Any:
    if before is None or after is None:
        return after
    if type(before) is not type(after):
        before, after = to_sparse(before), to_sparse(after)
    if isinstance(before, Sparse | SparseRows | ScaledRows):
        indptr = np.concatenate((before.indptr, after.indptr[1:] + before.indptr[-1]))
        return type(before)(
            indptr, *(np.concatenate(both) for both in zip(before[1:], after[1:], strict=True))
        )
    blanks = (-1,) if isinstance(before, Hard) else (-1, 0, 0) if isinstance(before, FrozenVotes) else (0,)
    return type(before)(*(_stack(*both) for both in zip(before, after, blanks, strict=True)))


def _stack(before: np.ndarray, after: np.ndarray, blank: int) -> np.ndarray:
    widths = tuple(max(pair) for pair in zip(before.shape[1:], after.shape[1:], strict=True))
    stacked = np.full((len(before) + len(after), *widths), blank, dtype=np.result_type(before, after))
    stacked[(slice(len(before)), *map(slice, before.shape[1:]))] = before
    stacked[(slice(len(before), None), *map(slice, after.shape[1:]))] = after
    return stacked


def to_sparse(part: Any) -> Any:
    """Return votes or attributes without their zeros."""
    if isinstance(part, Hard):
        trial, expert = np.nonzero(part.codes >= 0)
        label, value = part.codes[trial, expert].astype(np.int32), np.ones(len(trial))
        return Sparse(_starts(trial, len(part.codes)), expert.astype(np.int32), label, value)
    if isinstance(part, Dense):
        trial, expert, column = np.nonzero(part.values)
        label, value = column.astype(np.int32), part.values[trial, expert, column]
        return Sparse(_starts(trial, len(part.values)), expert.astype(np.int32), label, value)
    if isinstance(part, Rows):
        trial, attribute = np.nonzero(part.values)
        value = part.values[trial, attribute]
        return SparseRows(_starts(trial, len(part.values)), attribute.astype(np.int32), value)
    return part


def _starts(trial: np.ndarray, trials: int) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(np.bincount(trial, minlength=trials)))).astype(np.int64)
