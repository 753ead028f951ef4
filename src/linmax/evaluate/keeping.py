"""An audit among the notes of a model, so that a run that was stopped goes on where it was."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax.evaluate.audit import Audit, Milestone
from linmax.evaluate.counts import Counts
from linmax.evaluate.losses import Losses
from linmax.evaluate.progress import picks
from linmax.evaluate.sample import Rows
from linmax.fusion import Fusion
from linmax.streams import Piece


def noted(audit: Audit) -> dict[str, Any]:
    """Everything but the rows of the sample, which are read again."""
    audit.settle()
    rows = audit.sample.rows()
    return {
        "items": [audit.items, audit.unlabelled, audit.novel],
        "counts": audit.counts.state(),
        "losses": audit.losses.table.tolist(),
        "step": audit.step,
        "moments": [[at, counts.state()] for at, counts in audit.moments],
        "milestones": [list(milestone) for milestone in audit.milestones],
        "confusion": [[*pair, count] for pair, count in sorted(audit.confusion.items())],
        "hardest": audit.hardest.state(),
        "doubtful": audit.doubtful.state(),
        "trust": audit.trust,
        "most": audit.sample.most,
        "limit": str(audit.sample.limit),
        "rows": [] if rows is None else rows.row.tolist(),
        "guesses": [] if rows is None else rows.guess.tolist(),
        "margins": [] if rows is None else np.nan_to_num(rows.margin, nan=-1.0).tolist(),
    }


class Recalled:
    """An audit that comes back: first what was noted, then the rows of its sample, piece by piece."""

    def __init__(self, notes: dict[str, Any], base: int = 0) -> None:
        self.base = base  # rows of the file before the audit began
        try:
            self.audit = _counted(notes)
            self._rows = np.array(notes["rows"], np.int64)
            self._guesses = np.array(notes["guesses"], np.int32)
            margins = np.array(notes["margins"], np.float64)
            self._margins = np.where(margins < 0.0, np.nan, margins)
            _demand(notes, self.audit, self._rows, self._guesses, self._margins)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            raise ValueError(
                "the notes of an interrupted run in this model are damaged; start anew"
            ) from None

    def pass_over(self, fusion: Fusion, piece: Piece) -> None:
        """Take the rows of the sample from a piece that was learned before."""
        first = piece.first - self.base
        begin, end = np.searchsorted(self._rows, (first, first + piece.items))
        if begin == end:
            return
        at = self._rows[begin:end] - first
        some = piece.take(at)
        batch = fusion.read(some.votes, some.truth, attributes=some.attributes)
        sample = self.audit.sample
        sample.parts.append(
            Rows(
                self._rows[begin:end], batch.labels, self._guesses[begin:end], self._margins[begin:end],
                picks(batch), some,
            )
        )  # fmt: skip
        sample.size += len(at)


def _counted(notes: dict[str, Any]) -> Audit:
    audit = Audit(int(notes["most"]))
    audit.items, audit.unlabelled, audit.novel = map(int, notes["items"])
    audit.counts = Counts.of(notes["counts"])
    audit.losses = Losses(np.array(notes["losses"], np.float64).reshape(-1, 5))
    audit.step = int(notes["step"])
    audit.moments = [(int(at), Counts.of(counts)) for at, counts in notes["moments"]]
    audit.milestones = [Milestone(*milestone) for milestone in notes["milestones"]]
    for truth, guess, count in notes["confusion"]:
        audit.confusion[int(truth), int(guess)] = int(count)
    audit.hardest.restore(notes["hardest"])
    audit.doubtful.restore(notes["doubtful"])
    audit.trust = [(int(at), [float(one) for one in pull]) for at, pull in notes["trust"]]
    audit.sample.limit = int(notes["limit"])
    return audit


def _demand(notes: dict[str, Any], audit: Audit, *columns: np.ndarray) -> None:
    """Notes that no audit makes are refused: later steps trust them."""
    size = len(notes["rows"])
    whole = [audit.items, audit.unlabelled, audit.novel, audit.counts.trials, audit.step, audit.sample.most]
    seats = len(audit.counts.spoke) + 2
    fits = (
        min(whole) >= 0
        and audit.counts.trials + audit.unlabelled + audit.novel == audit.items
        and audit.step & (audit.step - 1) == 0 < audit.step
        and 0 < audit.sample.limit <= 1 << 64
        and audit.sample.most > 0
        and all(column.shape == (size,) for column in columns)
        and size <= audit.sample.most
        and bool((np.diff(columns[0], prepend=-1) > 0).all())
        and audit.losses.table.shape == (len(audit.losses.table), 5)
        and all(at == int(at) and 0 < at <= audit.items for at, _ in audit.moments)
        and audit.counts.right.shape == audit.counts.both.shape == (seats,)
        and all(counts.right.shape == counts.both.shape for _, counts in audit.moments)
    )
    if not fits:
        raise ValueError("no audit makes these")
