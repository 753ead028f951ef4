"""VR-Combine of 2008 compared with a plain numba program with identical results, on one core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks import numba_reference, numba_reference_voting
from benchmarks.timing import in_turn, spread, time_call
from linmax import Averaged, Fusion, Recycled, standard_bank, vr_combine
from linmax.problems import majority

RULES: list[Any] = standard_bank()[:31]
CLASSES = 5
THREADS = "LINMAX_THREADS"


def reference_runs(votes: np.ndarray, labels: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return all runs of the reference, and the predictions of runs and averages."""
    bank = numba_reference.bank(RULES, len(votes), votes.shape[1], CLASSES)
    guesses = np.zeros((len(votes), 2 * len(RULES)), dtype=np.int64)
    numba_reference.run(bank, votes, labels, CLASSES, guesses)
    return bank, guesses


def reference_ensemble(votes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the predictions of VR-Combine by the reference."""
    bank = numba_reference.bank(RULES, len(votes), votes.shape[1], CLASSES)
    guesses = np.zeros(len(votes), dtype=np.int64)
    saved = np.zeros((numba_reference_voting.HYPOTHESES, bank.w.shape[1]))
    numba_reference_voting.combine(
        bank, votes, labels, CLASSES, guesses, saved, np.zeros(numba_reference_voting.HYPOTHESES)
    )
    return guesses


def linmax_runs(votes: np.ndarray, labels: np.ndarray) -> list[tuple[Fusion, np.ndarray]]:
    """Return the same runs by linmax, with the predictions of their averages."""
    made = []
    for rule in RULES:
        fusion = Fusion(Averaged(Recycled(rule)), classes=range(CLASSES))
        made.append((fusion, np.asarray(fusion.learn(votes, labels).guesses)))
    return made


def same_runs(votes: np.ndarray, labels: np.ndarray) -> bool:
    """Return whether theta, w and all predictions are the same, bit for bit."""
    bank, guesses = reference_runs(votes, labels)
    same = True
    for m, (fusion, averaged) in enumerate(linmax_runs(votes, labels)):
        state = fusion.state()
        same &= state["theta"].tobytes() == bank.theta[m].tobytes()
        same &= state["w"].tobytes() == bank.w[m].tobytes()
        same &= bool((averaged == guesses[:, len(RULES) + m]).all())
        alone = Fusion(Recycled(RULES[m]), classes=range(CLASSES)).learn(votes, labels).guesses
        same &= bool((np.asarray(alone) == guesses[:, m]).all())
    return same


def compare_times(what: str, other: Callable[[], Any], own: Callable[[], Any], rounds: int) -> dict[str, Any]:
    """Return milliseconds of CPU of both, and the ratio within a round, with their spread."""
    costs = in_turn({"plain": lambda: time_call(other), "linmax": lambda: time_call(own)}, rounds)
    theirs, ours = ([one.cpu for one in costs[name]] for name in ("plain", "linmax"))
    return {
        "what": what,
        "plain_ms": spread([1e3 * cpu for cpu in theirs]),
        "linmax_ms": spread([1e3 * cpu for cpu in ours]),
        "times_faster": spread([a / b for a, b in zip(theirs, ours, strict=True)]),
    }


@contextmanager
def one_thread() -> Iterator[None]:
    """Run linmax's ensembles on one core within the context."""
    before = os.environ.get(THREADS)
    os.environ[THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[THREADS]
        else:
            os.environ[THREADS] = before


def compare_with_reference(trials: int, rounds: int) -> list[dict[str, Any]]:
    """Compare the 31 runs alone, and the whole ensemble."""
    votes, labels = majority(trials, classes=CLASSES, noise=0.05)

    def linmax_ensemble() -> np.ndarray:
        fusion = Fusion(vr_combine(), classes=range(CLASSES))
        return np.asarray(fusion.learn(votes, labels).guesses)

    with one_thread():
        runs = compare_times(
            "31 runs", lambda: reference_runs(votes, labels), lambda: linmax_runs(votes, labels), rounds
        )
        runs["same_bits"] = same_runs(votes, labels)
        whole = compare_times(
            "VR-Combine", lambda: reference_ensemble(votes, labels), linmax_ensemble, rounds
        )
        whole["same_bits"] = bool((reference_ensemble(votes, labels) == linmax_ensemble()).all())
    return [runs, whole]
