"""The plan of 2008: readings of the same scores, of which a committee chooses while it learns."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.fusion_readings.cells import (
    ADDED,
    COMBINE,
    DEFAULT,
    FILES,
    GENERATED,
    METHODS,
    MIXTURE,
    SCALES,
    WIDE,
    cells,
    run,
)
from experiments.interface import Experiment, Figures, Found, Outcome, Table
from experiments.outcomes import statement_outcome
from experiments.statistics import Interval, difference, interval

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))


def gather(found: list[Found]) -> Figures:
    """Return, by panel, the mistakes of each method, the best reading, and paired differences to it."""
    rows = []
    for name in (*GENERATED, *FILES):
        values = [
            one.value
            for one in found
            if name in (one.cell.get("problem"), one.cell.get("panel")) and one.value
        ]
        if values:
            mistakes = {method: [value["mistakes"][method] for value in values] for method in METHODS}
            best = min(SCALES, key=lambda scale: sum(mistakes[scale]))
            rows.append(
                {
                    "panel": Path(name).stem if name in FILES else name,
                    "best": best,
                    "mistakes": {method: interval(numbers) for method, numbers in mistakes.items()},
                    "more": {
                        method: difference(mistakes[method], mistakes[best]) for method in (COMBINE, MIXTURE)
                    },
                    "fewer": difference(mistakes[DEFAULT], mistakes[WIDE]),
                    "microseconds": {
                        method: min(value["microseconds"][method] for value in values) for method in METHODS
                    },
                }
            )
    return {"rows": rows}


def ratios(figures: Figures, method: str, base: str | None = None) -> dict[str, float]:
    """Return the mistakes of a method by panel, relative to another one or to the best single reading."""
    return {
        row["panel"]: row["mistakes"][method][0] / row["mistakes"][base or row["best"]][0]
        for row in figures["rows"]
    }


def judge(figures: Figures) -> list[Outcome]:
    """Judge whether a committee selects the reading, and whether the default should have more readings."""
    bests = {row["panel"]: row["best"] for row in figures["rows"]}
    outcomes = [
        statement_outcome(
            "sometimes raw scores are best and sometimes ranks",
            "2008, section VIII",
            ", ".join(f"{panel}: {best}" for panel, best in bests.items()),
            holds={"raw", "rank"} <= set(bests.values()),
            in_order=len(set(bests.values())) > 1,
            why="" if {"raw", "rank"} <= set(bests.values()) else "the best reading differs, but is neither",
        )
    ]
    for method in (COMBINE, MIXTURE):
        found = {panel: ratio for panel, ratio in ratios(figures, method).items() if panel != ADDED}
        near = [panel for panel, ratio in found.items() if ratio <= EXPECTED["near"]]
        worst = max(found, key=lambda panel: found[panel])
        most = max(row["more"][method][0] for row in figures["rows"] if row["panel"] != ADDED)
        outcomes.append(
            statement_outcome(
                f"a committee over readings ({method}) makes at most {EXPECTED['near']:g} times the mistakes"
                " of the best single reading",
                "2008, section VIII, a plan; aim, set before measuring",
                f"on {len(near)} of {len(found)}; at most {found[worst]:.2f} times ({worst})",
                holds=len(near) == len(found),
                in_order=len(near) >= 0.8 * len(found),
                paper="a plan",
                why="" if len(near) == len(found) else f"at most {most:.0f} mistakes more",
            )
        )
    found = ratios(figures, WIDE, DEFAULT)
    better = [row["panel"] for row in figures["rows"] if Interval(*row["fewer"]).above()]
    worst, least = (pick(found, key=lambda panel: found[panel]) for pick in (max, min))
    outcomes.append(
        statement_outcome(
            "three more readings as members of the default make fewer mistakes than the default",
            "2008, section VIII, a plan; tried here",
            f"significantly on {len(better)} of {len(found)}; {found[least]:.2f} ({least}) to"
            f" {found[worst]:.2f} times ({worst}) as many",
            holds=len(better) > len(found) / 2,
            in_order=bool(better),
            paper="a plan",
        )
    )
    return outcomes


def tables(figures: Figures) -> list[Table]:
    """Return the mistakes by panel, and what was expected."""
    return [
        Table(
            "mistakes by panel",
            ["panel", *METHODS, "V-Combine minus the best reading", "the default minus it with readings"],
            [
                [
                    row["panel"],
                    *(Interval(*row["mistakes"][method]).text() for method in METHODS),
                    Interval(*row["more"][COMBINE]).text(),
                    Interval(*row["fewer"]).text(),
                ]
                for row in figures["rows"]
            ],
            "Means over streams or orders with 95 % intervals; differences are paired. A single reading is an"
            " averaged Perceptron with start='equal' on Votes(as_=...) and Thresholds(), and V-Combine and"
            " the mixture have these four as members.",
        ),
        Table(
            "microseconds of processor time per trial",
            ["panel", *METHODS],
            [
                [row["panel"], *(f"{row['microseconds'][method]:.0f}" for method in METHODS)]
                for row in figures["rows"]
            ],
            "The least over the runs, on a machine with other work.",
        ),
        Table(
            "generated panels",
            ["panel", "scores"],
            [[name, text] for name, text in GENERATED.items()],
            "The last was added after the others were measured, on which one-hot votes lose nothing; the aims"
            " are judged without it.",
        ),
        Table(
            "what was expected before measuring",
            ["method", "expected"],
            [[method, text] for method, text in EXPECTED["expected"].items()],
        ),
    ]


EXPERIMENT = Experiment(
    name="fusion-readings",
    paper="plans",
    title="2008, plan: normalisation chosen while learning",
    cells=cells,
    run=run,
    gather=gather,
    tables=tables,
    judge=judge,
    runs=5,
    optional=tuple(FILES),
)
