"""Do decisions hold what they promise? Probabilities, answers, sets and alarms on the real panels.

`python -m benchmarks.decisions` writes benchmarks/results/decisions.json, from which `make docs` writes the
tables of docs/decisions.md. It takes about ten minutes.
"""

from __future__ import annotations

import importlib
import json
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from scipy.special import bdtrc

from benchmarks.__main__ import DATA, RESULTS
from benchmarks.quality.panels import panels
from benchmarks.quality.problem import Panel
from linmax import Fusion
from linmax.decisions import Decisions
from linmax.decisions.answers import NoAnswerWarning
from linmax.decisions.conformal import MISSES, level_of
from linmax.decisions.trials import count_losses

LEARNERS = (
    "Perceptron()", 'Averaged(Perceptron(slack=20.0, start="equal"))', "Winnow(1.2)",
    "Averaged(Recycled(Winnow(1.2)))", "Romma()", "Averaged(Alma(2.0))", "PassiveAggressive()",
    "BalancedWinnow(1.2)", "Averaged(Logistic(0.1))", "Voted(Perceptron())",
    "WeightedMajority([Perceptron(), Winnow(1.2)])",
)  # fmt: skip
COSTLY = (
    "Perceptron(slack=1.0)", "Perceptron(slack=3.0)", "PassiveAggressive()",
    'Averaged(Perceptron(slack=0.5, start="equal"))', 'Averaged(Perceptron(slack=5.0, start="equal"))',
    'Averaged(Perceptron(slack=20.0, start="equal"))', "Averaged(Winnow(1.2, slack=0.01))",
)  # fmt: skip
ANSWERED = {"mmlu_pro_votes": (0.1, 0.2), "trec_rules_votes": (0.02, 0.05), "relevance4": (0.05, 0.1)}
"""The panels on which answers are tried, and the allowed errors."""
COVERED = (0.8, 0.9, 0.95, 0.99)
CONFIDENCE = 0.95
CLIP = 1e-15
BEFORE = 1 << 17  # items that a session has learned before its mistakes are given


def sessions(panel: Panel, learner: str | None, seeds: range, **options: Any) -> Iterator[Any]:
    """Yield fresh sessions, with the votes and labels of a panel in random orders."""
    for seed in seeds:
        rows = np.random.default_rng(seed).permutation(len(panel.labels))
        yield Fusion(learner, classes=range(panel.k), **options), panel.votes[rows], panel.labels[rows]


def mean_log_losses(panel: Panel, learner: str | None, seeds: range) -> tuple[float, float]:
    """Return the log-loss of the softmax of the scores, and of the probabilities."""
    found = []
    for fusion, votes, labels in sessions(panel, learner, seeds, calibrate="all"):
        run = fusion.learn_batch(fusion.read(votes, labels), scores=True, probabilities=True)
        top = run.scores.max(axis=1, keepdims=True)
        e = np.exp(run.scores - top)
        rows = np.arange(len(labels))
        both = (e / e.sum(axis=1, keepdims=True))[rows, labels], run.probabilities[rows, labels]
        found.append([float(-np.log(np.maximum(p, CLIP)).mean()) for p in both])
    raw, mapped = np.mean(found, axis=0).tolist()
    return raw, mapped


def costly(k: int) -> np.ndarray:
    """Return costs of mistakes: to miss class 0 costs 10, to predict it wrongly 2, and all others 1."""
    costs = 1.0 - np.eye(k)
    costs[0, 1:], costs[1:, 0] = 10.0, 2.0
    return costs


