"""Every problem there is, with everybody's mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measuring import machine
from benchmarks.peers.cells import Peers
from benchmarks.peers.environment import PeersMissingError, named
from benchmarks.peers.settings import settings
from benchmarks.quality import halves, own
from benchmarks.quality.compare import Row, record
from benchmarks.quality.generated import generated
from benchmarks.quality.models import voted
from benchmarks.quality.problem import Problem
from benchmarks.quality.reading import panels
from benchmarks.quality.run import run
from benchmarks.quality.streams import streams

ROOT = Path(__file__).parents[2]
PERMUTATIONS = 4
ITEMS, FEW = 1500, 500  # of a generated problem, in a full and in a quick run
NO_DATA = "no panels are there, name their folder with --data: only generated problems are run"
SMALL = ("labelme", "segment", "majority, noise .05", "shared")


def gathered(quick: bool, data: Path, tell: Callable[[str], None], *, fresh: bool = False) -> dict[str, Any]:
    """The figures, with what made them."""
    found = problems(data, quick=quick)
    peers = Peers(ROOT / ".cache" / "peers", fresh=fresh)
    notes = [] if any(one.kind == "panel" for one in found) else [NO_DATA]
    tell("the peers' environment")
    try:
        peers.interpreter()
    except PeersMissingError as why:
        notes.append(f"peers are left out: {why}")
    rows: list[Row] = []
    for problem, tally in run(found, peers, 1 if quick else PERMUTATIONS, tell):
        rows.append(record(problem, tally))
        if tally.missing and not peers.refused:
            notes.append(f"peers are left out on {problem.name}: {tally.missing}")
    peers.close()
    return {"quick": quick, "notes": notes, **described(found, rows), "problems": rows}


def problems(data: Path, *, quick: bool) -> list[Problem]:
    """All of them, or a small one of each kind."""
    read = streams(data)
    found: list[Problem] = [*panels(data), *voted(read), *read, *generated(FEW if quick else ITEMS)]
    return [one for one in found if not quick or one.name in SMALL]


def described(found: list[Problem], rows: list[Row]) -> dict[str, Any]:
    """The versions of all programs, and how each learner was called, by what it is fed."""
    about = machine()
    if any(row["against"] for row in rows):
        about["versions"] |= named()
    called: dict[str, dict[str, str]] = {}
    for problem, row in zip(found, rows, strict=True):
        if row["form"] not in called:
            ours = {name: repr(learner) for name, learner in own.learners(problem.feed("0")).items()}
            peers = settings(row["form"]) if row["against"] else {}
            batch = halves.BATCH[row["form"]]
            called[row["form"]] = ours | peers | {batch: halves.CALLED[batch]}
    return {**about, "called": called}
