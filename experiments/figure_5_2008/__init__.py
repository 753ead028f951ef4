"""2008, Figure 5: mistakes over trials on the majority problem with 5 % noise, mean of 20 runs.

Of each family (B plain, R recycled, A averaged, AR both) the member with the fewest mistakes in the mean over
the runs is shown: the best in hindsight. R and V-Combine are not in the paper's figure.
"""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from experiments.keeping import Result, Table, claim, text, verdict
from experiments.majority_2008 import CLASSES, Track, bank, learn, name, silently, stream, v_combine
from experiments.statistics import Interval, interval
from linmax import vr_combine

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text())
NOISE = 0.05
FAMILIES = ("B", "R", "A", "AR")


class Curve(NamedTuple):
    """Mistakes so far, mean over the runs."""

    who: str  # the algorithm; of a family, its best
    level: Interval  # mistakes at the end
    points: np.ndarray


def curves(runs: int, track: Track = silently, *, every: int = 1) -> dict[str, Curve]:
    """The curves by name; of each family every so-many-th member takes part."""
    families = {family: bank(family)[::every] for family in FAMILIES}
    racing = {f"{family} {at}": one for family, them in families.items() for at, one in enumerate(them)}
    racing |= {"VR-Combine": vr_combine(), "V-Combine": v_combine()}
    made: dict[str, list[np.ndarray]] = {key: [] for key in (*racing, "optimum")}
    for seed in track(range(runs), f"Figure 5, noise {NOISE}"):
        panel = stream(NOISE, seed)
        made["optimum"].append(np.cumsum(panel.labels != stream(0.0, seed).labels))
        for key, one in racing.items():
            made[key].append(learn(one, panel, classes=CLASSES).curve)
    found = {key: _curve(key, made[key]) for key in ("optimum", "VR-Combine", "V-Combine")}
    for family, them in families.items():
        each = [_curve(name(one), made[f"{family} {at}"]) for at, one in enumerate(them)]
        found[f"best {family}"] = min(each, key=lambda curve: curve.level.mean)
    return {key: found[key] for key in EXPECTED["order"]}


def _curve(who: str, runs: list[np.ndarray]) -> Curve:
    return Curve(who, interval([float(one[-1]) for one in runs]), np.mean(runs, axis=0))


def in_order(found: dict[str, Curve]) -> bool:
    """Are the levels in the claimed order, the two close ones either way round?"""
    levels = {key: curve.level.mean for key, curve in found.items()}
    first, second = EXPECTED["close"]
    levels[first] = levels[second] = (levels[first] + levels[second]) / 2
    ordered = [levels[key] for key in EXPECTED["order"]]
    return ordered == sorted(ordered)


def measure(runs: int = 20, track: Track = silently, *, every: int = 1) -> tuple[Result, dict[str, Curve]]:
    """The levels at the end beside what is claimed, and the curves to draw."""
    begin = perf_counter()
    found = curves(runs, track, every=every)
    rows, lines = [], []
    for key, curve in found.items():
        said = EXPECTED["mistakes"][key]
        agrees = verdict(curve.level, claim(said))
        lines.append([key, curve.who, text(curve.level), text(claim(said)), agrees])
        row: dict[str, Any] = {"curve": key, "who": curve.who, "found": curve.level.mean}
        rows.append(row | {"found_ci": curve.level.half, "agrees": agrees} | said)
    order = in_order(found)
    claimed = f"{' < '.join(EXPECTED['order'])}; {' and '.join(EXPECTED['close'])} may change places"
    note = f"In the claimed order ({claimed}): {'yes' if order else 'no'}."
    head = ["curve", "algorithm", "linmax", "reference", "agrees"]
    figures = {"runs": runs, "noise": NOISE, "in the claimed order": order, "mistakes": rows}
    title = "2008, Figure 5: majority of 10 of 20 experts, 5 classes, 5 % noise"
    source = EXPECTED["source"] + f". Here: {runs} runs."
    table = Table("mistakes over 5000 trials", head, lines, note)
    return Result(title, source, [table], figures, perf_counter() - begin), found