def mean_costs(panel: Panel, learner: str, seeds: range) -> dict[str, float]:
    """Return the mean cost of an item in one pass, with and without costs in predictions and in updates."""
    costs = costly(panel.k)
    paid: dict[str, list[float]] = {name: [] for name in ("none", "predictions", "updates", "both")}
    for margins, names in ((False, ("none", "predictions")), (True, ("updates", "both"))):
        options: dict[str, Any] = {"calibrate": "all", "mistake_costs": costs, "cost_margins": margins}
        for fusion, votes, labels in sessions(panel, learner, seeds, **options):
            run = fusion.learn_batch(fusion.read(votes, labels), scores=True)
            for name, codes in zip(names, (run.scores.argmax(axis=1), run.codes), strict=True):
                paid[name].append(float(costs[labels, codes].mean()))
    return {name: float(np.mean(found)) for name, found in paid.items()}


def answers(panel: Panel, max_errors: tuple[float, ...], seeds: range) -> list[dict[str, float]]:
    """Learn the first half of each order, and answer the second half with the weights fixed.

    An order violates the limit if more than this share of its answers is wrong; that of the answers to come
    is within their binomial error of it.
    """
    table: dict[float, list[tuple[int, int]]] = {limit: [] for limit in max_errors}
    for fusion, votes, labels in sessions(panel, None, seeds, calibrate="all"):
        half = len(labels) // 2
        fusion.learn(votes[:half], labels[:half])
        for limit in max_errors:
            found = _answers(fusion, votes[half:], limit)
            given = np.array([one is not None for one in found])
            table[limit].append((int(given.sum()), int((found[given] != labels[half:][given]).sum())))
    rest = len(panel.labels) - len(panel.labels) // 2
    return [
        {
            "max_error": limit,
            "answered": float(np.mean([items for items, _ in rows])) / rest,
            "error": sum(wrong for _, wrong in rows) / max(1, sum(items for items, _ in rows)),
            "violations": float(np.mean([wrong > limit * items for items, wrong in rows])),
            "clear": float(np.mean([_clearly_above(items, wrong, limit) for items, wrong in rows])),
            "silent": float(np.mean([items == 0 for items, _ in rows])),
        }
        for limit, rows in table.items()
    ]


def _clearly_above(items: int, wrong: int, limit: float) -> bool:
    """Return whether so many errors are unlikely, at the level 0.05, if the limit is kept."""
    return items > 0 and float(bdtrc(wrong - 1, items, limit)) < 0.05


def _answers(fusion: Fusion, votes: Any, limit: float) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoAnswerWarning)
        return fusion.predict(votes, max_error=limit, confidence=CONFIDENCE)


def coverage(panel: Panel, seeds: range) -> dict[str, Any]:
    """Return the share of sets with the label in one pass, mean and least over the orders, and set sizes."""
    found = {level: [] for level in COVERED}
    sizes = {level: [] for level in COVERED}
    for fusion, votes, labels in sessions(panel, None, seeds, calibrate="all"):
        half = len(labels) // 2
        fusion.learn(votes[:half], labels[:half])
        for level in COVERED:
            sizes[level].append(
                np.mean([len(one) for one in fusion.predict_set(votes[half:], coverage=level)])
            )
        fusion.learn(votes[half:], labels[half:])
        for level in COVERED:
            misses = fusion.decisions.arrays.levels[MISSES, level_of(level)]
            found[level].append(1.0 - misses / fusion.decisions.seen)
    return {
        str(level): {
            "mean": float(np.mean(found[level])),
            "least": float(np.min(found[level])),
            "size": float(np.mean(sizes[level])),
        }
        for level in COVERED
    }


