"""What commands doubt at the end of a stream, when all of its labels, votes and ids are known."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from linmax import inputs
from linmax.evaluate.audit.audit import Audit
from linmax.evaluate.audit.sample import SAMPLE_SIZE, Sample, SampleRows
from linmax.evaluate.metrics import ClassCounts
from linmax.evaluate.progressive import voted_classes
from linmax.fusion import Fusion
from linmax.inputs import Names
from linmax.panels.panel import Panel
from linmax.panels.panel_warnings import labels_never_voted, quantities, votes_below_chance
from linmax.panels.roles.classes import MIN_LABELS
from linmax.panels.roles.wide.ids import repeated_ids
from linmax.panels.roles.wide.several_labels import several_labels
from linmax.streams.chunk import Chunk
from linmax.streams.repeated_ids import RepeatedIds
from linmax.streams.schema import short_list, short_repr
from linmax.validation import DataWarning

MIN_UNLABELLED, MAX_UNLABELLED = 0.01, 0.05
"""Shares of votes for classes that are never a label: those that are noted, and those that are grave."""


class StreamedVotes:
    """Counts the votes and labels of a stream as an `Audit` does, for commands that have none.

    Parameters
    ----------
    panel : Panel
        The stream; nothing is counted if it is in memory, where nothing is late.
    """

    def __init__(self, panel: Panel) -> None:
        self.panel, self.names, self.ids = panel, Names(), RepeatedIds(panel.options.missing)
        self.class_counts, self.sample, self.items = ClassCounts(), Sample(), 0

    @property
    def classes(self) -> list[Any]:
        """All classes so far."""
        return self.names.classes.names

    @property
    def experts(self) -> list[Any]:
        """All experts so far."""
        return self.names.experts.names

    def watch(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield chunks as they are, and count them."""
        for chunk in chunks if self.panel.complete else self.ids.watch(chunks):
            if not self.panel.complete and chunk.votes is not None:
                self._count(chunk)
            yield chunk

    def doubts(self) -> list[DataWarning]:
        """What all rows that were read tell of labels and votes."""
        return find_late_doubts(self.panel, self, self, self.ids)

    def _count(self, chunk: Chunk) -> None:
        labels = np.full(chunk.items, None, object) if chunk.labels is None else chunk.labels
        batch = inputs.read(chunk.votes, labels, None, self.names, needs=frozenset({"votes"}))
        self.names.classes.extend(batch.new_classes)
        self.names.experts.extend(batch.new_experts)
        votes, truth, nobody = voted_classes(batch), batch.labels, np.full(chunk.items, -1, np.int32)
        self.class_counts.add(votes, truth, batch.known, nobody, self.classes)
        at = np.flatnonzero(
            self.sample.selects(self.items, chunk.items) & (truth >= 0) & (truth < batch.known)
        )
        row = np.arange(self.items, self.items + chunk.items)
        self.sample.add(SampleRows(row, truth, nobody, np.zeros(chunk.items), votes, chunk).take(at))
        self.items += chunk.items


def find_late_doubts(
    panel: Panel, audit: Audit | StreamedVotes, fusion: Fusion | StreamedVotes, ids: RepeatedIds
) -> list[DataWarning]:
    """What only all rows of a stream tell of its labels and votes; nothing if the file was in memory.

    What the first rows have told before is not told again, unless it is grave now.
    """
    if panel.complete:
        return []
    known = {(one.code, one.severity) for one in panel.warnings}
    known |= {(code, "note") for code, severity in known if severity == "grave"}
    labels, names = audit.class_counts.labels, fusion.classes
    counts = {names[code]: int(labels[code]) for code in np.flatnonzero(labels).tolist()}
    several = several_labels(counts, panel.reading.column("label") or "the label")
    found = [
        *_find_unlabelled_classes(panel, audit, fusion),
        *_find_unvoted_labels(panel, audit, fusion),
        *([] if several is None else [several]),
        *_find_repeated_ids(panel, ids.count()),
        *_find_other_codes(panel, audit, fusion),
        *_find_quantities(audit, fusion),
    ]
    return [one for one in found if (one.code, one.severity) not in known] + panel.late_warnings()


def _find_repeated_ids(panel: Panel, repeated: int) -> list[DataWarning]:
    id = panel.reading.column("id")
    if not repeated or id is None or panel.reading.shape == "long":
        return []
    return [repeated_ids(repeated, id, panel.file)]


def _find_other_codes(
    panel: Panel, audit: Audit | StreamedVotes, fusion: Fusion | StreamedVotes
) -> list[DataWarning]:
    """Warn about experts of a stream who vote for the label on fewer items than by chance."""
    scoring = {str(one.expert) for one in panel.reading.columns("score")}
    counted = {
        str(expert): (labels, votes, int(right.sum()))
        for expert, (labels, votes, right) in zip(fusion.experts, audit.class_counts.experts, strict=False)
        if str(expert) not in scoring
    }
    return [*votes_below_chance(counted)]


def _find_quantities(audit: Audit | StreamedVotes, fusion: Fusion | StreamedVotes) -> list[DataWarning]:
    """Warn about labels of a stream that are quantities, by an even sample of its rows."""
    codes, labels = audit.sample.latest(SAMPLE_SIZE)
    votes = {}
    for expert, column in zip(fusion.experts, codes.T.astype(np.int64), strict=False):
        at = np.flatnonzero(column >= 0)
        votes[expert] = at, column[at]
    return [*quantities(fusion.classes, votes, labels.astype(np.int64))] if votes else []


def _find_unvoted_labels(
    panel: Panel, audit: Audit | StreamedVotes, fusion: Fusion | StreamedVotes
) -> list[DataWarning]:
    """Warn about labels of a stream that no expert has voted for."""
    counts, names = audit.class_counts, fusion.classes
    scores = panel.reading.columns("score")
    if not len(counts.experts) or (scores and panel.reading.shape == "long"):
        return []
    labels, scored = counts.labels, {str(panel.classes.find(one.label)) for one in scores}
    votes = np.pad(counts.experts[:, 1].sum(axis=0), (0, len(labels) - counts.experts.shape[2]))
    never = [
        code
        for code in np.flatnonzero((labels > 0) & (votes == 0)).tolist()
        if str(names[code]) not in scored
    ]
    if not never:
        return []
    return [labels_never_voted(int(labels[never].sum()), int(labels.sum()), [names[code] for code in never])]


def _find_unlabelled_classes(
    panel: Panel, audit: Audit | StreamedVotes, fusion: Fusion | StreamedVotes
) -> list[DataWarning]:
    """Warn about classes of a stream that are voted for and never a label, such as refusals.

    Where the whole file is read before, such votes abstain, and the user was told.
    """
    counts, names = audit.class_counts, fusion.classes
    if not len(counts.experts):
        return []
    votes, labels = counts.experts[:, 1].sum(axis=0), counts.labels
    never = np.flatnonzero((votes > 0) & (labels[: len(votes)] == 0))
    share = float(votes[never].sum() / max(votes.sum(), 1))
    if share < MIN_UNLABELLED:
        return []
    grave = share > MAX_UNLABELLED and labels.sum() >= MIN_LABELS
    shown = short_list((short_repr(names[code]) for code in never.tolist()), 3)
    sentence = (
        f"{int(votes[never].sum()):,} votes ({share:.0%}) are for {shown}, never a label; in a stream they"
        f" count as a class: if they abstain, pass --missing {shlex.quote(str(names[never[0]]))}"
    )
    return [DataWarning("votes-never-labels", "grave" if grave else "note", sentence)]
