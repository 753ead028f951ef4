"""2008, remarks on its experiments: averaging of leaders, the leader alone, many classes, random voting.

- An average of the hypotheses of whichever algorithm leads "sometimes degrades performance".
- Always following the leader (`hypotheses=0`) is what is left of VR-Combine without voting.
- With 20 classes and no averages, voting asks for many hypotheses: 500 instead of 20.
- Voting with random hypotheses (Littlestone 1995) is what the paper's voting grew from.

The paper gives no figures for these. Differences are paired: all learners see the same streams.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.fusion import name
from experiments.fusion_remarks.comparisons import RIVALS, SIZES, cells, run
from experiments.interface import Experiment, Figures, Found, Outcome, Table
from experiments.outcomes import statement_outcome
from experiments.statistics import Interval, difference, interval

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))
SIGNS = {"many classes": "20 minus 500", "random": "random minus chosen"}  # above zero, if only in the mean
ELSEWHERE = dict.fromkeys(SIGNS, "elsewhere it holds for the mean, but not significantly")
REMARKS = ("mean of leaders", "leader", "many classes", "random")
Counts = dict[str, list[int]]  # mistakes run by run
Row = dict[str, Any]  # intervals are pairs


def gather(found: list[Found]) -> Figures:
    """Return, for each remark, a row per setting: mistakes, the difference, and whether it holds."""
    figures: Figures = {remark: [] for remark in REMARKS}
    groups: dict[str, list[Found]] = {}
    for one in found:
        key = json.dumps({at: value for at, value in one.cell.items() if at != "seed"})
        groups.setdefault(key, []).append(one)
    for key, them in groups.items():
        setting = json.loads(key)
        remark = setting.pop("remark")
        counts = {who: [one.value[who] for one in them] for who in them[0].value}
        figures[remark] += ROWS[remark](setting, counts)
    return figures


def _averaging(setting: Row, counts: Counts) -> list[Row]:
    letters = "AR" if setting["members"] == "R" else "A"
    best = min((f"{letters}-{name(one)}" for one in RIVALS), key=lambda who: sum(counts[who]))
    keys = ("mean", "scaled mean", "average of the last", "Combine", "leaders")
    row = setting | {key: interval(counts[key]) for key in keys}
    row |= {"best average": interval(counts[best]), "best": best}
    return [row | _more(counts, "mean", "Combine")]


def _following(setting: Row, counts: Counts) -> list[Row]:
    rows = []
    for who in ("VR-Combine", "V-Combine"):
        alone, whole = counts[f"{who}, hypotheses=0"], interval(counts[who])
        more = difference(alone, counts[who])
        holds = more.mean <= EXPECTED["leader"]["tolerance"] * whole.mean
        row = {"who": who, **setting, "Combine": whole, "leader alone": interval(alone)}
        rows.append(row | {"leader minus Combine": more, "holds": "yes" if holds else "no"})
    return rows


def _sizes(setting: Row, counts: Counts) -> list[Row]:
    row = setting | {size: interval(counts[size]) for size in map(str, SIZES)}
    row["average"] = interval(counts["average"]) if "average" in counts else None
    row["20 minus 100"] = difference(counts["20"], counts["100"])
    row["100 minus 500"] = difference(counts["100"], counts["500"])
    asked = setting["classes"] == 20 and setting["voters"] != "62"
    return [row | _more(counts, "20", "500") | ({} if asked else {"holds": ""})]


def _choosing(setting: Row, counts: Counts) -> list[Row]:
    row = setting | {key: interval(counts[key]) for key in ("alone", "random", "chosen", "chosen 30")}
    return [row | _more(counts, "random", "chosen")]


ROWS = {"mean of leaders": _averaging, "leader": _following, "many classes": _sizes, "random": _choosing}


def _more(counts: Counts, one: str, other: str) -> Row:
    """Return the paired difference, and whether it is significantly positive."""
    found = difference(counts[one], counts[other])
    return {f"{one} minus {other}": found, "holds": "yes" if found.above() else "no"}


def judge(figures: Figures) -> list[Outcome]:
    """Check where each remark holds; "in order only" if all means have the claimed sign."""
    outcomes = []
    for remark in REMARKS:
        expected = EXPECTED[remark]
        rows = [row for row in figures[remark] if row["holds"]]
        asked = [row["holds"] for row in rows]
        where, yes = expected["where"], asked.count("yes")
        holds = yes > 0 if where == "somewhere" else yes == len(asked)
        outcomes.append(
            statement_outcome(
                expected["checked"], expected["source"], f"in {yes} of {len(asked)} settings", holds=holds,
                in_order=remark in SIGNS and all(row[SIGNS[remark]][0] > 0 for row in rows), paper=where,
                why="" if holds else ELSEWHERE.get(remark, "elsewhere the difference is larger"),
            )
        )  # fmt: skip
    return outcomes


def tables(figures: Figures) -> list[Table]:
    """Return a table for each remark."""
    return [_table(remark, figures[remark]) for remark in REMARKS]


def _table(remark: str, rows: list[Row]) -> Table:
    said = f"“{EXPECTED[remark]['paper']}” {NOTES[remark]} {BEYOND}"
    return Table(remark, list(rows[0]), [[_text(value) for value in row.values()] for row in rows], said)


def _text(value: Any) -> str:
    if value is None or isinstance(value, list | tuple):
        return "" if value is None else Interval(*value).text()
    return f"{value:g}" if isinstance(value, float) else str(value)


BEYOND = (
    "A row holds if the 95 % t interval of the paired difference is above zero; following the leader"
    " holds if the mean difference is within its tolerance."
)
NOTES = {
    "mean of leaders": "Members B are the 31 plain algorithms (Combine: V-Combine over 62), R the recycled"
    " ones (VR-Combine). Leaders: the number of algorithms that ever led. Average of the last: Averaged() of"
    " the algorithm that led at the end. Best average: in hindsight, of the best algorithms in Table I.",
    "leader": "The leader is the member with the fewest mistakes so far, of 62.",
    "many classes": "10,000 trials. 31: V-Combine over the plain algorithms, 62: over these and their"
    " averages; else voting over one algorithm, and its average. Columns 20, 100, 500: hypotheses.",
    "random": "Random: 30 hypotheses drawn from all past trials. Chosen: 20 hypotheses, as in V-B.",
}

EXPERIMENT = Experiment(
    name="fusion-remarks",
    paper="2008",
    title="2008, remarks: majority of 10 of 20 experts",
    cells=cells,
    run=run,
    gather=gather,
    tables=tables,
    judge=judge,
)
