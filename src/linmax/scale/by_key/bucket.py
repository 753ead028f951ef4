"""The task of one bucket: a fusion for each of its keys learns the rows of the key, in their order."""

from __future__ import annotations

import copy
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linmax.evaluate.audit.counts import MistakeCounts
from linmax.evaluate.findings.verdict import MIN_COVERAGE
from linmax.evaluate.progressive import voted_classes
from linmax.evaluate.significance import wilson_interval
from linmax.fusion import Fusion
from linmax.fusion.model_file import from_bytes, to_bytes
from linmax.inputs.label_order import label_order
from linmax.inputs.numbers import ItemError
from linmax.scale.by_key.split import ROW_BITS, ROW_MASK, random_numbers, read_bucket, read_sample, sort_rows
from linmax.scale.by_key.store import STORED, read_columns, write_models
from linmax.scale.dataset import KEY, ROW, RowReader
from linmax.streams import Chunk

MAX_UNLABELLED = 1000
"""Different votes of a bucket for what is never a label that are reported."""


class BucketJob(NamedTuple):
    """A bucket, and what its keys have not learned yet.

    Attributes
    ----------
    bucket : int
        The number of the bucket.
    learned : int
        The partitions that its keys have learned, except those with an error.
    before : str or None
        The file of its models so far.
    target : str
        The file of its models afterwards.
    """

    bucket: int
    learned: int
    before: str | None
    target: str


class KeyedPlan(NamedTuple):
    """What the tasks of all buckets share.

    Attributes
    ----------
    reader : dict
        How rows are read: `RowReader.as_json`.
    learner : str or None
        The learner of each key; None is the recommended one.
    seed : int
        The seed of each session.
    buckets : int
        The number of buckets.
    paths : dict of int to str
        The split rows of each partition that some key has not learned.
    names : list of str
        The names of all partitions, for messages.
    prior : bytes or None
        The model from which each key starts.
    sampled : int
        Rows with a random number up to this one have been learned by the prior.
    """

    reader: dict[str, Any]
    learner: str | None
    seed: int
    buckets: int
    paths: dict[int, str]
    names: list[str]
    prior: bytes | None = None
    sampled: int = -1


class BucketResult(NamedTuple):
    """What a bucket has learned.

    Attributes
    ----------
    keys, items : int
        The keys of the bucket, and the rows that they have learned in this run.
    behind : int or None
        The fewest partitions that a key with an error has learned.
    errors : list of (str, str)
        The keys with an error, and a sentence on each.
    sorted : int
        The rows of this run whose key has learned rows that are sorted by label.
    votes : int
        The votes of this run.
    unlabelled : dict of str to int
        The most frequent votes of this run for what is no label of any key of the bucket.
    labels : frozenset of str
        The labels of the keys that have learned.
    """

    keys: int
    items: int
    behind: int | None
    errors: list[tuple[str, str]]
    sorted: int
    votes: int
    unlabelled: dict[str, int]
    labels: frozenset[str]


