"""One run into a store of models by key: which files are split, which buckets learn, and what is kept."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from linmax.scale.by_key.bucket import BucketJob, BucketResult, KeyedPlan, learn_bucket, learn_prior
from linmax.scale.by_key.split import SplitJob, split_partition
from linmax.scale.by_key.store import PRIOR, write_manifest, write_results
from linmax.scale.dataset import describe_key, key_columns
from linmax.scale.engine import Engine, WorkerError, gather_all
from linmax.scale.partition import Partition
from linmax.streams import StreamError
from linmax.streams.schema import short_list, short_repr

OnProgress = Callable[[str, int, int], None]
MIN_UNLABELLED = 0.01
"""The smallest share of votes for what is never a label that is noted."""
MAX_SORTED = 0.2
"""The largest share of items of keys whose rows are sorted by label; a few rows are by chance."""


class KeyedRun:
    """One run into a store: split what is new, then learn it bucket by bucket.

    Parameters
    ----------
    folder, manifest
        The folder of the store, and its manifest, which is written as the run goes on.
    engine
        What runs the tasks.
    on_progress
        Called with "split" or "learn", the number of finished tasks and their number.

    Attributes
    ----------
    items, without_key : int
        The rows that this run has learned, and those without a key.
    notes, problems : list of str
        What the user should know, and what went wrong, a sentence each.
    """

    def __init__(
        self,
        folder: Path,
        manifest: dict[str, Any],
        engine: Engine,
        on_progress: OnProgress,
    ) -> None:
        self.folder = Path(os.path.abspath(folder))  # workers may be in another one
        self.manifest, self.engine = manifest, engine
        self.on_progress = on_progress
        self.items = self.without_key = 0
        self.notes: list[str] = []
        self.problems: list[str] = []
        self.spill = folder / manifest.get("spill", "split")

    def split(self, dataset: list[Partition]) -> None:
        """Split the partitions that are new, and those that some keys have still to learn."""
        entries = self.manifest["partitions"]
        now = {one.place: one._replace(path=one.place) for one in dataset}
        self._find_moved(now)
        known = {_place(entry): number for number, entry in enumerate(entries) if entry["path"] is not None}
        for place, number in known.items():
            if place in now:
                self._check_unchanged(entries[number], now[place])
        missing = self._first_missing()
        jobs = [
            SplitJob(number, Partition(entry["path"], entry["name"], _pairs(entry)), self._target(number))
            for number, entry in enumerate(entries)
            if number >= missing and entry["path"] is not None and not os.path.exists(self._target(number))
        ]
        old = len(jobs)
        new = [one for place, one in now.items() if place not in known]
        jobs += [SplitJob(i, one, self._target(i)) for i, one in enumerate(new, len(entries))]
        if not jobs:
            return
        self.spill.mkdir(parents=True, exist_ok=True)
        sampled = self.manifest["pooled"] if self.manifest["sampled"] < 0 else 0
        shared = (self.manifest["reader"], self.manifest["buckets"], sampled)
        results = self._gather("split", self.engine.map(split_partition, jobs, *shared))
        for result in results:  # such as that of a killed worker: the files are not to blame
            if isinstance(result, WorkerError):
                raise WorkerError(f"{result}; nothing new was learned: run again")
        for job, result in zip(jobs, results, strict=True):
            if isinstance(result, Exception):
                self.problems.append(name_partition(result, job.partition.name))
        found = any(entry["path"] is not None for entry in entries)
        found |= any(not isinstance(result, Exception) for result in results)
        if any(isinstance(result, Exception) for result in results[:old]) or not found:
            raise ValueError(self.problems[0])
        if sampled:
            self._check_sample(entries, results)
        latest = max((one["latest"] for one in entries if one.get("latest") is not None), default=None)
        for job, result in zip(jobs[old:], results[old:], strict=True):
            self._accept(job, result, latest)
        write_manifest(self.folder, self.manifest)

    def _accept(self, job: SplitJob, result: Any, latest: Any) -> None:
        """Add a new partition to the manifest; one that cannot be read gets another number once it can."""
        if isinstance(result, Exception):
            self.manifest["partitions"].append({"path": None, "name": job.partition.name, "lowest": []})
            return
        self.without_key += result.without_key
        if latest is not None and result.earliest is not None and result.earliest < latest:
            self.notes.append(
                f"{job.partition.name} has rows from {result.earliest}, before the last that were learned"
                f" ({latest}): they are learned after those"
            )
        self.manifest["partitions"].append({**job.partition._asdict(), **result._asdict()})

    def _find_moved(self, now: dict[str, Partition]) -> None:
        """Learn nothing twice: a file that is elsewhere now is known by its content.

        One in the folder of another key is another one: the path says which rows it has.
        """
        entries = self.manifest["partitions"]
        gone = [one for one in entries if one["path"] is not None and _place(one) not in now]
        known = {_place(one) for one in entries if one["path"] is not None}
        for place, partition in now.items():
            if place in known:
                continue
            with contextlib.suppress(OSError, StreamError):  # what cannot be read is reported later
                stamp = partition.stamp()
                alike = [
                    one
                    for one in gone
                    if one["rows"] and one["stamp"][0] == stamp[0] and _pairs(one) == partition.values
                ]
                digest = partition.digest() if alike else None
                for entry in [one for one in alike if one["digest"] == digest][:1]:
                    self.notes.append(
                        f"{partition.name} has the content of {entry['path']}, which was learned, and is"
                        " taken for the same file at another place"
                    )
                    entry |= {**partition._asdict(), "stamp": stamp}
                    gone.remove(entry)
                    write_manifest(self.folder, self.manifest)

    def _check_sample(self, entries: list[dict[str, Any]], results: list[Any]) -> None:
        """Refuse a prior that would leave nothing for the keys."""
        found = [one["rows"] for one in entries if one["path"] is not None]
        rows = sum(found) + sum(one.rows for one in results if not isinstance(one, Exception))
        if rows <= self.manifest["pooled"]:
            shutil.rmtree(self.spill, ignore_errors=True)
            raise ValueError(
                f"pooled {self.manifest['pooled']:,} takes all {rows:,} items, and leaves none for the keys;"
                " use fewer"
            )

    def _check_unchanged(self, entry: dict[str, Any], partition: Partition) -> None:
        with contextlib.suppress(OSError):
            stamp = partition.stamp()
            if stamp == entry["stamp"]:
                return
            if partition.digest() == entry["digest"]:
                entry["stamp"] = stamp
                return
        raise ValueError(
            f"{entry['name']} has changed since it was learned; restore it, or relearn to begin again"
        )

    def _first_missing(self) -> int:
        """Return the first partition that some key has not learned."""
        behind = [one for one in self.manifest["behind"] if one is not None]
        return int(min([*self.manifest["learned"], *behind]))

    def _target(self, number: int) -> str:
        return str(self.spill / f"{number:06}.arrow")

    def learn(self) -> None:
        """Let all buckets learn what they have not learned."""
        manifest, total = self.manifest, len(self.manifest["partitions"])
        missing = self._first_missing()
        paths = {
            number: self._target(number)
            for number in range(missing, total)
            if manifest["partitions"][number]["path"] is not None
        }
        todo = [b for b in range(manifest["buckets"]) if self._is_behind(b, total)]
        if not todo:
            self._finish()
            return
        manifest["run"] += 1
        plan = KeyedPlan(
            manifest["reader"], manifest["learner"], manifest["seed"], manifest["buckets"], paths,
            [entry["name"] for entry in manifest["partitions"]],
        )  # fmt: skip
        plan = self._with_prior(plan)
        jobs = [
            BucketJob(
                bucket, manifest["learned"][bucket], self._models(manifest["files"][bucket]),
                str(self.folder / f"models-{bucket:05}-{manifest['run']}.parquet"),
            )
            for bucket in todo
        ]  # fmt: skip

        def finished(place: int, result: Any) -> None:
            if isinstance(result, Exception):
                return
            bucket = jobs[place].bucket
            manifest["files"][bucket] = Path(jobs[place].target).name
            manifest["learned"][bucket], manifest["behind"][bucket] = total, result.behind
            self.items += result.items
            write_manifest(self.folder, manifest)

        results = self._gather("learn", self.engine.map(learn_bucket, jobs, plan), finished)
        failed = Counter(str(result) for result in results if isinstance(result, Exception))
        for reason, count in failed.items():
            self.problems.append(f"{count} of {len(jobs)} buckets of keys were not learned: {reason}")
        by = key_columns(manifest["reader"]["by"])
        learned = [result for result in results if not isinstance(result, Exception)]
        for result in learned:
            self.problems += [f"{describe_key(by, key)}: {reason}" for key, reason in result.errors]
        in_order = sum(result.sorted for result in learned)
        if in_order > MAX_SORTED * self.items:
            self.notes.append(
                f"{in_order:,} of {self.items:,} items are of keys whose rows are sorted by label, so their"
                " figures mean little; shuffle the rows, or order them by time"
            )
        self.notes += _unlabelled_votes(learned)
        self._finish()

    def _with_prior(self, plan: KeyedPlan) -> KeyedPlan:
        manifest, path = self.manifest, self.folder / PRIOR
        if not manifest["pooled"]:
            return plan
        if manifest["sampled"] < 0 and plan.paths:
            lowest = sorted(number for entry in manifest["partitions"] for number in entry["lowest"])
            limit = lowest[: manifest["pooled"]][-1]
            future = self.engine.submit(learn_prior, str(path), list(plan.paths.values()), limit, plan)
            self.engine.gather([future])
            manifest["sampled"] = limit
            for entry in manifest["partitions"]:
                entry["lowest"] = []
            write_manifest(self.folder, manifest)
        return plan._replace(prior=path.read_bytes(), sampled=manifest["sampled"])

    def _is_behind(self, bucket: int, total: int) -> bool:
        return self.manifest["learned"][bucket] < total or self.manifest["behind"][bucket] is not None

    def _models(self, name: str | None) -> str | None:
        return None if name is None else str(self.folder / name)

    def _gather(
        self, what: str, futures: list[Any], finished: Callable[[int, Any], None] | None = None
    ) -> list[Any]:
        self.on_progress(what, 0, len(futures))
        return gather_all(self.engine, futures, partial(self.on_progress, what), finished)

    def _finish(self) -> None:
        """Write the results, and remove what no longer belongs to the store."""
        write_results(self.folder, self.manifest)
        for folder in (self.spill, *self.folder.glob("split-????????")):  # of runs that began again, too
            shutil.rmtree(folder, ignore_errors=True)
        if not self.manifest["pooled"]:
            (self.folder / PRIOR).unlink(missing_ok=True)
        kept = set(self.manifest["files"])
        for path in self.folder.glob("models-*.parquet"):
            if path.name not in kept:
                path.unlink(missing_ok=True)


def _unlabelled_votes(results: list[BucketResult]) -> list[str]:
    """Return a note on votes for what is never a label, such as refusals: they count as classes."""
    labels = frozenset[str]().union(*(one.labels for one in results))
    found = Counter[str]()
    for one in results:
        found.update({name: count for name, count in one.unlabelled.items() if name not in labels})
    share = found.total() / max(1, sum(one.votes for one in results))
    if share < MIN_UNLABELLED:
        return []
    most = [name for name, _ in found.most_common(4)]
    shown = short_list(map(short_repr, most), 3)
    return [
        f"{found.total():,} votes ({share:.0%}) are for {shown}, never a label; they count as classes: if"
        f" they abstain, pass --missing {shlex.quote(most[0])}"
    ]


def _place(entry: dict[str, Any]) -> str:
    """Return where the file of an entry is, whatever the current folder is."""
    return Partition(entry["path"], entry["name"]).place


def _pairs(entry: dict[str, Any]) -> tuple[tuple[str, str | None], ...]:
    return tuple((name, value) for name, value in entry["values"])


def name_partition(error: Exception, partition: str) -> str:
    """Return a sentence that names a partition, by an error that may do so already.

    Parameters
    ----------
    error, partition
        The error, and the name of the partition.

    Examples
    --------
    >>> name_partition(OSError(28, "No space left on device"), "part-0.csv")
    'part-0.csv: there is no space left for what is made of it; free some'
    """
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{partition}: there is no space left for what is made of it; free some"
    reason = str(error)
    return reason if os.path.basename(partition) in reason else f"{partition}: {reason}"
