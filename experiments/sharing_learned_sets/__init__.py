"""2006, section 6: would sets of classes that are learned from the confusion pay?

A generous answer: the sets are given from the start, from the confusion of a whole run that came before,
which no on-line learner has. They are the inner nodes of a tree of classes (average linkage of how often two
are taken for each other); each has a vector of its own, on x ("plain") or on the class-dependent features.
Beside them the same sets with classes renamed at random, for more vectors alone change the result; and a
made-up problem in which groups of classes truly share their relevant attributes, with the true sets.
"""

from __future__ import annotations

from experiments.interface import Experiment, Figures, Found, Table, Verdict
from experiments.sharing_learned_sets.cells import EXPECTED, GROUPS, NAMES, WAYS, cells, run
from experiments.statistics import difference, interval
from experiments.verdicts import stated


def gather(found: list[Found]) -> Figures:
    """By set and way, run by run."""
    return {
        name: {way: [value[way] for cell, value in found if cell["set"] == name] for way in WAYS}
        for name in NAMES
    }


def judge(figures: Figures) -> list[Verdict]:
    """On how many real sets are learned sets better than none, and than the same with other names?"""
    won = []
    for way in ("sets on x", "sets on phi"):
        renamed = way.replace("sets", "renamed,")
        better = [
            name
            for name in EXPECTED["sets"]
            if difference(figures[name]["hybrid"], figures[name][way]).above()
            and difference(figures[name][renamed], figures[name][way]).above()
        ]
        won.append((way, better))
    true = difference(figures[GROUPS]["hybrid"], figures[GROUPS]["sets on phi"])
    return [
        stated(
            "learning the sets is a worthwhile challenge",
            "2006, section 6",
            "; ".join(
                f"{way} from hindsight win on {len(better)} of {len(EXPECTED['sets'])} real sets"
                for way, better in won
            ),
            holds=any(len(better) > len(EXPECTED["sets"]) / 2 for _, better in won),
            paper="future work",
            why="to win is to be surely better than the hybrid, and than the same sets with classes renamed;"
            " linmax therefore has no mode that learns sets",
        ),
        stated(
            "sets that are known to share help",
            "2006, section 4",
            f"true groups spare {true.text(1)} points of {interval(figures[GROUPS]['hybrid']).text(1)}",
            holds=true.above(),
            paper="beneficial",
        ),
    ]


def tables(figures: Figures) -> list[Table]:
    """Percent of mistakes, and what sets change."""
    lines = []
    for name in NAMES:
        cells_of = [interval(figures[name]["hybrid"]).text(2)]
        cells_of += [(difference(figures[name][way], figures[name]["hybrid"])).text(2) for way in WAYS[1:]]
        lines.append([name, *cells_of])
    head = ["set", "hybrid, %", *(f"{way}: change" for way in WAYS[1:])]
    return [Table("percent of mistakes; changes run by run, negative is better", head, lines)]


EXPERIMENT = Experiment(
    name="sharing-learned-sets",
    paper="2006",
    title="2006, section 6: sets of classes from the confusion",
    cells=cells,
    run=run,
    gather=gather,
    tables=tables,
    judge=judge,
    runs=5,
    data=tuple(EXPECTED["sets"].values()),
)
