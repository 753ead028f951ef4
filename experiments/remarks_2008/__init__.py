"""2008, the remarks around its experiments: what does not work, what does, and what many classes ask for.

- An average of the hypotheses of whichever algorithm leads "sometimes degrades performance".
- Always following the leader (`hypotheses=0`) is what is left of VR-Combine without voting.
- With 20 classes and no averages, voting asks for many hypotheses: 500 instead of 20.
- Voting with random hypotheses (Littlestone 1995) is what the paper's voting grew from.

The paper gives no figures for these. Differences are paired: all learners see the same streams.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from experiments.keeping import Result, Table, text
from experiments.majority_2008 import Track, name, silently
from experiments.remarks_2008 import races
from experiments.remarks_2008.races import Counts, difference
from experiments.statistics import Interval, interval

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text())
DIFFERENCE = "difference"


class Cells(NamedTuple):
    """What is run."""

    averaging: tuple[tuple[str, float], ...] = tuple(product("BR", (0.0, 0.05, 0.2, 0.4)))
    following: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.4)
    sizes: tuple[tuple[int, float, str], ...] = tuple(
        product((2, 5, 20), (0.0, 0.05), ("31", "Perceptron", "Winnow(1.2)", "ALMA(2)", "62"))
    )
    choosing: tuple[tuple[Any, float], ...] = tuple(product(races.BASIC, (0.0, 0.05, 0.2)))


ALL = Cells()
SMALL = Cells((("B", 0.0),), (0.0,), ((20, 0.0, "Perceptron"),), ((races.BASIC[0], 0.0),))


def measure(runs: int = 20, track: Track = silently, *, cells: Cells = ALL) -> Result:
    """A table for each remark, and one that says which hold."""
    begin = perf_counter()
    found = {
        "mean of leaders": [_averaging(*cell, runs, track) for cell in cells.averaging],
        "leader": [row for noise in cells.following for row in _following(noise, runs, track)],
        "many classes": [_sizes(*cell, runs, track) for cell in cells.sizes],
        "random": [_choosing(*cell, runs, track) for cell in cells.choosing],
    }
    lines = []
    for remark, rows in found.items():
        asked = [row["holds"] for row in rows if row["holds"]]
        where, yes = EXPECTED[remark]["where"], asked.count("yes")
        holds = yes > 0 if where == "somewhere" else yes == len(asked)
        claimed = [EXPECTED[remark]["checked"], where, f"{yes} of {len(asked)}"]
        lines.append([remark, *claimed, "yes" if holds else "no"])
    head = ["remark", "checked", "should hold", "holds in rows", "agrees"]
    tables = [Table("which remarks hold", head, lines, BEYOND)]
    tables += [_table(remark, rows) for remark, rows in found.items()]
    title = "2008, remarks: majority of 10 of 20 experts"
    source = EXPECTED["source"] + f". Here: {runs} runs; 5 classes, 5000 trials unless said."
    return Result(title, source, tables, {"runs": runs, **found}, perf_counter() - begin)


def _averaging(plain: str, noise: float, runs: int, track: Track) -> dict[str, Any]:
    best, counts = races.averaging(plain, noise, runs, track)
    keys = ("mean", "scaled mean", "average of the last", "Combine", "leaders")
    row = {"members": plain, "noise": noise} | {key: interval(counts[key]) for key in keys}
    row |= {"best average": interval(counts[best]), "best": best}
    return row | _more(counts, "mean", "Combine")


def _following(noise: float, runs: int, track: Track) -> list[dict[str, Any]]:
    counts, rows = races.following(noise, runs, track), []
    for who in ("VR-Combine", "V-Combine"):
        alone, whole = f"{who}, hypotheses=0", interval(counts[who])
        more = difference(counts, alone, who)
        holds = more.mean <= EXPECTED["leader"]["tolerance"] * whole.mean
        row = {"who": who, "noise": noise, "Combine": whole, "leader alone": interval(counts[alone])}
        rows.append(row | {DIFFERENCE: more, "holds": "yes" if holds else "no"})
    return rows


def _sizes(classes: int, noise: float, who: str, runs: int, track: Track) -> dict[str, Any]:
    counts = races.sizes(who, classes, noise, runs, track)
    row: dict[str, Any] = {"classes": classes, "noise": noise, "voters": who}
    row |= {size: interval(counts[size]) for size in map(str, races.SIZES)}
    row["average"] = interval(counts["average"]) if "average" in counts else None
    row |= {
        "20 minus 100": difference(counts, "20", "100"),
        "100 minus 500": difference(counts, "100", "500"),
    }
    asked = classes == 20 and who != "62"
    return row | _more(counts, "20", "500") | ({} if asked else {"holds": ""})


def _choosing(basic: Any, noise: float, runs: int, track: Track) -> dict[str, Any]:
    counts = races.choosing(basic, noise, runs, track)
    row = {"B": name(basic), "noise": noise, "alone": interval(counts["B"])}
    row |= {key: interval(counts[key]) for key in ("random", "chosen", "chosen 30")}
    return row | _more(counts, "random", "chosen")


def _more(counts: Counts, one: str, other: str) -> dict[str, Any]:
    """The paired difference, and whether it is above zero beyond chance."""
    found = difference(counts, one, other)
    return {DIFFERENCE: found, "holds": "yes" if found.mean - found.half > 0 else "no"}


def _table(remark: str, rows: list[dict[str, Any]]) -> Table:
    head = [WHAT.get((remark, key), key) for key in rows[0]]
    return Table(remark, head, [[_text(value) for value in row.values()] for row in rows], NOTES[remark])


def _text(value: Any) -> str:
    if value is None or isinstance(value, Interval):
        return text(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


BEYOND = (
    "A row holds when the 95 % t interval of the paired difference lies above zero; following the leader"
    " holds when the mean difference is within its tolerance."
)
WHAT = {
    ("mean of leaders", DIFFERENCE): "mean minus Combine",
    ("leader", DIFFERENCE): "leader minus Combine",
    ("many classes", DIFFERENCE): "20 minus 500",
    ("random", DIFFERENCE): "random minus chosen",
}
NOTES = {
    "mean of leaders": "Members B are the 31 plain algorithms (Combine: V-Combine over 62), R the recycled"
    " ones (VR-Combine). Leaders: how many algorithms ever led. Average of the last: Averaged() of the"
    " algorithm that led in the end. Best average: in hindsight, of those that do well in Table I.",
    "leader": "The leader is the member with the fewest mistakes so far, of 62.",
    "many classes": "10,000 trials. 31: V-Combine over the plain algorithms, 62: over these and their"
    " averages; else voting over one algorithm, and its average. Columns 20, 100, 500: hypotheses.",
    "random": "Random: 30 hypotheses drawn from all past trials. Chosen: 20 hypotheses, as in V-B.",
}