def drifting(panel: Panel, seeds: range) -> dict[str, Any]:
    """Let all experts name the next class from the middle on, and report coverage, alarms and answers.

    The delay is the number of labelled items from the change to the alarm, which stops all answers; the error
    is that of the answers given in between, to every item before its label was learned.
    """
    limit = ANSWERED[panel.name][-1]
    shares, delays, missed, wrong, given = [], [], 0, 0, 0
    for fusion, votes, labels in sessions(panel, None, seeds, calibrate="all"):
        half = len(labels) // 2
        changed = np.where(votes[half:] >= 0, (votes[half:] + 1) % panel.k, -1)
        fusion.learn(votes[:half], labels[:half])
        before = len(fusion.alarms)
        for begin in range(0, len(changed), 16):
            if len(fusion.alarms) > before:
                break
            rows = slice(begin, begin + 16)
            found = _answers(fusion, changed[rows], limit)
            there = np.array([one is not None for one in found])
            given += int(there.sum())
            wrong += int((found[there] != labels[half:][rows][there]).sum())
            fusion.learn(changed[rows], labels[half:][rows])
        seen = fusion.trials - half
        if len(fusion.alarms) > before:
            delays.append(fusion.alarms[before].trial - half)
        else:
            missed += 1
        fusion.learn(changed[seen:], labels[half:][seen:])
        misses = fusion.decisions.arrays.levels[MISSES]
        shares.append([1.0 - misses[level_of(level)] / fusion.decisions.seen for level in COVERED])
    return {
        "orders": len(seeds),
        "max_error": limit,
        "coverage": dict(zip(map(str, COVERED), np.mean(shares, axis=0).tolist(), strict=True)),
        "least": dict(zip(map(str, COVERED), np.min(shares, axis=0).tolist(), strict=True)),
        "delay": float(np.mean(delays)) if delays else None,
        "missed": missed,
        "answers": given,
        "error": wrong / max(1, given),
    }


def own_alarms(losses: NDArray[np.int32]) -> list[int]:
    """Return after how many mistakes or hits the test of a session raises its alarms."""
    decisions = Decisions()
    decisions.arrays.counts[0] = BEFORE  # beyond the part whose scores are needed
    zeros, two = np.zeros(len(losses), np.int32), np.full(len(losses), 2, np.int32)
    count_losses(zeros, two, losses, decisions.arrays)
    return [alarm.trial - BEFORE for alarm in decisions.alarms]


def river_alarms(name: str, losses: NDArray[np.int32]) -> list[int]:
    """Return after how many of them a detector of River does."""
    detector = getattr(importlib.import_module("river.drift"), name)()
    found = []
    for trial, loss in enumerate(losses.tolist(), 1):
        detector.update(loss)
        if detector.drift_detected:
            found.append(trial)
    return found


DETECTORS: dict[str, Callable[[NDArray[np.int32]], list[int]]] = {
    "linmax": own_alarms,
    "River, ADWIN": partial(river_alarms, "ADWIN"),
    "River, PageHinkley": partial(river_alarms, "PageHinkley"),
}


def false_alarms(trials: int, seeds: range) -> dict[str, dict[str, float]]:
    """Return alarms per million trials with a constant rate of mistakes, by detector."""
    found: dict[str, dict[str, float]] = {name: {} for name in DETECTORS}
    for rate in (0.01, 0.05, 0.1, 0.3, 0.5):
        streams = [(np.random.default_rng(seed).random(trials) < rate).astype(np.int32) for seed in seeds]
        for name, detect in DETECTORS.items():
            alarms = sum(len(detect(losses)) for losses in streams)
            found[name][str(rate)] = 1e6 * alarms / (trials * len(seeds))
    return found


def delays(seeds: range) -> list[dict[str, Any]]:
    """Return how soon a rise of the rate of mistakes is noticed after 5000 trials, by detector.

    An alarm before the rise is not counted; the detector goes on.
    """
    found = []
    for before, after in ((0.02, 0.1), (0.1, 0.15), (0.1, 0.2), (0.1, 0.4), (0.3, 0.4), (0.3, 0.6)):
        late: dict[str, list[int]] = {name: [] for name in DETECTORS}
        for seed in seeds:
            rng = np.random.default_rng(seed)
            losses = np.concatenate((rng.random(5000) < before, rng.random(20000) < after)).astype(np.int32)
            for name, detect in DETECTORS.items():
                late[name] += [trial - 5000 for trial in detect(losses) if trial > 5000][:1]
        detectors = {
            name: {"found": len(each) / len(seeds), "delay": float(np.mean(each)) if each else None}
            for name, each in late.items()
        }
        found.append({"before": before, "after": after, "detectors": detectors})
    return found


