"""The plan of 2003: an infinite parameter space that is searched on-line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from experiments.committee_multiplier.cells import GRID, PANELS
from experiments.curves import plot_ratios
from experiments.interface import Experiment, Figures, Found, Outcome, Table
from experiments.outcomes import statement_outcome
from experiments.statistics import Interval, interval
from experiments.sub_experts_search.cells import (
    LEARNERS,
    MOST_ITEMS,
    MOST_TRIALS,
    PROBLEMS,
    UNSEEN,
    cells,
    run,
)

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))
SEARCH, BANK, REFERENCE, BEST = "WinnowSearch", "bank of 12", "vr_combine", "best alpha"
GROUPS = {
    "generated": "generated problems",
    "unseen": "problems not used for choices",
    "panels": "real panels",
}
TRIED = (
    "searched bank",
    "searched bank with ALMA",
    "copies from zero",
    "copies with the weight of the best",
)
COLUMNS = (*(name for name in LEARNERS if name != REFERENCE), *TRIED, BEST)
MEMBERS = {REFERENCE: "62", "recommended": "7", BEST: "1", "grid of 8": "8"}
NOTES = {
    REFERENCE: "`vr_combine()`",
    "recommended": "`recommended()`, the default",
    BEST: "`Winnow` with the best of 16 values of `alpha`, chosen per problem after the runs",
    SEARCH: "**kept**: 8 rates, and 4 copies that search",
    "grid of 8": "Weighted Majority over the same 8 rates, without copies",
    "grid of 12": "Weighted Majority over 12 rates with the ratio 2",
    BANK: "6 rules with recycling, each also averaged, under Weighted Majority(1.1), fixed",
    "bank of 12, Combine": "the same members under `Combine`",
    "bank with ALMA": "as the bank of 12, with `Alma(4, alpha=0.9)` and Winnow(1.1) instead of"
    " Winnow(1.05) and Winnow(1.2)",
    "searched bank with ALMA": "the bank with ALMA; every 64 trials a neighbour of the best member in any"
    " parameter (alpha and slack, p and alpha of ALMA, size and updates of recycling), which learns from the"
    " latest 400 trials, replaces the weakest",
    "searched bank": "the bank of 12; after 64, 128, ... trials a neighbour of the best rule in alpha or"
    " slack, as a copy of it, replaces the weakest",
    "copies from zero": "`WinnowSearch` whose copies start without a hypothesis",
    "copies with the weight of the best": "`WinnowSearch` whose copies do not start at the mean weight",
}


def gather(found: list[Found]) -> Figures:
    """Return, by problem, the ratios to VR-Combine and to the best alpha, paired by stream."""
    rows = []
    for name in (*PROBLEMS, *PANELS):
        values = [one.value for one in found if name in (one.cell.get("problem"), one.cell.get("panel"))]
        if not values or not values[0]:
            continue
        alpha = min(GRID, key=lambda alpha: sum(value["alphas"][repr(alpha)] for value in values))
        made = [value["mistakes"] | {BEST: value["alphas"][repr(alpha)]} for value in values]
        rows.append(
            {
                "problem": Path(name).stem if name in PANELS else name,
                "runs": len(values),
                "group": "panels" if name in PANELS else "unseen" if name in UNSEEN else "generated",
                "alpha": alpha,
                "mistakes": {column: interval([one[column] for one in made]) for column in made[0]},
                REFERENCE: {
                    column: interval([one[column] / max(one[REFERENCE], 1) for one in made])
                    for column in COLUMNS
                },
                BEST: {
                    column: interval([one[column] / max(one[BEST], 1) for one in made]) for column in COLUMNS
                },
                "microseconds": {
                    learner: min(value["microseconds"][learner] for value in values) for learner in LEARNERS
                },
            }
        )
    return {"rows": rows}


def ratios(figures: Figures, column: str, base: str, group: str) -> dict[str, float]:
    """Return the mean ratio of a learner to `base` by problem."""
    return {row["problem"]: row[base][column][0] for row in figures["rows"] if row["group"] == group}


def logs(found: dict[str, float]) -> list[float]:
    """Return the logarithms of ratios."""
    return [math.log(max(ratio, 1e-9)) for ratio in found.values()]


def mean(found: dict[str, float]) -> float:
    """Return the geometric mean of ratios."""
    return math.exp(interval(logs(found)).mean)


def mean_and_interval(found: dict[str, float]) -> str:
    """Return the geometric mean of ratios with its 95 % interval over the problems."""
    centre, half = interval(logs(found))
    if half is None:
        return f"{math.exp(centre):.2f}"
    return f"{math.exp(centre):.2f} ({math.exp(centre - half):.2f} to {math.exp(centre + half):.2f})"


def significant(figures: Figures, column: str, group: str) -> tuple[int, int]:
    """Return on how many problems a learner makes significantly fewer and more mistakes than VR-Combine."""
    rows = [Interval(*row[REFERENCE][column]) for row in figures["rows"] if row["group"] == group]
    fewer = sum(row.half is not None and row.mean + row.half < 1 for row in rows)
    return fewer, sum(row.above(1.0) for row in rows)


def judge(figures: Figures) -> list[Outcome]:
    """Judge the aims that were set before measuring."""
    outcomes = []
    for group, what in GROUPS.items():
        bank = ratios(figures, BANK, REFERENCE, group)
        if not bank:
            continue
        search = ratios(figures, SEARCH, REFERENCE, group)
        fewer, more = significant(figures, BANK, group)
        outcomes.append(
            statement_outcome(
                f"a committee with at most 12 members makes no more mistakes than VR-Combine on {what}",
                "aim, set before measuring",
                f"a fixed {BANK} {mean_and_interval(bank)} times as many, significantly fewer on {fewer} of"
                f" {len(bank)} and more on {more}; `{SEARCH}` {mean(search):.2f} times",
                holds=mean(bank) <= EXPECTED[REFERENCE],
                paper=f"<= {EXPECTED[REFERENCE]:g}",
                why="the geometric mean, with its interval over the problems; the bank is not searched",
            )
        )
        found = ratios(figures, SEARCH, BEST, group)
        worst = max(found, key=lambda name: found[name])
        within = sum(ratio <= EXPECTED["best"] for ratio in found.values())
        outcomes.append(
            statement_outcome(
                f"a search on-line makes at most {EXPECTED['best']:g} times the mistakes of the best alpha in"
                f" hindsight on {what}",
                "2003, section 6, as an aim",
                f"on {within} of {len(found)}; {mean(found):.2f} times in the mean, at most"
                f" {found[worst]:.2f} times ({worst})",
                holds=within == len(found),
                in_order=within >= 0.8 * len(found),
                paper=f"<= {EXPECTED['best']:g}",
            )
        )
    return outcomes


def tables(figures: Figures) -> list[Table]:
    """Return the ratios by problem, the cost, and the list of what was tried."""
    shown = ("recommended", SEARCH, BANK, "bank of 12, Combine", "searched bank", "bank with ALMA")
    shown += ("searched bank with ALMA", BEST)
    by_problem = [
        [
            row["problem"],
            str(row["runs"]),
            Interval(*row["mistakes"][REFERENCE]).text(),
            *(Interval(*row[REFERENCE][column]).text(2) for column in shown),
        ]
        for row in figures["rows"]
    ]
    rates = (SEARCH, "grid of 8", "grid of 12", "copies from zero", "copies with the weight of the best")
    by_alpha = [
        [
            row["problem"],
            f"{row['alpha']:g}",
            Interval(*row["mistakes"][BEST]).text(),
            *(Interval(*row[BEST][column]).text(2) for column in rates),
        ]
        for row in figures["rows"]
    ]
    costs = [
        [row["problem"], *(f"{row['microseconds'][learner]:.1f}" for learner in LEARNERS)]
        for row in figures["rows"]
    ]
    pairs = [
        (base, group)
        for base in (REFERENCE, BEST)
        for group in GROUPS
        if ratios(figures, SEARCH, base, group)
    ]
    tried = []
    for column in (REFERENCE, *COLUMNS):
        cells = []
        for base, group in pairs:
            found = {} if column == REFERENCE else ratios(figures, column, base, group)
            cells.append(f"{mean(found):.2f} ({max(found.values()):.2f})" if found and column != base else "")
        tried.append([column, NOTES[column], MEMBERS.get(column, "12"), *cells, EXPECTED["expected"][column]])
    bases = [f"{group}, / {'VR-Combine' if base == REFERENCE else base}" for base, group in pairs]
    return [
        Table(
            "mistakes relative to VR-Combine",
            ["problem", "runs", "its mistakes", *shown],
            by_problem,
            f"Ratios are paired by stream: mean and 95 % interval. Streams have at most {MOST_TRIALS} trials,"
            f" and panels are random orders of at most {MOST_ITEMS} items; runs is the number of streams.",
        ),
        Table(
            "mistakes relative to the best fixed alpha in hindsight",
            ["problem", "best alpha", "its mistakes", *rates],
            by_alpha,
        ),
        Table(
            "CPU time per trial in microseconds",
            ["problem", *LEARNERS],
            costs,
            "The least of all runs, whole streams, threads added up.",
        ),
        Table(
            "what was tried",
            ["name", "committee", "members", *bases, "expected before measuring"],
            tried,
            "The geometric mean of the ratios, and in brackets the largest. The bank of 12 is not a preset,"
            " because it does not make fewer mistakes than VR-Combine on problems that were not used to"
            " choose its rules. A search over the parameters of recycled and averaged members, those of ALMA"
            " and of recycling included, does not make fewer mistakes than the fixed bank that it starts"
            " from, beyond the intervals. For Winnow alone the rate matters, and copies with smaller rates"
            " are better than any fixed rate.",
        ),
    ]


def draw(figures: Figures, picture: Any) -> None:
    """Draw the ratios to VR-Combine of the search, the fixed bank and the best alpha."""
    rows = figures["rows"]
    plot_ratios(
        picture.add_subplot(),
        [row["problem"] for row in rows],
        {column: [row[REFERENCE][column] for row in rows] for column in (SEARCH, BANK, BEST)},
        label="mistakes / VR-Combine",
    )


EXPERIMENT = Experiment(
    name="sub-experts-search",
    paper="plans",
    title="2003, plan: an infinite parameter space, searched on-line",
    cells=cells,
    run=run,
    gather=gather,
    tables=tables,
    judge=judge,
    draw=draw,
    size=(9.5, 6.0),
    runs=8,
    optional=PANELS,
    fitted="the rules of the bank of 12 and its multiplier, and the grid, schedule and multiplier of"
    " `WinnowSearch`, among some 40 designs, on seeds 0 to 2 and 100 to 103 of the same problems, of at"
    " most 3000 trials; the results are of other seeds, which on panels are other orders of the same items;"
    " five problems were not used for any choice",
)
