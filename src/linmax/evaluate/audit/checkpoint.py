"""The state of a run that a model file holds, so that the run can be resumed.

It consists of the state of the audit (`audit_state`, `RestoredAudit`) and of a fingerprint of the rows
learned so far (`StreamFingerprint`, `LearnedPrefix`).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linmax.evaluate.audit.audit import MODELS, Audit, Milestone
from linmax.evaluate.audit.counts import MistakeCounts
from linmax.evaluate.audit.sample import ALL_KEYS, SampleRows
from linmax.evaluate.calibration import CalibrationCounts
from linmax.evaluate.findings.decisions import AnswerCounts
from linmax.evaluate.losses import ProbabilityLosses
from linmax.evaluate.metrics import ClassCounts
from linmax.evaluate.progressive import voted_classes
from linmax.fusion import Fusion

if TYPE_CHECKING:  # reading files needs pyarrow
    from linmax.streams import Chunk

HEAD_ROWS = 256
"""The first rows of a file, all of which are in its fingerprint."""
SHORT_HEADS = (16, 32, 64, 128, HEAD_ROWS)
"""The numbers of first rows that are compared with those of a shorter file."""
ROW_STEP = 4096
"""Of the later rows, one in so many is in the fingerprint."""


class LearnedPrefix(NamedTuple):
    """The rows at the beginning of a stream that a session has learned already.

    Attributes
    ----------
    rows : int
        The number of rows.
    digest : str
        The `StreamFingerprint` of these rows.
    """

    rows: int
    digest: str


NO_PREFIX = LearnedPrefix(0, "")


class StreamFingerprint:
    """A digest of ids, votes and attributes, row by row; it does not depend on how rows arrive in chunks.

    Labels are not part of it, because they may be added to a file later.

    Parameters
    ----------
    rows : int, default=0
        Rows so far.
    digest : str, default=""
        The digest of these rows.

    Examples
    --------
    >>> import io
    >>> from linmax.streams import open_stream
    >>> one, other = StreamFingerprint(), StreamFingerprint()
    >>> for chunk in open_stream(io.BytesIO(b"ann,truth\\na,b\\nb,b\\n"), label="truth"):
    ...     one.add(chunk)
    >>> for chunk in open_stream(io.BytesIO(b"ann,truth\\na,b\\nb,b\\n"), chunk_size=1, label="truth"):
    ...     other.add(chunk)
    >>> one.rows, one.digest == other.digest
    (2, True)
    """

    def __init__(self, rows: int = 0, digest: str = "") -> None:
        self.rows, self.digest = rows, digest

    def add(self, chunk: Chunk) -> None:
        """Add the next rows.

        Parameters
        ----------
        chunk : Chunk
            The rows.
        """
        end = self.rows + chunk.items
        numbers = (
            range(self.rows, min(end, HEAD_ROWS)),
            range(-(-max(self.rows, HEAD_ROWS) // ROW_STEP) * ROW_STEP, end, ROW_STEP),
        )
        at = [row - self.rows for part in numbers for row in part]
        self.rows = end
        if at:
            part = chunk.take(at)
            ids = part.ids or [None] * len(at)
            for name, votes, attributes in zip(ids, part.vote_dicts(), part.attribute_dicts(), strict=True):
                values = (sorted(map(repr, one.items())) for one in (votes, attributes))
                row = repr((self.digest, repr(name), *values))
                self.digest = hashlib.sha256(row.encode("utf-8", "backslashreplace")).hexdigest()


def head_fingerprints(chunk: Chunk | None) -> list[tuple[int, str]]:
    """Return the number and the digest of the first rows of a file: of `HEAD_ROWS`, and of fewer before.

    Without ids only the former: a few votes may be the same in two files.

    Parameters
    ----------
    chunk : Chunk or None
        The first chunk; None if the file is empty.
    """
    fingerprint, found = StreamFingerprint(), []
    for rows in SHORT_HEADS if chunk is not None and chunk.ids else (HEAD_ROWS,):
        if chunk is not None and fingerprint.rows < min(rows, chunk.items):
            fingerprint.add(chunk.slice(fingerprint.rows, min(rows, chunk.items)))
            found.append((fingerprint.rows, fingerprint.digest))
    return found or [(0, "")]


def matches_head(saved: Any, chunk: Chunk | None) -> bool:
    """Return whether a file begins with the rows of a saved fingerprint, or ends among them.

    Parameters
    ----------
    saved : object
        What `head_fingerprints` has returned, or anything else that a model file may hold. A file of an
        earlier version has only the longest one.
    chunk : Chunk or None
        The first chunk of the file.
    """
    try:
        heads = {int(rows): str(digest) for rows, digest in saved}
        longest = max(rows for rows in heads if chunk is not None and 0 < rows <= chunk.items)
    except (TypeError, ValueError):
        return False
    fingerprint = StreamFingerprint()
    assert chunk is not None
    fingerprint.add(chunk.slice(0, min(longest, HEAD_ROWS)))
    return fingerprint.digest == heads[longest]


def audit_state(audit: Audit) -> dict[str, Any]:
    """Return an audit as values that JSON has.

    The votes of the sample are not part of it: `RestoredAudit` reads them from the file again. Model files
    hold this state, so its keys never change. Version 0.1 had no "classes", "calibration" and
    "compared_from", and fewer columns in "counts" and "moments"; "answers" is there if they are counted.

    Parameters
    ----------
    audit : Audit
        The audit; this waits until everything is counted.
    """
    audit.wait()
    rows = audit.sample.rows()
    return ({} if audit.answers is None else {"answers": audit.answers.state()}) | {
        "items": [audit.items, audit.unlabelled, audit.novel],
        "counts": audit.counts.state(),
        "classes": audit.class_counts.state(),
        "calibration": audit.calibration.state(),
        "compared_from": audit.compared_from.state(),
        "losses": audit.losses.table.tolist(),
        "step": audit.history.step,
        "moments": [[items, counts.state()] for items, counts in audit.history.snapshots],
        "milestones": [list(milestone) for milestone in audit.milestones],
        "confusion": [[*pair, count] for pair, count in sorted(audit.confusion.items())],
        "hardest": audit.hardest.state(),
        "doubtful": audit.uncertain.state(),
        "trust": audit.trust,
        "most": audit.sample.size,
        "limit": str(audit.sample.limit),
        "rows": [] if rows is None else rows.row.tolist(),
        "guesses": [] if rows is None else rows.guess.tolist(),
        "margins": [] if rows is None else np.nan_to_num(rows.margin, nan=-1.0).tolist(),
    }


class RestoredAudit:
    """An audit that is restored from `audit_state`, and from the rows of its sample while they are skipped.

    Parameters
    ----------
    state : dict
        What `audit_state` has returned.
    first_row : int, default=0
        The number of rows of the file before the audited run began.

    Raises
    ------
    ValueError
        If the state is damaged.
    """

    def __init__(self, state: dict[str, Any], first_row: int = 0) -> None:
        self.first_row = first_row
        try:
            self.audit = _audit_of(state)
            self._rows = np.array(state["rows"], np.int64)
            self._guesses = np.array(state["guesses"], np.int32)
            margins = np.array(state["margins"], np.float64)
            self._margins = np.where(margins < 0.0, np.nan, margins)
            if not _is_consistent(self.audit, self._rows, self._guesses, self._margins):
                raise ValueError("no audit has this state")
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            raise ValueError(
                "the saved state of an interrupted run in this model is damaged; start a new run"
            ) from None

    def add_sample_rows(self, fusion: Fusion, chunk: Chunk) -> None:
        """Read the rows of the sample from a chunk that was learned before.

        Parameters
        ----------
        fusion : Fusion
            The session.
        chunk : Chunk
            The next chunk of the learned prefix.
        """
        first = chunk.first - self.first_row
        begin, end = np.searchsorted(self._rows, (first, first + chunk.items))
        if begin == end:
            return
        rows = chunk.take(self._rows[begin:end] - first)
        batch = fusion.read(rows.votes, rows.raw_labels, attributes=rows.attributes)
        self.audit.sample.append(
            SampleRows(
                self._rows[begin:end], batch.labels, self._guesses[begin:end], self._margins[begin:end],
                voted_classes(batch), rows,
            )
        )  # fmt: skip


def _audit_of(state: dict[str, Any]) -> Audit:
    """Restore everything but the rows of the sample."""
    audit = Audit(int(state["most"]))
    audit.items, audit.unlabelled, audit.novel = map(int, state["items"])
    audit.losses = ProbabilityLosses(np.array(state["losses"], np.float64).reshape(-1, 5))
    history = audit.history
    history.items, history.step = audit.items, int(state["step"])
    history.counts = MistakeCounts.from_state(state["counts"], MODELS)
    history.snapshots = [
        (int(at), MistakeCounts.from_state(counts, MODELS)) for at, counts in state["moments"]
    ]
    if {"classes", "calibration", "compared_from"} & set(state):
        audit.class_counts = ClassCounts.from_state(state["classes"])
        audit.calibration = CalibrationCounts.from_state(state["calibration"])
        audit.compared_from = MistakeCounts.from_state(state["compared_from"], MODELS)
    else:  # version 0.1 did not count all baselines
        audit.compared_from = history.counts.copy()
    if "answers" in state:
        audit.answers = AnswerCounts.from_state(state["answers"])
    audit.milestones = [Milestone(*milestone) for milestone in state["milestones"]]
    for truth, guess, count in state["confusion"]:
        audit.confusion[int(truth), int(guess)] = int(count)
    audit.hardest.restore(state["hardest"])
    audit.uncertain.restore(state["doubtful"])
    audit.trust = [(int(at), [float(one) for one in shares]) for at, shares in state["trust"]]
    audit.sample.limit = int(state["limit"])
    return audit


def _is_consistent(audit: Audit, rows: np.ndarray, guesses: np.ndarray, margins: np.ndarray) -> bool:
    """Return whether an audit can have this state: later steps rely on it."""
    counts, sample = audit.counts, audit.sample
    numbers = [audit.items, audit.unlabelled, audit.novel, counts.trials, audit.history.step, sample.size]
    columns = len(counts.voted) + counts.first_expert
    return (
        min(numbers) >= 0
        and counts.trials + audit.unlabelled + audit.novel == audit.items
        and audit.history.step & (audit.history.step - 1) == 0 < audit.history.step
        and 0 < sample.limit <= ALL_KEYS
        and sample.size > 0
        and rows.shape == guesses.shape == margins.shape == (len(rows),)
        and len(rows) <= sample.size
        and bool((np.diff(rows, prepend=-1) > 0).all())
        and audit.losses.table.shape == (len(audit.losses.table), 5)
        and all(0 < items <= audit.items for items, _ in audit.history.snapshots)
        and counts.correct.shape == counts.both_correct.shape == (columns,)
        and counts.heard.shape == counts.voted.shape
        and counts.shared.shape == audit.compared_from.shared.shape == (2,)
        and audit.compared_from.trials <= counts.trials
        and len(audit.compared_from.correct) <= columns
        and bool((audit.class_counts.memory < len(audit.class_counts.true)).all())
        and all(one.correct.shape == one.both_correct.shape for _, one in audit.history.snapshots)
    )