def learn_bucket(job: BucketJob, plan: KeyedPlan) -> BucketResult:
    """Let the keys of a bucket learn their rows, and write their models to a new file.

    The result depends on the files only: a task that is repeated, here or elsewhere, gives the same models.

    Parameters
    ----------
    job, plan
        The bucket, and what it shares with the others.
    """
    stored = {} if job.before is None else {row["key"]: row for row in read_columns(job.before).to_pylist()}
    reader, prior = RowReader.from_json(plan.reader), None if plan.prior is None else from_bytes(plan.prior)
    table = read_bucket([plan.paths[i] for i in sorted(plan.paths)], job.bucket, plan.buckets)
    items = in_order = 0
    votes, labels = Counter[str](), set(map(str, plan.reader["classes"]))
    if table is not None:
        table, keys, starts = sort_rows(_new_rows(table, stored, job.learned, plan))
        whole = _whole_chunk(reader, table)
        for key, (start, stop) in zip(keys, pairwise(starts.tolist()), strict=True):
            before = stored.get(key)
            state = _KeyState(key, before, plan, prior)
            error = _learn_key(state, reader, table, whole, start, stop, plan.names)
            if error is not None:
                was = job.learned if before is None or before["behind"] is None else before["behind"]
                stored[key] = {**(before or _KeyState.empty(key)), "error": error, "behind": was}
                continue
            stored[key] = state.row()
            items += stop - start
            in_order += (stop - start) * state.sorted
            votes.update(state.votes)
            labels.update(state.labels)
    write_models(Path(job.target), list(stored.values()))
    errors = [(key, row["error"]) for key, row in stored.items() if row["error"] is not None]
    behind = min((row["behind"] for row in stored.values() if row["behind"] is not None), default=None)
    unlabelled = Counter({name: count for name, count in votes.items() if name not in labels})
    return BucketResult(
        len(stored), items, behind, errors, in_order, votes.total(),
        dict(unlabelled.most_common(MAX_UNLABELLED)), frozenset(labels),
    )  # fmt: skip


def learn_prior(target: str, paths: list[str], limit: int, plan: KeyedPlan) -> None:
    """Let one fusion learn the sampled rows of all keys, in the order of times or of partitions.

    Parameters
    ----------
    target
        The file for the model.
    paths, limit
        The split partitions, and the largest random number of a sampled row.
    plan
        How rows are read and learned.
    """
    table = read_sample(paths, limit)
    one_key = pa.array(np.zeros(len(table), np.int64)).cast(pa.string())
    table = table.set_column(table.schema.get_field_index(KEY), KEY, one_key)
    table, _, _ = sort_rows(table)
    fusion = Fusion(plan.learner, seed=plan.seed)
    chunk = RowReader.from_json(plan.reader).chunk(_with_lines(table), "the sample")
    fusion.learn(chunk.votes, _labels(chunk), attributes=chunk.attributes)
    fusion.save(target)


def _new_rows(table: Any, stored: dict[str, Any], learned: int, plan: KeyedPlan) -> Any:
    """Return the rows that their keys have not learned."""
    row = table.column(ROW).to_numpy()
    partition = row >> ROW_BITS
    wanted = partition >= learned
    behind = {key: one["behind"] for key, one in stored.items() if one["behind"] is not None}
    if behind:
        keys = pa.array(list(behind))
        at = pc.fill_null(pc.index_in(table.column(KEY), keys), -1).to_numpy()
        limits = np.array([*behind.values(), learned], np.int64)
        wanted = partition >= limits[at]
    if plan.sampled >= 0:
        wanted &= random_numbers(table) > np.uint64(plan.sampled)
    return table if wanted.all() else table.filter(pa.array(wanted))


def _whole_chunk(reader: RowReader, table: Any) -> Chunk | None:
    """Return the items of all keys; None if a cell is bad: then each key is read alone."""
    try:
        return reader.chunk(_with_lines(table))
    except ValueError:
        return None


def _learn_key(
    state: _KeyState,
    reader: RowReader,
    table: Any,
    whole: Chunk | None,
    start: int,
    stop: int,
    names: list[str],
) -> str | None:
    """Let a key learn its rows; return why it cannot, or None."""
    try:
        chunk = _key_chunk(reader, table, whole, start, stop, names)
    except ValueError as error:
        return str(error)
    try:
        state.learn(chunk)
    except ItemError as error:
        row = table.column(ROW)[start + int(error.item)].as_py()
        return f"{names[row >> ROW_BITS]}, row {row & ROW_MASK}: {error.reason}"
    except ValueError as error:
        return str(error)
    return None


