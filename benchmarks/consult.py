"""What consultations save on real panels, and whether the risk is kept.

`python -m benchmarks.consult` writes benchmarks/results/consult.json and docs/consult.png. In the first half
of a stream all experts are asked; the figures are about the second half, without the items that are drawn to
be asked in full. Labels come in blocks of 25 items, so that all items of a block are predicted in one state.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.consult_alternatives import CONFIDENCE, LEARNER, measure_alternatives
from benchmarks.quality.panels import panels
from benchmarks.quality.problem import Panel
from linmax import Fusion
from linmax.evaluate.consultation import replay_consultations
from linmax.evaluate.findings.findings import to_json
from linmax.fusion.consult.paths import Paths, consultation_paths
from linmax.report.charts.consultation import draw_consultations

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
RESULTS = ROOT / "benchmarks" / "results" / "consult.json"
PICTURE = ROOT / "docs" / "consult.png"
RISKS = (0.0, 0.002, 0.01, 0.05)
BLOCK = 25
ALTERNATIVE_ORDERS = 6
CROWDS_ASK_VOTERS = {
    "mmlu_pro_votes": False,
    "trec_rules_votes": False,
}  # of others, only those that voted can be asked


def shuffled(panel: Panel, seed: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return votes and labels in the order of the file, or in a random one."""
    if seed is None:
        return panel.votes, panel.labels
    order = np.random.default_rng(seed).permutation(len(panel.labels))
    return panel.votes[order], panel.labels[order]


def run_stream(
    panel: Panel,
    votes: np.ndarray,
    labels: np.ndarray,
    risk: float,
    *,
    learner: Any = LEARNER,
    real: bool = False,
    block: int = BLOCK,
    freeze: bool = False,
    on_new_class: str = "add",
) -> dict[str, float]:
    """Consult on a stream.

    `real`: only the votes asked for are learned; `freeze`: only the first quarter is learned, and asked for.
    """
    items, n = votes.shape
    half = items // 2
    fusion = Fusion(learner, experts=range(n), classes=range(panel.k), on_new_class=on_new_class)
    everybody = CROWDS_ASK_VOTERS.get(panel.name, True)
    available = votes >= 0 if everybody else np.ones(votes.shape, dtype=bool)
    counts = dict.fromkeys(
        ("items", "asked", "available", "changed", "right", "panel_right", "in_full", "fell_back"), 0
    )
    first_fallback = 0
    start = half // 2 if freeze else 0
    fusion.learn(votes[:start], labels[:start])
    for begin in [*range(start, half, block), *range(half, items, block)]:
        rows = slice(begin, min(begin + block, half if begin < half else items))
        paths = consultation_paths(fusion, votes[rows], available[rows])
        assert paths is not None
        fusion.exploration = 1.0 if begin < half else 0.03
        fusion.consultations.follow(fusion._alarm_count)
        drawn = fusion.consultations.draw_many(fusion.seed, rows.stop - rows.start)
        threshold = None
        if risk > 0.0 and begin >= half:
            whole = fusion._settled_by(None)
            threshold = fusion._threshold(risk, CONFIDENCE, whole, None).distance
        stops = paths.stops(np.full(len(drawn), np.inf if threshold is None else threshold))
        stops[drawn] = paths.available[drawn]
        _record(fusion, paths, votes[rows], available[rows], drawn)
        if begin >= half:
            _count(counts, paths, stops, drawn, labels[rows], available[rows])
            counts["fell_back"] += (len(drawn) - int(drawn.sum())) * (threshold is None)
            if threshold is None and risk > 0.0 and not first_fallback:
                first_fallback = begin
        if not freeze:
            learned = _asked(votes[rows], paths, stops) if real else votes[rows]
            fusion.learn(learned, labels[rows])
    right_of_all = _accuracy_of_all(learner, panel, votes, labels, half)
    kept = max(counts["items"], 1)
    return {
        "items": kept, "experts": counts["available"] / kept, "asked": counts["asked"] / kept,
        "changed": counts["changed"] / kept, "accuracy": counts["right"] / kept,
        "panel_accuracy": counts["panel_right"] / kept, "in_full": counts["in_full"],
        "fell_back": counts["fell_back"] / kept, "first_fallback": first_fallback,
        "accuracy_of_all": right_of_all,
    }  # fmt: skip


def _accuracy_of_all(learner: Any, panel: Panel, votes: np.ndarray, labels: np.ndarray, half: int) -> float:
    """Return the accuracy, on the second half, of a session that always asks everybody."""
    fusion = Fusion(learner, experts=range(votes.shape[1]), classes=range(panel.k))
    fusion.learn(votes[:half], labels[:half])
    run = fusion.learn(votes[half:], labels[half:])
    return float(run.accuracy)


def _record(
    fusion: Fusion, paths: Paths, votes: np.ndarray, available: np.ndarray, drawn: np.ndarray
) -> None:
    for value, row, there in zip(paths.critical()[drawn], votes[drawn], available[drawn], strict=True):
        fusion.consultations.record(float(value), np.where(there, row, -2).astype(np.int32))


def _asked(votes: np.ndarray, paths: Paths, stops: np.ndarray) -> np.ndarray:
    """Return the votes that were asked for."""
    learned = np.full(votes.shape, -1)
    item, step = np.nonzero((np.arange(votes.shape[1]) < stops[:, None]) & (paths.order >= 0))
    learned[item, paths.order[item, step]] = votes[item, paths.order[item, step]]
    return learned