def learning_time(rounds: int) -> list[dict[str, Any]]:
    """Return nanoseconds of CPU per row of `learn` with each choice of `calibrate`, least of some rounds."""
    rng, found = np.random.default_rng(0), []
    for experts, classes in ((20, 2), (20, 5), (20, 100)):
        rows = 1 << 18
        votes = rng.integers(0, classes, (rows, experts)).astype(np.int32)
        for learner in ("Perceptron()", "Averaged(Winnow(1.2))", None):
            few = rows if learner else rows // 16
            best = dict.fromkeys(("none", "sample", "all"), math.inf)
            for _ in range(rounds):
                for way in best:
                    fusion = Fusion(learner, classes=range(classes), experts=range(experts), calibrate=way)
                    begin = time.process_time()
                    fusion.learn(votes[:few], votes[:few, 0])
                    best[way] = min(best[way], (time.process_time() - begin) / few * 1e9)
            found.append(
                {"experts": experts, "classes": classes, "learner": learner or "recommended()", **best}
            )
    return found


def log_losses(found: list[Panel], seeds: range) -> dict[str, dict[str, tuple[float, float]]]:
    """Return the log-losses of every learner on every panel."""
    return {
        learner: {one.name: mean_log_losses(one, learner, seeds) for one in found} for learner in LEARNERS
    }


def alarms_in_random_order(panel: Panel, seeds: range) -> list[int]:
    """Return the number of alarms on a panel in random orders, and of all items."""
    alarms = 0
    for fusion, votes, labels in sessions(panel, None, seeds):
        fusion.learn(votes, labels)
        alarms += len(fusion.alarms)
    return [alarms, len(panel.labels) * len(seeds)]


def main(
    data: Annotated[Path, typer.Option(help="The folder with the panels.")] = DATA,
    orders: Annotated[int, typer.Option(min=2, help="Random orders of each panel for validity.")] = 200,
    losses: Annotated[int, typer.Option(min=1, help="Random orders for the log-loss.")] = 5,
    only: Annotated[list[str] | None, typer.Option(help="A part of the results; repeat it.")] = None,
    save: Annotated[bool, typer.Option(help="Write the results.")] = True,
) -> None:
    """Measure, and write benchmarks/results/decisions.json; with --only, the other parts stay."""
    console, file = Console(), RESULTS / "decisions.json"
    found = panels(data)
    if not found:
        raise typer.BadParameter(f"there are no panels in {data}")
    seeds, few = range(orders), range(max(2, orders // 10))
    chosen = [panel for panel in found if panel.name in ANSWERED]
    parts: dict[str, Callable[[], Any]] = {
        "log_loss": lambda: log_losses(found, range(losses)),
        "costs": lambda: {
            learner: {one.name: mean_costs(one, learner, range(losses)) for one in found}
            for learner in COSTLY
        },
        "answers": lambda: {one.name: answers(one, ANSWERED[one.name], seeds) for one in chosen},
        "coverage": lambda: {one.name: coverage(one, seeds) for one in chosen},
        "drift": lambda: {one.name: drifting(one, few) for one in chosen},
        "alarms_in_random_order": lambda: {one.name: alarms_in_random_order(one, few) for one in found},
        "false_alarms_per_million": lambda: false_alarms(1_000_000, range(max(2, orders // 20))),
        "delays": lambda: delays(seeds),
        "nanoseconds": lambda: learning_time(7),
    }
    results: dict[str, Any] = json.loads(file.read_text()) if only and file.exists() else {}
    results |= {"orders": orders, "log_loss_orders": losses}
    for name in only or parts:
        results[name] = parts[name]()
        console.print(name, results[name])
    if save:
        file.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
