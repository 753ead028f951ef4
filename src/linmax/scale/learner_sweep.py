"""`sweep`: learners on panels in several orders, each a task, cached by content."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import linmax
from linmax._files import write_atomic
from linmax.fusion import Fusion
from linmax.panels.panel import read_panel
from linmax.panels.roles.column_role import PanelOptions
from linmax.scale.engine import open_engine
from linmax.scale.partition import Partition
from linmax.spec import Learner, parse
from linmax.streams.chunk import shuffle_items
from linmax.validation import check_integer

Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class SweepJob(NamedTuple):
    """A learner on a panel in an order.

    Attributes
    ----------
    learner : str
        The learner.
    panel : str
        The name of the panel.
    files : tuple of str
        Its files.
    order : int or None
        The seed with which its rows are shuffled; None for the order of the file.
    options : PanelOptions
        How its columns are read.
    """

    learner: str
    panel: str
    files: tuple[str, ...]
    order: int | None
    options: PanelOptions

    def digest(self, contents: dict[str, str]) -> str:
        """Return a checksum of all that the result depends on, given those of the files."""
        facts = [linmax.__version__, self.learner, self.order, repr(self.options)]
        return hashlib.sha256(
            json.dumps([*facts, [contents[one] for one in self.files]]).encode()
        ).hexdigest()


class SweepResult(NamedTuple):
    """How a learner has done on a panel in an order.

    Attributes
    ----------
    learner, panel, order
        Which learner, panel and order.
    items, trials, mistakes : int
        The items, those whose label was a known class, and the wrong predictions among these.
    seconds : float
        The processor time of learning; that of the first run if the result is from the cache.
    correct : ndarray of bool of shape (items,)
        Which predictions were correct.
    """

    learner: str
    panel: str
    order: int | None
    items: int
    trials: int
    mistakes: int
    seconds: float
    correct: NDArray[np.bool_]

    @property
    def accuracy(self) -> float:
        """The share of correct predictions; NaN without trials."""
        return 1.0 - self.mistakes / self.trials if self.trials else float("nan")


def sweep(
    learners: Iterable[Learner | str],
    panels: Mapping[str, Files] | Files,
    orders: Iterable[int | None] = (None,),
    *,
    cache: str | os.PathLike[str] | None = None,
    cluster: Any = None,
    workers: int | None = None,
    on_result: Callable[[int, SweepResult], None] | None = None,
    **columns: Any,
) -> list[SweepResult]:
    """Let every learner learn every panel in every order; each is a task.

    Parameters
    ----------
    learners
        The learners, or their texts.
    panels
        The files of one panel, or those of several by name. All workers must see them under these paths.
    orders
        Seeds with which rows are shuffled; None is the order of the file.
    cache
        A folder for results. One that was computed from the same data, learner, order and version of linmax
        is read from there.
    cluster, workers
        Where the tasks run: see `open_engine`.
    on_result
        Called with the place of each result and the result, as soon as it is there.
    **columns
        The roles of columns, where they are not inferred, as for `keyed`.

    Returns
    -------
    list of SweepResult
        Panel by panel, order by order, in the order of the learners.

    Examples
    --------
    >>> import tempfile
    >>> from linmax.scale import sweep
    >>> file = Path(tempfile.mkdtemp()) / "votes.csv"
    >>> _ = file.write_text("ann,bob,truth\\n" + "a,b,a\\nb,b,b\\n" * 30)
    >>> results = sweep(["Winnow(1.5)", "Perceptron()"], file, orders=[None, 1], workers=1)
    >>> [(one.learner, one.order, one.trials, one.mistakes) for one in results]
    [('Winnow(1.5)', None, 60, 0), ('Perceptron()', None, 60, 2), ('Winnow(1.5)', 1, 60, 0), ...]
    """
    if isinstance(learners, str):
        raise ValueError(f"learners is a list of learners (got {learners!r}); pass [{learners!r}]")
    texts = [repr(parse(one) if isinstance(one, str) else one) for one in learners]
    if not isinstance(orders, Iterable):
        raise ValueError(
            f"orders is a list of seeds, of which None keeps the order of the file (got {orders!r})"
        )
    orders = list(orders)
    for order in orders:
        if order is not None:
            check_integer("sweep", "order", order, 0)
    named = panels if isinstance(panels, Mapping) else {_paths(panels)[0]: panels}
    options = PanelOptions.from_keywords("sweep", columns)
    jobs = [
        SweepJob(learner, name, _paths(files), order, options)
        for name, files in named.items()
        for order in orders
        for learner in texts
    ]
    paths = {path for job in jobs for path in job.files}
    contents = {path: Partition(path, path).digest() for path in paths} if cache is not None else {}
    places = [None if cache is None else Path(cache) / f"{job.digest(contents)}.json" for job in jobs]
    results: dict[int, SweepResult] = {}

    def keep(place: int, result: SweepResult) -> None:
        results[place] = result
        if on_result is not None:
            on_result(place, result)

    if cache is not None:
        try:
            Path(cache).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"cannot write to the cache {os.fspath(cache)}: {error.strerror}; name a folder"
            ) from None
    for place, (job, file) in enumerate(zip(jobs, places, strict=True)):
        stored = None if file is None else _read(job, file)
        if stored is not None:
            keep(place, stored)
    missing = [place for place in range(len(jobs)) if place not in results]

    def finished(number: int, result: SweepResult) -> None:
        file = places[missing[number]]
        if file is not None:
            write_atomic(file, json.dumps(_as_json(result)).encode())
        keep(missing[number], result)

    if missing:
        with open_engine(cluster, workers) as engine:
            engine.gather(engine.map(run_learner, [jobs[place] for place in missing]), finished)
    return [results[place] for place in range(len(jobs))]


def run_learner(job: SweepJob) -> SweepResult:
    """Let a learner learn a panel, and return which predictions were correct.

    Parameters
    ----------
    job
        The learner, the panel and the order.
    """
    panel = read_panel(job.files, job.options)
    fusion = Fusion(job.learner)
    correct, trials, seconds = [np.zeros(0, np.bool_)], 0, 0.0
    with panel.stream() as stream:
        for chunk in stream if job.order is None else shuffle_items(stream, job.order):
            if chunk.labels is None:
                raise ValueError(f"{stream.schema.file} has no labels; name their column with label=")
            start = time.process_time()
            try:
                batch = fusion.read(chunk.votes, chunk.labels, attributes=chunk.attributes)
                codes = fusion.learn_batch(batch).codes
            except ValueError as error:
                raise ValueError(f"{job.learner} cannot learn {job.panel}: {error}") from None
            seconds += time.process_time() - start
            truth = batch.labels
            trials += int(((truth >= 0) & (truth < batch.known)).sum())
            correct.append((codes == truth) & (truth < batch.known))
    flags = np.concatenate(correct)
    mistakes = trials - int(flags.sum())
    return SweepResult(job.learner, job.panel, job.order, len(flags), trials, mistakes, seconds, flags)


def _paths(files: Files) -> tuple[str, ...]:
    return (
        (os.fspath(files),)
        if isinstance(files, str | os.PathLike)
        else tuple(os.fspath(one) for one in files)
    )


def _as_json(result: SweepResult) -> dict[str, Any]:
    packed = base64.b64encode(np.packbits(result.correct).tobytes()).decode()
    return {**result._asdict(), "correct": packed}


def _read(job: SweepJob, file: Path) -> SweepResult | None:
    """Return a result from the cache; None if it is not there, or damaged."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        stored = json.loads(file.read_bytes())
        packed = np.frombuffer(base64.b64decode(stored["correct"]), np.uint8)
        flags = np.unpackbits(packed, count=stored["items"]).astype(np.bool_)
        result = SweepResult(**{**stored, "correct": flags})
        if len(flags) == result.items and result.trials - int(flags.sum()) == result.mistakes:
            return result._replace(panel=job.panel)
    return None
