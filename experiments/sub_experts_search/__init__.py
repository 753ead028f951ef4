"""The plan of 2003: an infinite parameter space that is searched on-line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from experiments.committee_multiplier.cells import GENERATED, GRID, PANELS
from experiments.curves import BLACK, BLUE, DOTS, RED, tidy
from experiments.interface import Experiment, Figures, Found, Outcome, Table
from experiments.outcomes import statement_outcome
from experiments.statistics import Interval, interval
from experiments.sub_experts_search.cells import LEARNERS, cells, run

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))
SEARCH, BANK, REFERENCE, BEST = "WinnowSearch", "bank of 12", "vr_combine", "best alpha"
TRIED = ("searched bank", "copies from zero", "copies with the weight of the best")
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
    "searched bank": "the bank of 12; after 64, 128, ... trials a neighbour of the best rule in alpha or"
    " slack, as a copy of it, replaces the weakest",
    "copies from zero": "`WinnowSearch` whose copies start without a hypothesis",
    "copies with the weight of the best": "`WinnowSearch` whose copies do not start at the mean weight",
}


def gather(found: list[Found]) -> Figures:
    """Return, by problem, the ratios to VR-Combine and to the best alpha, paired by stream."""
    rows = []
    for name in (*GENERATED, *PANELS):
        values = [one.value for one in found if name in (one.cell.get("problem"), one.cell.get("panel"))]
        if not values or not values[0]:
            continue
        alpha = min(GRID, key=lambda alpha: sum(value["alphas"][repr(alpha)] for value in values))
        made = [value["mistakes"] | {BEST: value["alphas"][repr(alpha)]} for value in values]
        rows.append(
            {
                "problem": Path(name).stem if name in PANELS else name,
                "panel": name in PANELS,
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


def ratios(figures: Figures, column: str, base: str, *, panel: bool) -> dict[str, float]:
    """Return the mean ratio of a learner to `base` by problem."""
    return {row["problem"]: row[base][column][0] for row in figures["rows"] if row["panel"] == panel}


def mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(math.log(max(value, 1e-9)) for value in values) / len(values))


def judge(figures: Figures) -> list[Outcome]:
    """Judge the aims that were set before measuring."""
    outcomes = []
    for panel, what in ((False, "generated problems"), (True, "real panels")):
        bank = ratios(figures, BANK, REFERENCE, panel=panel)
        if not bank:
            continue
        search = ratios(figures, SEARCH, REFERENCE, panel=panel)
        total, fewer = mean(list(bank.values())), sum(ratio <= 1 for ratio in bank.values())
        outcomes.append(
            statement_outcome(
                f"a committee with at most 12 members makes no more mistakes than VR-Combine on {what}",
                "aim, set before measuring",
                f"a fixed bank of 12 {total:.2f} times as many, on {fewer} of {len(bank)} no more;"
                f" `WinnowSearch` {mean(list(search.values())):.2f} times",
                holds=total <= EXPECTED[REFERENCE],
                paper=f"<= {EXPECTED[REFERENCE]:g}",
                why="the geometric mean over the problems; met without a search",
            )
        )
        found = ratios(figures, SEARCH, BEST, panel=panel)
        worst = max(found, key=lambda name: found[name])
        within = sum(ratio <= EXPECTED["best"] for ratio in found.values())
        outcomes.append(
            statement_outcome(
                f"a search on-line makes at most {EXPECTED['best']:g} times the mistakes of the best alpha in"
                f" hindsight on {what}",
                "2003, section 6, as an aim",
                f"on {within} of {len(found)}; {mean(list(found.values())):.2f} times in the mean, at most"
                f" {found[worst]:.2f} times ({worst})",
                holds=within == len(found),
                in_order=within >= 0.8 * len(found),
                paper=f"<= {EXPECTED['best']:g}",
            )
        )
    return outcomes


def tables(figures: Figures) -> list[Table]:
    """Return the ratios by problem, the cost, and the list of what was tried."""
    shown = ("recommended", SEARCH, BANK, "bank of 12, Combine", "searched bank", BEST)
    by_problem = [
        [
            row["problem"],
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
    tried = []
    for column in (REFERENCE, *COLUMNS):
        groups = [
            "1" if column == base else f"{mean(list(found.values())):.2f} ({max(found.values()):.2f})"
            for base in (REFERENCE, BEST)
            for panel in (False, True)
            if (found := ratios(figures, column if column != REFERENCE else SEARCH, base, panel=panel))
        ]
        if column == REFERENCE:
            groups = ["" for _ in groups]
        tried.append(
            [column, NOTES[column], MEMBERS.get(column, "12"), *groups, EXPECTED["expected"][column]]
        )
    bases = [
        f"{what}, / {base}"
        for base in ("VR-Combine", BEST)
        for panel, what in ((False, "generated"), (True, "panels"))
        if ratios(figures, SEARCH, BEST, panel=panel)
    ]
    return [
        Table(
            "mistakes relative to VR-Combine",
            ["problem", "its mistakes", *shown],
            by_problem,
            "Ratios are paired by stream: mean and 95 % interval. Streams have at most 2000 trials,"
            " and panels are random orders of at most 1500 items.",
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
            "The geometric mean of the ratios, and in brackets the largest. With recycling and averaging the"
            " parameters hardly matter, so that six fixed rules are enough and a search gains nothing; for"
            " Winnow alone they do matter, and copies with smaller rates are better than any fixed rate.",
        ),
    ]


def draw(figures: Figures, picture: Any) -> None:
    """Draw the ratios to VR-Combine of the search, the fixed bank and the best alpha."""
    axes, rows = picture.add_subplot(), figures["rows"]
    places = range(len(rows))
    for column, color, marker in ((SEARCH, BLUE, "o"), (BANK, RED, "^"), (BEST, BLACK, "s")):
        means, halves = zip(*(row[REFERENCE][column] for row in rows), strict=True)
        axes.errorbar(
            places,
            means,
            [half or 0.0 for half in halves],
            color=color,
            marker=marker,
            linestyle="none",
            capsize=3,
            label=column,
        )
    axes.axhline(1.0, color=BLACK, linewidth=0.6, linestyle=DOTS)
    axes.set(yscale="log", ylabel="mistakes / VR-Combine")
    axes.set_xticks(list(places), [row["problem"] for row in rows], rotation=60, ha="right", fontsize=8)
    axes.legend(frameon=False)
    tidy(axes)
    picture.suptitle(EXPERIMENT.title, x=0.01, horizontalalignment="left", fontsize=12)


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
    runs=3,
    optional=PANELS,
    fitted="the rules of the bank of 12 and its multiplier, and the grid, the schedule and the multiplier of"
    " `WinnowSearch`, among some 40 designs, on seeds 0 to 2 and 100 to 103 of the same problems, of at most"
    " 3000 trials; the results are of other seeds, which on panels are other orders of the same items",
)
