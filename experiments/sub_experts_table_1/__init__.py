"""2003, Table 1: four targets of a calendar, predicted by pairs of attribute values.

The data of the Calendar Apprentice are lost. The experiment runs on a generated calendar
(`linmax.problems.calendar`), whose figures cannot be compared with the paper's. The real files are read and
compared if they exist.
"""

from __future__ import annotations

import json
from pathlib import Path

from experiments.interface import Experiment, Figures, Found, Outcome, Table
from experiments.outcomes import figure_outcome, lost_data_outcome, same_order_as_paper, statement_outcome
from experiments.statistics import Interval, difference, interval
from experiments.sub_experts_table_1.cells import BASIC, REAL, WHO, cells, run
from linmax.problems.calendar import TARGETS

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))
TABLE = "2003, Table 1"
ROWS = (*TARGETS, "average")
LOST = "the Calendar Apprentice data are lost; the figures here are those of a generated calendar"


def gather(found: list[Found]) -> Figures:
    """Return accuracies by target and their mean, of the generated and the real calendar."""
    made = [one for one in found if one.cell["of"] == "stand-in"]
    runs = {
        (target, who): [one.value[who] for one in made if one.cell["target"] == target]
        for target in TARGETS
        for who in WHO
    }
    for who in WHO:
        each = zip(*(runs[target, who] for target in TARGETS), strict=True)
        runs["average", who] = [sum(four) / len(TARGETS) for four in each]
    best = max(BASIC, key=lambda who: sum(runs["average", who]))
    real = {one.cell["target"]: one.value for one in found if one.cell["of"] == "real" and one.value}
    if real:
        real["average"] = {who: sum(real[target][who] for target in TARGETS) / len(TARGETS) for who in WHO}
    return {
        "stand-in": {row: {who: interval(runs[row, who]) for who in WHO} for row in ROWS},
        "best": best,
        "combined minus best": difference(runs["average", "combined"], runs["average", best]),
        "real": real or None,
    }


def judge(figures: Figures) -> list[Outcome]:
    """Compare the real files figure by figure; without them the data are lost."""
    real, made = figures["real"], figures["stand-in"]
    if real:
        tolerance = EXPECTED["tolerance"]
        outcomes = []
        for row in ROWS:
            paper = {who: Interval(EXPECTED[row][who], tolerance) for who in WHO}
            found = {who: Interval(real[row][who]) for who in WHO}
            outcomes += [
                figure_outcome(
                    f"accuracy of {who} on {row}",
                    TABLE,
                    paper[who],
                    found[who],
                    digits=3,
                    in_order=same_order_as_paper(who, paper, found),
                )
                for who in WHO
            ]
        above = all(real["average"]["combined"] > real["average"][who] for who in BASIC)
        return [*outcomes, statement_outcome(CLAIM, TABLE, f"{real['average']['combined']:.3f}", holds=above)]
    outcomes = [
        lost_data_outcome(
            f"accuracies on {row}",
            TABLE,
            _best({who: Interval(EXPECTED[row][who]) for who in WHO}),
            _best({who: Interval(*made[row][who]) for who in WHO}),
            LOST,
        )
        for row in ROWS
    ]
    ahead = Interval(*figures["combined minus best"])
    told = (
        f"on the stand-in {100 * ahead.mean:+.1f} ± {100 * (ahead.half or 0):.1f} points to {figures['best']}"
    )
    return [*outcomes, lost_data_outcome(CLAIM, "2003, section 5.2", "0.657 against 0.628", told, LOST)]


def _best(row: dict[str, Interval]) -> str:
    best = max(BASIC, key=lambda who: row[who].mean)
    return f"combined {row['combined'].text(3)}, best {best} {row[best].text(3)}"


def tables(figures: Figures) -> list[Table]:
    """Return a table like the paper's for each calendar, and the paper's."""
    paper = [[row, *(f"{EXPECTED[row][who]:.3f}" for who in WHO)] for row in ROWS]
    made = [[row, *(Interval(*figures["stand-in"][row][who]).text(3) for who in WHO)] for row in ROWS]
    found = [Table("the stand-in", ["target", *WHO], made, LOST + ".")]
    if figures["real"]:
        real = [[row, *(f"{figures['real'][row][who]:.3f}" for who in WHO)] for row in ROWS]
        found.append(Table(f"the real calendar ({REAL})", ["target", *WHO], real))
    return [*found, Table("the paper's table", ["target", *WHO], paper)]


CLAIM = "Weighted Majority's average accuracy exceeds that of all basic algorithms"

EXPERIMENT = Experiment(
    name="sub-experts-table-1",
    paper="2003",
    title="2003, Table 1: a calendar's day, duration, location and start, on generated data",
    cells=cells,
    run=run,
    gather=gather,
    tables=tables,
    judge=judge,
    optional=(REAL,),
    fitted="the regularity of the generated calendar: increased once, after a first run, towards the"
    " accuracies of the paper. The data are lost; if you have them, put them into"
    f" {REAL} of the folder of data.",
)
