"""Measure the mistakes of all learners on all problems."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.cached_predictions import CachedPredictions
from benchmarks.peers.environment import PeersMissingError, named
from benchmarks.peers.settings import settings
from benchmarks.quality import batch_baseline, linmax_methods
from benchmarks.quality.compare import Row, record
from benchmarks.quality.generated import generated
from benchmarks.quality.models import model_panels
from benchmarks.quality.panels import panels
from benchmarks.quality.problem import Problem
from benchmarks.quality.run import run
from benchmarks.quality.streams import streams
from benchmarks.timing import machine

ROOT = Path(__file__).parents[2]
PERMUTATIONS = 4
ITEMS, FEW = 1500, 500  # of a generated problem, in a full and in a quick run
NO_DATA = "no panels are there, name their folder with --data: only generated problems are run"
SMALL = ("labelme", "segment", "majority, noise .05", "shared")


def measure(
    quick: bool,
    data: Path,
    report: Callable[..., None] = lambda what: None,
    fresh: bool = False,
    where: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the results with versions and settings."""
    found = problems(data, quick=quick)
    peers = CachedPredictions(ROOT / ".cache" / "peers", fresh=fresh)
    notes = [] if any(one.kind == "panel" for one in found) else [NO_DATA]
    report("the peers' environment")
    try:
        peers.interpreter()
    except PeersMissingError as why:
        notes.append(f"peers are left out: {why}")
    rows: list[Row] = []
    for problem, mistakes in run(found, peers, 1 if quick else PERMUTATIONS, report, where):
        rows.append(record(problem, mistakes))
        if mistakes.missing and not peers.missing:
            notes.append(f"peers are left out on {problem.name}: {mistakes.missing}")
    peers.close()
    return {"quick": quick, "notes": notes, **describe(found, rows), "problems": rows}


def problems(data: Path, *, quick: bool) -> list[Problem]:
    """Return all problems, or a small one of each kind."""
    read = streams(data)
    found: list[Problem] = [*panels(data), *model_panels(read), *read, *generated(FEW if quick else ITEMS)]
    return [one for one in found if not quick or one.name in SMALL]


def describe(found: list[Problem], rows: list[Row]) -> dict[str, Any]:
    """Return the versions of all programs, and the settings of all learners."""
    about = machine()
    if any(row["against"] for row in rows):
        about["versions"] |= named()
    called: dict[str, dict[str, str]] = {}
    for problem, row in zip(found, rows, strict=True):
        if row["form"] not in called:
            ours = {
                name: repr(learner) for name, learner in linmax_methods.learners(problem.feed("0")).items()
            }
            peers = settings(row["form"]) if row["against"] else {}
            batch = batch_baseline.BATCH[row["form"]]
            called[row["form"]] = ours | peers | {batch: batch_baseline.CALLED[batch]}
    return {**about, "called": called}
