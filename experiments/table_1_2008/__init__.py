"""2008, Table I: the final error of VR-Combine and of single algorithms under noise, and mistakes on the way.

The error e of the last hypothesis is measured on fresh instances without noise and told as
p + e (1 - p - p / (k - 1)), what noisy labels would give, with less variance: the optimum is exactly p.

The paper names the best algorithm of each family; here named algorithms are run, those of the paper and those
of the reference, since winners of a close race change from run to run.
"""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from experiments.keeping import Result, Table, claim, text, verdict
from experiments.majority_2008 import CLASSES, NOISES, Track, bank, learn, name, silently, stream, v_combine
from experiments.statistics import Interval, interval
from linmax import Averaged, Combine, Fusion, Recycled, parse, vr_combine

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text())
FRESH = 50_000
APART = 1_000_000  # between the seeds of trials and of fresh instances
UPDATES = (5, 1000, None)


class Outcome(NamedTuple):
    """One run."""

    error: float  # of the final hypothesis, as noisy labels would show it
    mistakes: int  # on the way


def learner(who: str) -> Any:
    """By the name that `expected.json` uses."""
    known = {"VR-Combine": vr_combine, "V-Combine": v_combine}
    return known[who]() if who in known else parse(who)


def run(who: str, noise: float, *, fresh: int = FRESH, seed: int = 0) -> Outcome:
    """5000 trials, then the error of what was learned."""
    fusion = Fusion(learner(who), classes=range(CLASSES))
    mistakes = fusion.learn(*stream(noise, seed)).mistakes
    votes, labels = stream(0.0, seed + APART, trials=fresh)
    error = float((fusion.predict(votes) != labels).mean())
    return Outcome(noise + error * (1 - noise - noise / (CLASSES - 1)), mistakes)


def optimum(noise: float, seed: int) -> int:
    """Mistakes of who knows the target: the labels that noise has changed."""
    return int((stream(noise, seed).labels != stream(0.0, seed).labels).sum())


def recycling(updates: int | None) -> Combine:
    """VR-Combine with other limits on how often an instance may serve."""
    plain = [Recycled(member, updates=updates) for member in bank("B")]
    return Combine((*plain, *map(Averaged, plain)))


def measure(runs: int = 20, track: Track = silently, *, noises: tuple[float, ...] = NOISES) -> Result:
    """The table, mistakes on the way, and what unlimited recycling does without noise."""
    begin = perf_counter()
    errors, mistakes = [], []
    for noise in noises:
        cells = EXPECTED["final error"][str(noise)]
        names = [*(cell["learner"] for cell in cells), "V-Combine"]
        outcomes: dict[str, list[Outcome]] = {who: [] for who in names}
        best = []
        for seed in track(range(runs), f"Table I, noise {noise}"):
            best.append(optimum(noise, seed))
            for who in names:
                outcomes[who].append(run(who, noise, seed=seed))
        for cell in cells:
            found = interval([outcome.error for outcome in outcomes[cell["learner"]]])
            errors.append(compared(cell, found) | {"noise": noise})
        counts = {who: [outcome.mistakes for outcome in outcomes[who]] for who in ("VR-Combine", "V-Combine")}
        for who, values in (counts | {"optimum": best}).items():
            said = EXPECTED["mistakes"][str(noise)][who]
            mistakes.append(compared(said | {"learner": who}, interval(values)) | {"noise": noise})
    tables = [_errors(errors), _mistakes(mistakes)]
    figures = {"runs": runs, "final error": errors, "mistakes": mistakes}
    if 0.0 in noises:
        figures["mistakes without noise"] = unlimited(runs, track)
        tables.append(_unlimited(figures["mistakes without noise"]))
    title = "2008, Table I: majority of 10 of 20 experts, 5 classes, 5000 trials"
    source = EXPECTED["source"] + f". Here: {runs} runs."
    return Result(title, source, tables, figures, perf_counter() - begin)


def unlimited(runs: int, track: Track = silently) -> list[dict[str, Any]]:
    """Mistakes without noise by how often an instance may serve."""
    rows = []
    for updates in UPDATES:
        counts = [
            learn(recycling(updates), stream(0.0, seed)).mistakes
            for seed in track(range(runs), f"VR-Combine without noise, updates={updates}")
        ]
        said = EXPECTED["mistakes without noise"][str(updates)]
        rows.append(compared(said | {"learner": f"updates={updates}"}, interval(counts)))
    return rows


def compared(cell: dict[str, Any], found: Interval) -> dict[str, Any]:
    """A cell with what was found, and whether it agrees with the reference and with the paper."""
    row = {"learner": cell["learner"], "found": found.mean, "found_ci": found.half}
    row |= {key: cell[key] for key in ("value", "ci", "paper", "paper_ci") if key in cell}
    row["agrees"] = verdict(found, claim(cell))
    row["agrees with paper"] = verdict(found, claim(cell, "paper", "paper_ci"))
    return row


def _line(row: dict[str, Any], digits: int) -> list[str]:
    found = text(Interval(row["found"], row["found_ci"]), digits)
    return [found, text(claim(row), digits), row["agrees"]]


def _errors(rows: list[dict[str, Any]]) -> Table:
    lines = []
    for row in rows:
        line = [f"{row['noise']:g}", name(learner(row["learner"])), *_line(row, 5)]
        lines.append([*line, text(claim(row, "paper", "paper_ci"), 5), row["agrees with paper"]])
    head = ["noise", "algorithm", "linmax", "reference", "agrees", "paper", "agrees with paper"]
    return Table("final error", head, lines, NOTE)


def _mistakes(rows: list[dict[str, Any]]) -> Table:
    lines = [[f"{row['noise']:g}", row["learner"], *_line(row, 1)] for row in rows]
    return Table(
        "mistakes over 5000 trials", ["noise", "algorithm", "linmax", "reference", "agrees"], lines, WIDE
    )


def _unlimited(rows: list[dict[str, Any]]) -> Table:
    lines = [[row["learner"], *_line(row, 1)] for row in rows]
    note = f"The paper tells of {EXPECTED['mistakes without noise']['paper']} mistakes on average."
    return Table(
        "mistakes of VR-Combine without noise", ["recycling", "linmax", "reference", "agrees"], lines, note
    )


WIDE = "A figure whose interval is not known is taken to be as uncertain as linmax's."
NOTE = (
    "Two figures agree when they differ by at most 1.5 sqrt(ci_1^2 + ci_2^2). " + WIDE + " The paper measured"
    " with noisy labels and reports the best of each family, in hindsight."
)
