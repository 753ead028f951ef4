"""Schapire's lecture of 2008, Eq. 10 and 11: the bound of Winnow over eta, and mistakes.

M <= ln N / (eta delta - ln cosh eta), least at eta = 1/2 ln((1 + delta) / (1 - delta))
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from experiments.curves import BLACK, BLUE, DOTS, RED, tidy
from experiments.interface import Experiment, Figures, Found, Outcome, Table
from experiments.lecture import BEST, DELTA, SIZE, potential_decrease
from experiments.lecture_eta.cells import EXPERTS, cells, run
from experiments.outcomes import statement_outcome
from experiments.statistics import Interval, interval

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))


def limit(eta: float) -> float:
    """Return the bound of Eq. 10."""
    return math.log(EXPERTS) / potential_decrease(eta)


def gather(found: list[Found]) -> Figures:
    """Return the results by eta."""
    rows = []
    for eta in sorted({one.cell["eta"] for one in found}):
        them = [one for one in found if one.cell["eta"] == eta]
        counts = [one.value for one in them if one.cell["stream"] == "random"]
        (worst,) = [one.value for one in them if one.cell["stream"] == "adversary"]
        rows.append(
            {
                "eta": eta,
                "random": interval(counts),
                "most": max(counts),
                "adversary": worst,
                "bound": limit(eta),
            }
        )
    return {"rows": rows}


def judge(figures: Figures) -> list[Outcome]:
    """Check that the bound holds for every eta, and its minimum."""
    rows = figures["rows"]
    part = max(max(row["most"], row["adversary"]) / row["bound"] for row in rows)
    fine = np.linspace(0.001, 0.69, 100_000)
    least = float(fine[np.argmin([limit(eta) for eta in fine])])
    best = min(rows, key=lambda row: row["adversary"])["eta"]
    return [
        statement_outcome(
            "Winnow makes at most ln N / (eta delta - ln cosh eta) mistakes",
            "lecture, Eq. 10",
            f"at most {part:.2f} times the bound, on random streams and against an adversary",
            holds=part <= 1,
        ),
        statement_outcome(
            "the bound is smallest at eta = 1/2 ln((1 + delta) / (1 - delta))",
            "lecture, Eq. 11",
            f"least at {least:.4f}; the adversary makes fewest mistakes at {best:g}",
            holds=abs(least - BEST) < 1e-4,
            paper=f"{BEST:.4f} at delta = 1/3",
        ),
        statement_outcome(
            "with this eta the bound is at most 2 ln N / delta^2",
            "lecture, Eq. 11",
            f"{limit(BEST):.1f}",
            holds=limit(BEST) <= 2 * math.log(EXPERTS) / DELTA**2,
            paper=f"{2 * math.log(EXPERTS) / DELTA**2:.1f} at N = {EXPERTS}",
        ),
    ]


def tables(figures: Figures) -> list[Table]:
    """Return the table by eta."""
    lines = [
        [f"{row['eta']:g}", Interval(*row["random"]).text(), str(row["adversary"]), f"{row['bound']:.1f}"]
        for row in figures["rows"]
    ]
    title = f"mistakes of Winnow on a panel of {SIZE} of {EXPERTS}"
    note = "The adversary knows the weights before every trial; the panel is always right."
    return [Table(title, ["eta", "random streams", "adversary", "bound"], lines, note)]


def draw(figures: Figures, picture: Any) -> None:
    """Draw mistakes and bound over eta."""
    axes, rows = picture.add_subplot(), figures["rows"]
    etas = [row["eta"] for row in rows]
    fine = np.linspace(etas[0], etas[-1], 300)
    axes.plot(fine, [limit(eta) for eta in fine], color=BLACK, linewidth=1.2, label="bound, Eq. 10")
    axes.plot(
        etas, [row["adversary"] for row in rows], color=RED, marker="o", linestyle=DOTS, label="adversary"
    )
    axes.errorbar(
        etas,
        [row["random"][0] for row in rows],
        [row["random"][1] or 0.0 for row in rows],
        color=BLUE,
        marker="s",
        capsize=3,
        label="random streams",
    )
    axes.axvline(BEST, color=BLACK, linewidth=0.6, linestyle=DOTS)
    axes.annotate(
        "best eta", (BEST, 0.97), (4, 0), xycoords=("data", "axes fraction"), textcoords="offset points"
    )
    axes.set(xlabel="eta", ylabel="mistakes", ylim=(0, 4 * limit(BEST)), xlim=(0, etas[-1] + 0.03))
    axes.legend(frameon=False)
    tidy(axes)


EXPERIMENT = Experiment(
    name="lecture-eta",
    paper="lecture",
    title="Lecture: Winnow's bound over eta, on a panel of 3 of 1000 experts",
    cells=cells,
    run=run,
    gather=gather,
    tables=tables,
    judge=judge,
    draw=draw,
    size=(7.5, 4.8),
    runs=10,
)
