"""VR-Combine of 2008 beside a plain numba program that does the same: one core, CPU time, the same bits."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

import linmax
from benchmarks import plain, plain_voting
from benchmarks.speed import timed
from linmax import Averaged, Fusion, Recycled, standard_bank
from linmax.problems import majority

RULES: list[Any] = standard_bank()[:31]
CLASSES = 5


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
    """Interleaved: plain, linmax, plain, linmax ...; median milliseconds, and the ratio with its spread."""
    other()
    own()  # compile, or load from disk
    pairs = [(timed(other)[1], timed(own)[1]) for _ in range(rounds)]
    ratios = sorted(theirs / ours for theirs, ours in pairs)
    return {
        "what": what,
        "plain_ms": 1e3 * statistics.median(theirs for theirs, _ in pairs),
        "linmax_ms": 1e3 * statistics.median(ours for _, ours in pairs),
        "times_faster": statistics.median(ratios),
        "spread": [ratios[0], ratios[-1]],
    }


def against_plain(trials: int, rounds: int) -> list[dict[str, Any]]:
    """The 31 runs alone and, where linmax has it, the whole committee."""
    os.environ["LINMAX_THREADS"] = "1"
    panel = majority(trials, classes=CLASSES, noise=0.05)
    votes, labels = panel.votes, panel.labels
    rows = [beside("31 runs", lambda: plain_runs(votes, labels), lambda: own_runs(votes, labels), rounds)]
    rows[0]["same_bits"] = same_runs(votes, labels)
    if hasattr(linmax, "vr_combine"):

        def committee() -> np.ndarray:
            fusion = Fusion(linmax.vr_combine(), classes=range(CLASSES))
            return np.asarray(fusion.learn(votes, labels).guesses)

        rows.append(beside("VR-Combine", lambda: plain_committee(votes, labels), committee, rounds))
        rows[1]["same_bits"] = bool((plain_committee(votes, labels) == committee()).all())
    return rows
