"""2008, Figure 4: the accuracy of Balanced Winnow's hypotheses varies between trials on forest cover.

Spruce or not, alpha = 1.2, accuracy on 10,000 other rows after every trial; with it the average of the
hypotheses and voting, which the paper offers as cures. The paper says neither how attributes were coded nor
how many trials it shows: here the ten quantities are scaled to [0, 1], the two kinds of category are one
column each, and there is a constant. Balanced Winnow on attributes is `Winnow.on(Attributes())`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments import data as files
from experiments.curves import BLACK, BLUE, GREY, RED, tidy
from experiments.fusion_figure_4.cells import (
    LEARNERS,
    cells,
    run,
)
from experiments.interface import Experiment, Figures, Found, Outcome, Table
from experiments.outcomes import statement_outcome
from experiments.statistics import Interval, difference, interval

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))


def gather(found: list[Found]) -> Figures:
    """Return the curves of the first run; and of all runs the variation and accuracy in the second half."""
    figures: Figures = {"trials": found[0].cell["trials"], "never": found[0].value["never"], "learners": {}}
    for name in LEARNERS:
        curves = [np.array(one.value["curve"]) for one in found if one.cell["learner"] == name]
        halves = [curve[len(curve) // 2 :] for curve in curves]
        spread = [float(np.quantile(half, 0.95) - np.quantile(half, 0.05)) for half in halves]
        figures["learners"][name] = {
            "spread": interval(spread),
            "spreads": spread,
            "accuracy": interval([half.mean() for half in halves]),
            "last": interval([curve[-1] for curve in curves]),
            "curve": curves[0].round(4).tolist(),
        }
    return figures


def judge(figures: Figures) -> list[Outcome]:
    """Check that it varies, and that its average and voting vary less."""
    found = figures["learners"]
    plain = Interval(*found["Balanced"]["spread"])
    outcomes = [
        statement_outcome(
            "the accuracy of Balanced Winnow with alpha = 1.2 is unstable",
            "2008, Figure 4",
            f"over the second half 90 % of the trials spread over {_points(plain)} points",
            holds=plain.mean >= EXPECTED["unstable"],
            paper="a curve without figures",
            why=f"unstable: at least {100 * EXPECTED['unstable']:.0f} points, our interpretation",
        ),
    ]
    for name in ("averaged", "voted"):
        less = difference(found["Balanced"]["spreads"], found[name]["spreads"])
        spread, level, plain = (
            Interval(*one)
            for one in (found[name]["spread"], found[name]["accuracy"], found["Balanced"]["accuracy"])
        )
        outcomes.append(
            statement_outcome(
                f"{name} hypotheses vary less and are more accurate",
                "2008, sections IV and V",
                f"{_points(spread)} points; accuracy {level.text(3)} rather than {plain.text(3)}",
                holds=less.above() and level.mean > plain.mean,
                in_order=less.mean > 0,
            )
        )
    return outcomes


def _points(part: Interval) -> str:
    return Interval(100 * part.mean, None if part.half is None else 100 * part.half).text()


def tables(figures: Figures) -> list[Table]:
    """Return the table of accuracy and variation."""
    lines = [
        [
            name,
            Interval(*one["accuracy"]).text(4),
            Interval(*one["spread"]).text(4),
            Interval(*one["last"]).text(4),
        ]
        for name, one in figures["learners"].items()
    ]
    head = ["hypothesis", "accuracy", "spread", "accuracy in the end"]
    note = "Accuracy on rows that were not learned, in the second half of the trials; spread: 5 % to 95 %."
    return [Table(f"spruce or not, {figures['trials']} trials", head, lines, note)]


def draw(figures: Figures, picture: Any) -> None:
    """Draw accuracy over trials."""
    axes, trials = picture.add_subplot(), figures["trials"]
    styles = {
        "Balanced": {"color": GREY, "linewidth": 0.5},
        "averaged": {"color": BLUE, "linewidth": 2.2},
        "voted": {"color": RED, "linewidth": 1.4},
    }
    for name, one in figures["learners"].items():
        points = one["curve"]
        axes.plot(np.linspace(trials / len(points), trials, len(points)), points, label=name, **styles[name])
    axes.axhline(figures["never"], color=BLACK, linewidth=0.6)
    axes.annotate(
        "who never says spruce",
        (0.01, figures["never"] - 0.012),
        xycoords=("axes fraction", "data"),
        fontsize=8,
    )
    axes.set(xlim=(0, trials), xlabel="trials", ylabel="accuracy on 10,000 other rows")
    axes.legend(frameon=False, loc="lower right")
    tidy(axes)


EXPERIMENT = Experiment(
    name="fusion-figure-4",
    paper="2008",
    title="2008, Figure 4: accuracy of Balanced Winnow, alpha = 1.2, on forest cover",
    cells=cells,
    run=run,
    gather=gather,
    tables=tables,
    judge=judge,
    draw=draw,
    runs=5,
    data=(files.COVERTYPE,),
)
