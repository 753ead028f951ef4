"""VR-Combine of 2008 beside a plain numba program that does the same: one core, CPU time, the same bits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks import plain, plain_voting
from benchmarks.measuring import here, in_turn, spread
from linmax import Averaged, Fusion, Recycled, standard_bank, vr_combine
from linmax.problems import majority

RULES: list[Any] = standard_bank()[:31]
CLASSES = 5
THREADS = "LINMAX_THREADS"


def plain_runs(votes: np.ndarray, labels: np.ndarray) -> tuple[Any, np.ndarray]:
    """All runs and the guesses of their readings."""
    bank = plain.bank(RULES, len(votes), votes.shape[1], CLASSES)
    guesses = np.zeros((len(votes), 2 * len(RULES)), dtype=np.int64)
    plain.run(bank, votes, labels, CLASSES, guesses)
    return bank, guesses


def plain_committee(votes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The guesses of VR-Combine."""
    bank = plain.bank(RULES, len(votes), votes.shape[1], CLASSES)
    guesses = np.zeros(len(votes), dtype=np.int64)
    saved = np.zeros((plain_voting.HYPOTHESES, bank.w.shape[1]))
    plain_voting.combine(bank, votes, labels, CLASSES, guesses, saved, np.zeros(plain_voting.HYPOTHESES))
    return guesses


def own_runs(votes: np.ndarray, labels: np.ndarray) -> list[tuple[Fusion, np.ndarray]]:
    """The same runs by linmax, one after the other, with the guesses of their averages."""
    made = []
    for rule in RULES:
        fusion = Fusion(Averaged(Recycled(rule)), classes=range(CLASSES))
        made.append((fusion, np.asarray(fusion.learn(votes, labels).guesses)))
    return made


def same_runs(votes: np.ndarray, labels: np.ndarray) -> bool:
    """Are theta, w and all guesses the same, bit for bit?"""
    bank, guesses = plain_runs(votes, labels)
    same = True
    for m, (fusion, averaged) in enumerate(own_runs(votes, labels)):
        state = fusion.state()
        same &= state["theta"].tobytes() == bank.theta[m].tobytes()
        same &= state["w"].tobytes() == bank.w[m].tobytes()
        same &= bool((averaged == guesses[:, len(RULES) + m]).all())
        alone = Fusion(Recycled(RULES[m]), classes=range(CLASSES)).learn(votes, labels).guesses
        same &= bool((np.asarray(alone) == guesses[:, m]).all())
    return same


def beside(what: str, other: Callable[[], Any], own: Callable[[], Any], rounds: int) -> dict[str, Any]:
    """Milliseconds of CPU of both, and the ratio within a round, with their spread."""
    costs = in_turn({"plain": lambda: here(other), "linmax": lambda: here(own)}, rounds)
    theirs, ours = ([one.cpu for one in costs[name]] for name in ("plain", "linmax"))
    return {
        "what": what,
        "plain_ms": spread([1e3 * cpu for cpu in theirs]),
        "linmax_ms": spread([1e3 * cpu for cpu in ours]),
        "times_faster": spread([a / b for a, b in zip(theirs, ours, strict=True)]),
    }


@contextmanager
def one_thread() -> Iterator[None]:
    """linmax's committees run on one core for a while."""
    before = os.environ.get(THREADS)
    os.environ[THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[THREADS]
        else:
            os.environ[THREADS] = before


def against_plain(trials: int, rounds: int) -> list[dict[str, Any]]:
    """The 31 runs alone, and the whole committee."""
    votes, labels = majority(trials, classes=CLASSES, noise=0.05)

    def committee() -> np.ndarray:
        fusion = Fusion(vr_combine(), classes=range(CLASSES))
        return np.asarray(fusion.learn(votes, labels).guesses)

    with one_thread():
        runs = beside("31 runs", lambda: plain_runs(votes, labels), lambda: own_runs(votes, labels), rounds)
        runs["same_bits"] = same_runs(votes, labels)
        whole = beside("VR-Combine", lambda: plain_committee(votes, labels), committee, rounds)
        whole["same_bits"] = bool((plain_committee(votes, labels) == committee()).all())
    return [runs, whole]