def _key_chunk(
    reader: RowReader, table: Any, whole: Chunk | None, start: int, stop: int, names: list[str]
) -> Chunk:
    if whole is not None:
        return whole.slice(start, stop)
    rows = table.slice(start, stop - start)
    partition = rows.column(ROW).to_numpy() >> ROW_BITS
    for number in np.unique(partition).tolist():  # an error names the partition
        reader.chunk(_with_lines(rows.filter(pa.array(partition == number))), names[number])
    return reader.chunk(_with_lines(rows))


def _with_lines(table: Any) -> Any:
    """Return a table whose rows are counted in their partition."""
    lines = pc.bit_wise_and(table.column(ROW), ROW_MASK)
    return table.set_column(table.schema.get_field_index(ROW), ROW, lines)


def _labels(chunk: Chunk) -> Any:
    return np.full(chunk.items, None, object) if chunk.labels is None else chunk.labels


class _KeyState:
    """The session of a key and its counts, as they are stored in a row."""

    def __init__(
        self, key: str, before: dict[str, Any] | None, plan: KeyedPlan, prior: Fusion | None
    ) -> None:
        self.key, self.items, self.novel, self.sorted = key, 0, 0, False
        self.counts, self.labels, self.votes = MistakeCounts(), dict[str, int](), dict[str, int]()
        if before is not None and before["model"] is not None:
            self.fusion = from_bytes(before["model"], f"the model of {key!r}")
            self.items, self.novel = before["items"], before["novel"]
            state = json.loads(before["counts"])
            self.counts, self.labels = MistakeCounts.from_state(state["mistakes"]), state["labels"]
        elif prior is not None:
            self.fusion = copy.copy(prior)
        else:
            self.fusion = Fusion(plan.learner, seed=plan.seed)

    @staticmethod
    def empty(key: str) -> dict[str, Any]:
        """The row of a key that has learned nothing."""
        row: dict[str, Any] = dict.fromkeys(STORED.names)
        return {**row, "key": key, "items": 0, "trials": 0, "novel": 0, "mistakes": 0}

    def learn(self, chunk: Chunk) -> None:
        """Learn items, count who was correct, and note whether the items are sorted by label."""
        batch = self.fusion.read(chunk.votes, _labels(chunk), attributes=chunk.attributes)
        codes = self.fusion.learn_batch(batch).codes
        truth = batch.labels
        self.sorted = label_order(truth[truth >= 0]).sorted
        voted = voted_classes(batch)
        self.counts.add(voted, truth, batch.known, codes, batch.classes_seen)
        self.items += chunk.items
        self.novel += int((truth >= batch.known).sum())
        names = self.fusion.classes
        for own, found in ((self.labels, truth), (self.votes, voted)):
            for code, count in enumerate(np.bincount(found[(found >= 0) & (found < len(names))]).tolist()):
                if count:
                    own[str(names[code])] = own.get(str(names[code]), 0) + count

    def row(self) -> dict[str, Any]:
        """Return what is stored."""
        counts, trials = self.counts, self.counts.trials
        row = self.empty(self.key)
        row |= {"items": self.items, "trials": trials, "novel": self.novel}
        row |= {"mistakes": int(counts.mistakes[0]), "model": to_bytes(self.fusion)}
        row["counts"] = json.dumps({"mistakes": counts.state(), "labels": self.labels})
        if trials:
            accuracy = float(counts.correct[0]) / trials
            low, high = wilson_interval(accuracy, trials)
            row |= {"accuracy": accuracy, "accuracy_low": float(low), "accuracy_high": float(high)}
            row["plurality"] = float(counts.shared[0]) / trials if len(counts.voted) else None
            best = counts.best_where_it_votes(MIN_COVERAGE) if len(counts.voted) else None
            if best is not None:
                row["best_expert"] = str(self.fusion.experts[best])
                row["best_expert_accuracy"] = float(
                    counts.correct[counts.first_expert + best] / counts.voted[best]
                )
        if self.labels:
            row["most_frequent_class"] = max(self.labels, key=self.labels.__getitem__)
            row["most_frequent_share"] = max(self.labels.values()) / sum(self.labels.values())
        return row
