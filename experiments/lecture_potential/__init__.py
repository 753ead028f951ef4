"""Schapire's lecture of 2008, section 4: the potential RE(u || w) decreases by at least C per mistake.

C = eta delta - ln cosh eta;  RE(u || w) = sum u ln(u / w) starts at no more than ln N and is never negative
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from experiments.curves import BLACK, BLUE, DOTS, RED, tidy
from experiments.interface import Experiment, Figures, Found, Outcome, Table
from experiments.lecture import BEST, SIZE, potential_decrease
from experiments.lecture_potential.cells import EXPERTS, cells, run
from experiments.outcomes import statement_outcome

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))
ROUNDING = 1e-9
NAMES = {"random": "random streams", "adversary": "adversary"}
STREAMS = {"random": {"color": BLUE}, "adversary": {"color": RED, "linestyle": DOTS}}


def gather(found: list[Found]) -> Figures:
    """Return the potentials, and the smallest decrease of all mistakes."""
    falls = [np.diff(one.value) * -1 for one in found]
    return {
        "least fall": float(min(one.min() for one in falls)),
        "least potential": min(min(one.value) for one in found),
        "mistakes": sum(len(one) for one in falls),
        "potentials": [{"stream": one.cell["stream"], "after": one.value} for one in found],
    }


def judge(figures: Figures) -> list[Outcome]:
    """Check the decrease on every mistake, and that the potential stays positive."""
    least, C = figures["least fall"], potential_decrease(BEST)
    return [
        statement_outcome(
            f"the potential decreases by at least C = {C:.4f} on every mistake",
            "lecture, section 4",
            f"by at least {least:.4f} on all {figures['mistakes']} mistakes",
            holds=least >= C - ROUNDING,
        ),
        statement_outcome(
            "the potential is never below 0",
            "lecture, section 4",
            f"{figures['least potential']:.4f} at least",
            holds=figures["least potential"] >= -ROUNDING,
        ),
    ]


def tables(figures: Figures) -> list[Table]:
    """Return the table of first and last potentials by stream."""
    lines = []
    for one in figures["potentials"]:
        after = one["after"]
        falls = -np.diff(after)
        lines.append(
            [one["stream"], str(len(falls)), f"{after[0]:.3f}", f"{after[-1]:.3f}", f"{falls.min():.4f}"]
        )
    head = ["stream", "mistakes", "potential at the start", "at the end", "smallest decrease"]
    return [Table(f"Winnow with the best eta on a panel of {SIZE} of {EXPERTS}", head, lines)]


def draw(figures: Figures, picture: Any) -> None:
    """Draw the potential over mistakes, and its upper limit in the proof."""
    axes, C = picture.add_subplot(), potential_decrease(BEST)
    start = math.log(EXPERTS / SIZE)
    named = set()
    for one in figures["potentials"]:
        label = None if one["stream"] in named else NAMES[one["stream"]]
        named.add(one["stream"])
        style = STREAMS[one["stream"]]
        axes.plot(
            range(len(one["after"])),
            one["after"],
            label=label,
            linewidth=1.4,
            marker=".",
            markersize=3,
            **style,
        )
    axes.plot(
        [0, start / C], [start, 0], color=BLACK, linewidth=1.0, label=f"start - C mistakes, C = {C:.3f}"
    )
    axes.set(xlabel="mistakes", ylabel="RE(u || w)", xlim=(0, None), ylim=(0, None))
    axes.legend(frameon=False)
    tidy(axes)


EXPERIMENT = Experiment(
    name="lecture-potential",
    paper="lecture",
    title="Lecture: the potential of Winnow decreases by at least C on every mistake",
    cells=cells,
    run=run,
    gather=gather,
    tables=tables,
    judge=judge,
    draw=draw,
    size=(7.5, 4.8),
    runs=5,
)
