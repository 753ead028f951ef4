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


def won(figures: Figures, way: str) -> list[str]:
    """The real sets on which sets of classes are surely better than none, and than the same ones renamed."""
    renamed = way.replace("sets", "renamed,")
    return [
        name
        for name in EXPECTED["sets"]
        if difference(figures[name]["hybrid"], figures[name][way]).above()
        and difference(figures[name][renamed], figures[name][way]).above()
    ]


def judge(figures: Figures) -> list[Verdict]:
    """That sets can be learned is no claim of the paper, that known ones help is."""
    true = difference(figures[GROUPS]["hybrid"], figures[GROUPS]["sets on phi"])
    return [
        stated(
            "sets that are known to share are beneficial",
            "2006, section 4",
            f"true groups spare {true.text(1)} points of {interval(figures[GROUPS]['hybrid']).text(1)}",
            holds=true.above(),
            why="on a problem made for it",
        )
    ]


def tables(figures: Figures) -> list[Table]:
    """Percent of mistakes, and what sets change."""
    lines = []
    for name in NAMES:
        cells_of = [interval(figures[name]["hybrid"]).text(2)]
        cells_of += [(difference(figures[name][way], figures[name]["hybrid"])).text(2) for way in WAYS[1:]]
        lines.append([name, *cells_of])
    head = ["set", "hybrid, %", *(f"{way}: change" for way in WAYS[1:])]
    counts = [f"{way} on {len(won(figures, way))}" for way in ("sets on x", "sets on phi")]
    note = (
        f"Of {len(EXPECTED['sets'])} real sets, sets from hindsight win {', '.join(counts)}: surely better"
        " than the hybrid, and than the same sets with classes renamed. The paper leaves learning them to"
        " future work; linmax has no mode for it."
    )
    return [Table("percent of mistakes; changes run by run, negative is better", head, lines, note)]


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
