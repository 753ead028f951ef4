"""`predict`: the predictions of a model, or of one model per key, for every partition of a data set."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linmax.evaluate.predictions import PredictedChunk, predict_chunks, write_part
from linmax.fusion import Fusion, load
from linmax.fusion.model_file import from_bytes, to_bytes
from linmax.panels.panel import read_panel
from linmax.panels.roles.column_role import PanelOptions
from linmax.panels.stored import reading_for
from linmax.panels.streamed.table import EmptyTableError
from linmax.scale.by_key.run import OnProgress, name_partition
from linmax.scale.by_key.split import bucket_of, sort_rows
from linmax.scale.by_key.store import MANIFEST, KeyedModels
from linmax.scale.dataset import KEY, ROW, given_options, split_key
from linmax.scale.engine import gather_all, open_engine
from linmax.scale.partition import Partition, list_partitions
from linmax.streams import Chunk, PredictionWriter
from linmax.streams.files.archives import REMOTE
from linmax.streams.files.detect_format import COMPRESSED_SUFFIXES

FORMATS = ("parquet", "csv", "tsv", "jsonl")
CACHED_MODELS = 4096
"""Models by key in the memory of a worker."""
NOTHING = np.zeros(4, np.int64)
"""The counts of a partition without rows."""


class PredictionResult(NamedTuple):
    """What `predict` has written.

    Attributes
    ----------
    rows, labelled, correct : int
        The rows that were read, those with a label and a prediction, and those whose label was predicted.
    without_model : int
        Rows without a key, or whose key has no model; their prediction is empty.
    files : list of str
        The files, one per partition.
    skipped : int
        Partitions whose file was there already.
    problems : list of str
        A sentence for each partition that could not be predicted.
    unknown_votes, unknown_labels : dict
        Votes in the first rows of each partition, and labels, that name no class of the model, and how often
        each occurs; rows with such a label are not correct. Both are empty with models by key.
    closed : bool
        Whether unknown votes abstain, as with models of `linmax fuse`; else each is a class of its own.
    absent : list
        Experts of the model that at least one partition lacks; empty with models by key.
    """

    rows: int
    labelled: int
    correct: int
    without_model: int
    files: list[str]
    skipped: int
    problems: list[str]
    unknown_votes: dict[Any, int]
    unknown_labels: dict[Any, int]
    closed: bool
    absent: list[Any]


class PartitionResult(NamedTuple):
    """What was found in one partition; see `PredictionResult`."""

    counts: NDArray[np.int64]  # rows, labelled, correct, without model
    unknown_votes: dict[Any, int]
    unknown_labels: dict[Any, int]
    closed: bool
    absent: list[Any]


class PredictionJob(NamedTuple):
    """A partition, and the file for its predictions."""

    partition: Partition
    target: str


class PredictionPlan(NamedTuple):
    """What all partitions share: the model, or the folder of models by key, and what is written."""

    model: bytes | None
    store: tuple[str, int] | None  # with the time of its manifest: workers keep models in memory
    options: PanelOptions
    max_error: float | None
    coverage: float | None


def predict(
    model: Fusion | KeyedModels | str | os.PathLike[str],
    dataset: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    format: str = "parquet",
    max_error: float | None = None,
    coverage: float | None = None,
    resume: bool = False,
    cluster: Any = None,
    workers: int | None = None,
    on_progress: OnProgress | None = None,
    **columns: Any,
) -> PredictionResult:
    """Predict every row of a data set; the output has a file per partition, with a row per row.

    Parameters
    ----------
    model
        A session, a model file, or the models by key that `keyed` has left.
    dataset
        As for `keyed`.
    output
        The folder for the predictions. All workers must see it under this path.
    format
        What is written: "parquet", "csv", "tsv" or "jsonl".
    max_error, coverage
        As for `Fusion.predict` and `Fusion.predict_set`; not with models by key.
    resume
        Leave out partitions whose predictions are in the folder already, and newer than partition and model.
    cluster, workers
        Where the tasks run: see `open_engine`. The model is sent to each worker once.
    on_progress
        Called with "predict", the number of finished partitions and their number.
    **columns
        The roles of columns, as for `keyed`; by default those of the files that the model has learned.

    Returns
    -------
    PredictionResult

    Examples
    --------
    >>> import tempfile
    >>> from linmax import Fusion
    >>> from linmax.scale import predict
    >>> folder = Path(tempfile.mkdtemp())
    >>> for part in range(2):
    ...     _ = (folder / f"part-{part}.csv").write_text("ann,bob\\na,b\\nb,b\\n")
    >>> fusion = Fusion("Winnow(1.5)")
    >>> run = fusion.learn([{"ann": "a", "bob": "b"}] * 4, ["a"] * 4)
    >>> result = predict(fusion, folder, folder / "_guesses", workers=1)
    >>> result.rows, [Path(file).name for file in result.files]
    (4, ['part-0.parquet', 'part-1.parquet'])
    """
    if format not in FORMATS:
        raise ValueError(f"format is parquet, csv, tsv or jsonl (got {format!r})")
    options = PanelOptions.from_keywords("predict", columns, needs_label=False)
    plan = _plan(model, options, max_error, coverage)
    folder = Path(output)
    jobs = _jobs(list_partitions(dataset, outside=folder), folder, format)
    changed = _changed(model)
    todo = [job for job in jobs if not (resume and _is_current(job, changed))]
    for job in todo:
        try:
            os.makedirs(os.path.dirname(job.target), exist_ok=True)
        except OSError as error:
            raise ValueError(f"cannot write to {folder}: {error.strerror}; name another folder") from None
    progress = None if on_progress is None else partial(on_progress, "predict")
    with open_engine(cluster, workers) as engine:
        sent = [  # workers may be in another folder
            PredictionJob(job.partition._replace(path=job.partition.place), os.path.abspath(job.target))
            for job in todo
        ]
        found = gather_all(engine, engine.map(predict_partition, sent, plan), progress)
    pairs = list(zip(todo, found, strict=True))
    problems = [name_partition(one, job.partition.name) for job, one in pairs if isinstance(one, Exception)]
    done: list[PartitionResult] = [one for one in found if not isinstance(one, Exception)]
    rows, labelled, correct, without_model = sum((one.counts for one in done), NOTHING).tolist()
    failed = {job.target for job, one in pairs if isinstance(one, Exception)}
    return PredictionResult(
        rows,
        labelled,
        correct,
        without_model,
        [job.target for job in jobs if job.target not in failed],
        len(jobs) - len(todo),
        problems,
        dict(sum((Counter(one.unknown_votes) for one in done), Counter())),
        dict(sum((Counter(one.unknown_labels) for one in done), Counter())),
        any(one.closed for one in done),
        list(dict.fromkeys(name for one in done for name in one.absent)),
    )


def _changed(model: Any) -> int:
    """Return when a model was written; 0 for a session in memory."""
    if isinstance(model, Fusion):
        return 0
    path = model.folder if isinstance(model, KeyedModels) else Path(model)
    return os.stat(path / MANIFEST if path.is_dir() else path).st_mtime_ns


def _is_current(job: PredictionJob, changed: int) -> bool:
    """Whether predictions are there, and were written after the partition and the model."""
    try:
        written = os.stat(job.target).st_mtime_ns
        local = not REMOTE.match(job.partition.path)
        return written > max(changed, os.stat(job.partition.path).st_mtime_ns if local else 0)
    except OSError:
        return False


def _plan(
    model: Any, options: PanelOptions, max_error: float | None, coverage: float | None
) -> PredictionPlan:
    if isinstance(model, str | os.PathLike) and (Path(model) / MANIFEST).exists():
        model = KeyedModels(model)
    if isinstance(model, KeyedModels):
        if max_error is not None or coverage is not None:
            raise ValueError("max_error and coverage need one model; leave them out with models by key")
        for name in given_options(options):
            raise ValueError(f"models by key read the columns that they have learned; leave out {name}")
        changed = os.stat(model.folder / MANIFEST).st_mtime_ns
        return PredictionPlan(None, (os.path.abspath(model.folder), changed), options, None, None)
    fusion = model if isinstance(model, Fusion) else load(model)
    return PredictionPlan(to_bytes(fusion), None, options, max_error, coverage)


def _jobs(partitions: list[Partition], folder: Path, format: str) -> list[PredictionJob]:
    """Return a job per partition; the file of its predictions is named as it is."""
    targets: dict[str, Partition] = {}
    for number, partition in enumerate(partitions):
        name = partition.name
        for suffix in COMPRESSED_SUFFIXES:
            name = name.removesuffix(suffix)
        if os.path.isabs(name) or ".." in Path(name).parts or "://" in name:
            name = f"{number:05}-{os.path.basename(name)}"
        target = str((folder / name).with_suffix(f".{format}"))
        if target in targets:
            raise ValueError(
                f"{partition.name} and {targets[target].name} would have the same file of predictions;"
                " predict them into different folders"
            )
        targets[target] = partition
    return [PredictionJob(partition, target) for target, partition in targets.items()]


def predict_partition(job: PredictionJob, plan: PredictionPlan) -> PartitionResult:
    """Write the predictions of a partition; the file appears when it is complete.

    Parameters
    ----------
    job, plan
        The partition, and what it shares with the others.

    Returns
    -------
    PartitionResult
    """
    with PredictionWriter(job.target) as writer:
        if plan.store is not None:
            return _write_keyed(writer, job.partition, plan.store)
        return _write_plain(writer, job.partition, plan)


@lru_cache(1)
def _model(content: bytes) -> Fusion:
    return from_bytes(content)


def _write_plain(writer: PredictionWriter, partition: Partition, plan: PredictionPlan) -> PartitionResult:
    """Write the predictions of one model."""
    assert plan.model is not None
    fusion, options = _model(plan.model), plan.options
    like = reading_for(fusion, experts=options.experts, shape=options.shape)
    try:
        panel = read_panel([partition.path], replace(options, like=like))
    except EmptyTableError:
        return PartitionResult(NOTHING, {}, {}, False, [])
    counts, labels, experts = NOTHING.copy(), Counter[Any](), set[Any]()
    classes = {*fusion.classes, *panel.classes.names}
    with panel.stream() as stream:
        for chunk in stream:
            for part in predict_chunks(fusion, chunk, max_error=plan.max_error, coverage=plan.coverage):
                write_part(writer, part, fusion)
                counts += (part.chunk.items, *part.count_hits(), 0)
                labels += part.unknown_labels(classes)
                experts.update(part.experts)
    absent = [name for name in fusion.experts if name not in experts] if experts else []
    return PartitionResult(counts, panel.unknown_votes(), dict(labels), panel.options.is_closed, absent)


def _write_keyed(writer: PredictionWriter, partition: Partition, store: tuple[str, int]) -> PartitionResult:
    """Write the predictions of the models by key."""
    counts = NOTHING.copy()
    for chunk, guesses, margins in _predict_keyed(partition, store):
        writer.write(chunk, guesses, margins, chunk.labels)
        made = np.flatnonzero([guess is not None for guess in guesses.tolist()])
        part = PredictedChunk(
            chunk.take(made), guesses[made], margins[made], [], np.zeros((0, 0)), None, None
        )
        counts += (chunk.items, *part.count_hits(), chunk.items - len(made))
    return PartitionResult(counts, {}, {}, False, [])


def _predict_keyed(partition: Partition, store: tuple[str, int]) -> Iterator[tuple[Chunk, Any, Any]]:
    """Yield the rows of a partition in their order, with the predictions of the models of their keys."""
    models = _models(store)
    reader, buckets = models.reader, models.manifest["buckets"]
    for table in reader.tables(partition, labels=False):
        chunk = reader.chunk(table, partition.name)
        guesses, margins = np.full(chunk.items, None, object), np.full(chunk.items, np.nan)
        places = pa.array(np.arange(len(table)))
        by_row = table.set_column(table.schema.get_field_index(ROW), ROW, places)
        by_row = by_row.filter(pc.is_valid(by_row.column(KEY)))
        ordered, keys, starts = sort_rows(by_row)
        rows = ordered.column(ROW).to_numpy()
        parts = zip(keys, pairwise(starts.tolist()), strict=True)
        for key, (start, stop) in sorted(parts, key=lambda one: bucket_of(one[0], buckets)):  # file by file
            fusion = _fusion(store, key)
            if fusion is None:
                continue
            own = np.sort(rows[start:stop])
            first = 0
            for part in predict_chunks(fusion, chunk.take(own)):
                at = own[first : first + part.chunk.items]
                guesses[at], margins[at] = part.guesses.astype(object), part.margins
                first += part.chunk.items
        yield chunk, guesses, margins


@lru_cache(4)
def _models(store: tuple[str, int]) -> KeyedModels:
    return KeyedModels(store[0])


@lru_cache(CACHED_MODELS)
def _fusion(store: tuple[str, int], key: str) -> Fusion | None:
    models = _models(store)
    found = models.get(split_key(key, len(models.by)))
    return models.prior if found is None else found
