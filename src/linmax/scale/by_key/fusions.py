"""`keyed`: one fusion per key of a data set."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from linmax._files import lock_file, unlock_file
from linmax.fusion import Fusion
from linmax.panels.roles.column_role import PanelOptions
from linmax.scale.by_key.run import KeyedRun, OnProgress
from linmax.scale.by_key.store import FORMAT, RESULT, VERSION, KeyedModels, read_manifest
from linmax.scale.dataset import RowReader, given_options, key_columns
from linmax.scale.engine import open_engine
from linmax.scale.partition import Partition, list_partitions
from linmax.spec import Learner, parse
from linmax.streams import StreamError
from linmax.validation import check_integer, count_noun, require

BUCKET_BYTES = 32 << 20
"""Bytes of the files of a data set that go into one bucket."""
BUCKETS_PER_WORKER, MAX_BUCKETS = 4, 4096
POOLED = 1000
"""Items of the prior if `pooled` is True."""


class KeyedResult(NamedTuple):
    """What `keyed` has learned.

    Attributes
    ----------
    models : KeyedModels
        The models of all keys; `models.table()` has the results.
    keys, items : int
        The keys with a model, and the rows that this run has learned.
    without_key : int
        The rows of this run that have no key, and are left out.
    notes : list of str
        A sentence for each new partition with rows from before the last that were learned.
    problems : list of str
        A sentence for each partition that could not be read, and for each key that could not learn. Once a
        partition is fixed, run again with ``resume=True``. The rows of a key are in files that others have
        learned: after these are fixed, ``relearn=True`` begins again.
    """

    models: KeyedModels
    keys: int
    items: int
    without_key: int
    notes: list[str]
    problems: list[str]


def keyed(
    dataset: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    by: str | Sequence[str],
    store: str | os.PathLike[str],
    learner: Learner | str | None = None,
    time: str | None = None,
    seed: int = 0,
    pooled: bool | int = False,
    buckets: int | None = None,
    resume: bool = False,
    relearn: bool = False,
    cluster: Any = None,
    workers: int | None = None,
    on_progress: OnProgress | None = None,
    **columns: Any,
) -> KeyedResult:
    """Learn one fusion per key of a data set, on several cores or machines.

    The rows are split by a hash of their key into buckets on disk, a batch at a time. Then each bucket is a
    task: its rows are sorted by key and time, and the session of each key learns its rows in this order. The
    sessions are, bit for bit, those of a loop ``Fusion(learner).learn(...)`` over the rows of each key.

    Parameters
    ----------
    dataset
        A folder, a file or a pattern, or several of them; also remote ones such as ``s3://bucket/votes``. The
        files are Parquet, CSV, JSONL or Arrow, with a row per item; all have the same columns.
    by
        The column of keys, such as "customer", or several: ``["customer", "topic"]``. A folder
        ``customer=c7`` gives one, too.
    store
        The folder for the models and the results. All workers must see it under this path.
    learner
        The learner of each key; by default the recommended one.
    time
        The column that orders the rows of a key: numbers or dates. By default the order is that of the files,
        and of the rows in them.
    seed
        The seed of each session.
    pooled
        The number of items, drawn from all keys, that one model learns before; every key then starts from a
        copy of it, and these items are not learned again. True is 1000. A larger number ties the keys closer
        to their common model. There must be more items than that.
    buckets
        The number of buckets, at most 4096, by default one per 32 MB of files, and at least 4 per worker. A
        bucket is in the memory of one worker at a time.
    resume
        Learn what is new since the last run into this store, or go on with one that was stopped.
    relearn
        Begin again, and replace the models that are in the store; they stay if the files cannot be split.
    cluster, workers
        Where the tasks run: see `open_engine`.
    on_progress
        Called with "split" or "learn", the number of finished tasks and their number.
    **columns
        The roles of columns, where they are not inferred: ``label``, ``experts``, ``attributes``, ``ignore``,
        ``classes``, ``missing`` and ``encoding``, as in `linmax.panels`. A run that is resumed has those of
        the first one.

    Returns
    -------
    KeyedResult

    Raises
    ------
    ValueError
        If the store has models and neither `resume` nor `relearn` is given, if a learned file has changed,
        or if no file can be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from linmax.scale import keyed
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for part in range(2):
    ...     rows = "".join(f"c{i % 5},{'ab'[i % 2]},{'ab'[i % 3 % 2]},{'ab'[i % 2]}\\n" for i in range(100))
    ...     _ = (folder / f"part-{part}.csv").write_text("customer,ann,bob,truth\\n" + rows)
    >>> result = keyed(folder, by="customer", store=folder / "_models", learner="Winnow(1.5)", workers=1)
    >>> result.keys, result.items, result.models["c3"].experts
    (5, 200, ['ann', 'bob'])
    """
    folder = Path(store)
    pooled = POOLED if pooled is True else 0 if pooled is False else pooled
    check_integer("keyed", "pooled", pooled, 0)
    check_integer("keyed", "seed", seed, 0)
    if buckets is not None:
        check_integer("keyed", "buckets", buckets, 1)
        require(
            buckets <= MAX_BUCKETS,
            f"keyed requires at most {MAX_BUCKETS:,} buckets (got {buckets:,}); leave it out, or use fewer",
        )
    keys = key_columns(by)
    for name in keys if len(keys) > 1 else ():
        require(
            name not in RESULT.names,
            f"the table of results has a column {name!r}, too; rename that of the data set",
        )
    if resume and relearn:
        raise ValueError("resume and relearn exclude each other; pass one of them")
    parsed: Learner | None = parse(learner) if isinstance(learner, str) else learner
    options = PanelOptions.from_keywords("keyed", columns)
    partitions = list_partitions(dataset, outside=folder)
    with _locked(folder):
        manifest = read_manifest(folder)
        old, manifest = (manifest, None) if relearn else (None, manifest)
        if manifest is not None and not resume:
            raise ValueError(
                f"{folder} has models already; resume to learn what is new, or relearn to begin again"
            )
        with open_engine(cluster, workers) as engine:
            wanted: dict[str, Any] = {"by": keys[0] if len(keys) == 1 else list(keys), "time": time}
            wanted |= {"seed": seed, "pooled": pooled, "columns": given_options(options)}
            doubts: tuple[str, ...] = ()
            if manifest is None:
                reader = _infer(partitions, options, keys, time)
                doubts = reader.doubts
                count = buckets or _count_buckets(partitions, engine.workers)
                manifest = _new_manifest(reader, parsed, wanted, count)
                if old is not None:  # which stays until all is split: its files are not overwritten
                    manifest |= {"run": old["run"], "spill": f"split-{secrets.token_hex(4)}"}
            else:
                _check_same(manifest, parsed, wanted, folder)
            run = KeyedRun(folder, manifest, engine, on_progress or (lambda what, done, total: None))
            run.split(partitions)
            run.learn()
    models = KeyedModels(folder)
    notes = [f"in the first rows, {doubt}" for doubt in doubts] + run.notes + _equal_numbers(set(models))
    return KeyedResult(models, len(models), run.items, run.without_key, notes, run.problems)


def _equal_numbers(keys: set[Any]) -> list[str]:
    """Return a note if keys such as 1 and 1.0 have models of their own."""
    twice = sorted(key for key in keys if isinstance(key, str) and f"{key}.0" in keys)
    if not twice:
        return []
    one = twice[0]
    return [
        f"{count_noun(len(twice), 'key')} can be read with .0 at the end, too: {one!r} and {one + '.0'!r}"
        " have models of their own; write the column in one way if they are the same"
    ]


def _infer(
    partitions: list[Partition], options: PanelOptions, by: tuple[str, ...], time: str | None
) -> RowReader:
    """Return how rows are read, by the first partition that can be read."""
    first: StreamError | None = None
    for partition in partitions:
        try:
            return RowReader.infer(partition, options, by, time)
        except StreamError as error:
            first = first or error
    assert first is not None
    raise first


def _count_buckets(partitions: list[Partition], workers: int) -> int:
    size = 0
    for partition in partitions:
        with contextlib.suppress(OSError):
            size += int(partition.stamp()[0] or 0)
    return min(max(-(-size // BUCKET_BYTES), BUCKETS_PER_WORKER * workers), MAX_BUCKETS)


def _new_manifest(
    reader: RowReader, learner: Learner | None, wanted: dict[str, Any], buckets: int
) -> dict[str, Any]:
    Fusion(learner)  # refuses what is not a learner
    return {
        "format": FORMAT,
        "version": VERSION,
        "learner": None if learner is None else repr(learner),
        "reader": reader.as_json(),
        "seed": wanted["seed"],
        "pooled": wanted["pooled"],
        "columns": wanted["columns"],
        "sampled": -1,
        "run": 0,
        "buckets": buckets,
        "partitions": [],
        "files": [None] * buckets,
        "learned": [0] * buckets,
        "behind": [None] * buckets,
    }


def _check_same(
    manifest: dict[str, Any], learner: Learner | None, wanted: dict[str, Any], folder: Path
) -> None:
    """Refuse to go on with other settings than those of the store."""
    stored = {name: manifest["reader"].get(name, manifest.get(name)) for name in wanted}
    given = dict(wanted)
    columns = stored.pop("columns")
    for name, value in given.pop("columns").items():  # the others are those of the first run
        if columns is not None:  # earlier versions have not stored them
            stored[name], given[name] = columns.get(name), value
    if not wanted["pooled"]:
        del given["pooled"]
    if learner is not None:
        stored["learner"], given["learner"] = manifest["learner"], repr(learner)
    for name, value in given.items():
        if stored[name] != value:
            raise ValueError(
                f"the models in {folder} were learned with {name} {stored[name]!r} (got {value!r}); use that,"
                " or relearn to begin again"
            )


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Refuse to write to a store that another process writes to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / "lock", "ab")  # noqa: SIM115 - closed below
    except OSError as error:
        raise ValueError(f"cannot write to {folder}: {error.strerror}; name another folder") from None
    with file:
        if not lock_file(file):
            raise ValueError(f"another process writes to {folder}; wait for it, or name another folder")
        try:
            yield
        finally:
            unlock_file(file)