def _count(
    counts: dict[str, int],
    paths: Paths,
    stops: np.ndarray,
    drawn: np.ndarray,
    labels: np.ndarray,
    available: np.ndarray,
) -> None:
    kept, guesses = ~drawn, paths.predictions(stops)
    counts["items"] += int(kept.sum())
    counts["in_full"] += int(drawn.sum())
    counts["asked"] += int(stops[kept].sum())
    counts["available"] += int(available[kept].sum())
    counts["changed"] += int((guesses != paths.final)[kept].sum())
    counts["right"] += int((guesses == labels)[kept].sum())
    counts["panel_right"] += int((paths.final == labels)[kept].sum())


def measure_panels(data: Path, orders: int) -> list[dict[str, Any]]:
    """Return the figures of all panels, risks and settings, in several orders."""
    rows = []
    for panel in panels(data):
        for risk in RISKS:
            for real in (False, True):
                seeds: list[int | None] = [None, *range(orders - 1)]
                found = [run_stream(panel, *shuffled(panel, seed), risk, real=real) for seed in seeds]
                assert risk or not any(one["changed"] for one in found)  # proved
                name = "asked votes" if real else "all votes"
                rows.append({"panel": panel.name, "risk": risk, "learned": name, "orders": found})
                print(panel.name, risk, name, [round(one["asked"], 2) for one in found], flush=True)
    return rows


def measure_validity(panel: Panel, orders: int, risk: float, *, freeze: bool) -> dict[str, Any]:
    """Return in how many random orders more than a share `risk` of predictions changed."""
    found = [
        run_stream(panel, *shuffled(panel, seed), risk, block=100, freeze=freeze) for seed in range(orders)
    ]
    changed = [one["changed"] for one in found]
    return {
        "orders": orders, "risk": risk, "frozen": freeze, "violations": sum(one > risk for one in changed),
        "changed": float(np.mean(changed)), "asked": float(np.mean([one["asked"] for one in found])),
        "lost": float(np.mean([one["panel_accuracy"] - one["accuracy"] for one in found])),
    }  # fmt: skip


def measure_drift(panel: Panel, seed: int = 0) -> dict[str, Any]:
    """Return how soon a risk of 0.01 falls back when the experts of a panel change places."""
    votes, labels = shuffled(panel, seed)
    start = 3 * len(labels) // 4
    drifting = votes.copy()
    drifting[start:] = votes[start:, ::-1]
    before, after = (run_stream(panel, one, labels, 0.01) for one in (votes, drifting))
    return {"changes_at": start, "without": before, "with": after}


def measure_default(panel: Panel) -> list[dict[str, Any]]:
    """Return the figures of the default learner, with classes that are fixed."""
    votes, labels = shuffled(panel, None)
    options: dict[str, Any] = {"learner": "recommended()", "on_new_class": "error", "block": 100}
    return [{"risk": risk, **run_stream(panel, votes, labels, risk, **options)} for risk in (0.0, 0.01, 0.05)]


def measure_time(experts: int = 29) -> dict[str, float]:
    """Return the CPU time of `next_expert` in microseconds, with and without prices."""
    rng = np.random.default_rng(0)
    names = [f"expert {i}" for i in range(experts)]
    fusion = Fusion(LEARNER, experts=names, classes=range(10))
    fusion.learn(rng.integers(0, 10, (500, experts)), rng.integers(0, 10, 500))
    votes, prices = dict.fromkeys(names[:9], 1), dict.fromkeys(names, 1.0)
    times = {}
    for what, options in (("without prices", {}), ("with prices", {"prices": prices})):
        best = np.inf
        for _ in range(20):
            before = time.process_time()
            for _ in range(500):
                fusion.next_expert(votes, **options)  # type: ignore[arg-type]
            best = min(best, (time.process_time() - before) / 500)
        times[what] = 1e6 * best
    return times


def measure_curve(panel: Panel) -> dict[str, Any]:
    """Return the cost-accuracy curve on the second half, in a state that does not change, and draw it."""
    votes, labels = shuffled(panel, None)
    half = len(labels) // 2
    fusion = Fusion(LEARNER, experts=range(votes.shape[1]), classes=range(panel.k))
    fusion.learn(votes[:half], labels[:half])
    replay = replay_consultations(fusion, votes[half:], labels[half:], subsets=True)
    draw_consultations(replay, PICTURE)
    chosen = [replay.everybody, *replay.consultations, *replay.others[:2], *replay.subsets]
    return {"items": replay.items, "strategies": [to_json(one._asdict()) for one in chosen]}


def main(
    data: Annotated[Path, typer.Option(help="The folder with the data.")] = DATA,
    orders: Annotated[
        int, typer.Option(min=1, help="Orders of each panel; the first is that of the file.")
    ] = 3,
    valid: Annotated[int, typer.Option(min=1, help="Random orders to test the risk.")] = 200,
    only: Annotated[list[str] | None, typer.Option(help="Parts to measure; others are kept.")] = None,
) -> None:
    """Measure everything, and store it."""
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    mmlu = next((panel for panel in panels(data) if panel.name == "mmlu_pro_votes"), None)
    if mmlu is None:
        raise typer.BadParameter(f"there is no mmlu_pro_votes in {data}")
    parts = {
        "time": measure_time,
        "curve": lambda: measure_curve(mmlu),
        "drift": lambda: measure_drift(mmlu),
        "default": lambda: measure_default(mmlu),
        "alternatives": lambda: measure_alternatives(mmlu, ALTERNATIVE_ORDERS),
        "panels": lambda: measure_panels(data, orders),
        "validity": lambda: [measure_validity(mmlu, valid, 0.01, freeze=freeze) for freeze in (True, False)],
    }
    for name, measure in parts.items():
        if only is None or name in only:
            stored[name] = measure()
            RESULTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
