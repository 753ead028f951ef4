"""How a batch is cut into chunks: by the memory that they take, and by what is observed of them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from linmax.kernels.forms import Hard, Rows
from linmax.kernels.forms.votes import code_type
from linmax.kernels.structs import TRIALS

MAX_FROZEN = 1 << 18  # frozen votes in memory at once
MAX_SCORES = 1 << 21  # scores in memory at once
MAX_SCALED = 1 << 21  # standardised attributes in memory at once
MAX_GENERATED = 1 << 21  # generated votes in memory at once
MAX_CONVERTED = 1 << 22  # votes in memory at once whose codes have another type than kernels read
CHUNK = 1 << 18  # trials between two points at which a run can be interrupted or seen by other threads
CHUNK_VOTES, FEWEST = 1 << 22, 1 << 16  # votes in a chunk, if that leaves so many trials
ENSEMBLE_CHUNK = 1 << 14  # the same for ensembles, which take longer for a trial


def cut_batch(runner: Any, batch: Any, learn: bool, probabilities: bool) -> list[tuple[slice, bool]]:
    """Return the rows of each chunk of a batch, and whether the observer needs its scores.

    Parameters
    ----------
    runner
        The runner.
    batch
        The encoded batch.
    learn
        Whether it is learned.
    probabilities
        Whether its probabilities are wanted.
    """
    chunks = _by_memory(runner, batch)
    if learn and runner.changing:
        chunks = _by_changes(runner, batch, chunks)
    observer = runner.observer
    if observer is None or not (learn or probabilities or observer.decides):
        return [(rows, False) for rows in chunks]
    longest = max(64, MAX_SCORES // max(1, batch.classes_seen))
    has_scores = (
        probabilities or not runner.single_run
    )  # an ensemble has them anyway, and its chunks cost more
    found: list[tuple[slice, bool]] = observer.split(chunks, batch, has_scores, longest)
    return found


def _by_memory(runner: Any, batch: Any) -> list[slice]:
    chunk = min(CHUNK, max(FEWEST, CHUNK_VOTES // max(1, batch.experts_seen)))
    if not runner.single_run:
        scores = len(runner.predictors) * max(1, batch.classes_seen)
        most = MAX_SCORES if runner.whole_runs else 4 * MAX_SCORES  # a program stores those of a block only
        chunk = min(ENSEMBLE_CHUNK, max(64, most // scores))
    if batch.nominal is not None:
        columns = batch.nominal.codes.shape[1]
        chunk = max(1, min(chunk, MAX_FROZEN // max(1, columns * (columns - 1) // 2)))
    if isinstance(batch.votes, Hard) and batch.votes.codes.dtype != code_type(batch.classes_seen):
        chunk = min(chunk, max(64, MAX_CONVERTED // max(1, batch.votes.codes.shape[1])))
    if runner.scaling is not None:
        chunk = min(chunk, max(64, MAX_SCALED * batch.trials // max(1, _count_entries(batch.rows))))
    if runner.generators.sources:
        chunk = min(chunk, max(1, MAX_GENERATED // runner.generators.most_votes(batch.classes_seen)))
    if runner.stateful:
        chunk = min(chunk, *(sources.chunk_size(batch.classes_seen) for sources in runner.sources))
    owners = [*runner.rule_runs, *runner.predictors]
    chunk = min(chunk, *(owner.chunk_size(batch.votes, batch.classes_seen) for owner in owners))
    if batch.trials <= chunk:
        return [slice(0, batch.trials)]
    return [slice(begin, min(begin + chunk, batch.trials)) for begin in range(0, batch.trials, chunk)]


def _by_changes(runner: Any, batch: Any, chunks: list[slice]) -> list[slice]:
    """Return shorter chunks, so that members are replaced between two of them."""
    learned = int(runner.counts[TRIALS]) + np.cumsum(batch.labels >= 0)
    ends = {rows.stop for rows in chunks}
    for predictor in runner.changing:
        at = predictor.next_change(int(runner.counts[TRIALS]))
        while batch.trials and at <= learned[-1]:
            ends.add(int(np.searchsorted(learned, at)) + 1)
            at = predictor.next_change(at)
    return [slice(begin, end) for begin, end in pairwise(sorted({0, *ends}))] or chunks


def _count_entries(rows: Any) -> int:
    """Return how many attributes some rows list."""
    return int(rows.values.size if isinstance(rows, Rows) else len(rows.index))
