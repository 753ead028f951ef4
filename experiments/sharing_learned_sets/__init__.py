"""2006, section 6: do sets of classes that are learned from confusions help?

A generous answer: the sets are given from the start, from the confusion of a whole run that came before,
which no on-line learner has. They are the inner nodes of a tree of classes (average linkage of how often two
are taken for each other); each has a vector of its own, on x ("plain") or on the class-dependent features.
Beside them the same sets with classes renamed at random, for more vectors alone change the result; and a
made-up problem in which groups of classes truly share their relevant attributes, with the true sets.
"""

from __future__ import annotations

from experiments.interface import Experiment, Figures, Found, Outcome, Table
from experiments.outcomes import statement_outcome
from experiments.sharing_learned_sets.cells import EXPECTED, GROUPS, NAMES, WAYS, cells, run
from experiments.statistics import difference, interval


def gather(found: list[Found]) -> Figures:
    """Return the results by data set and method, run by run."""
    return {
        name: {way: [value[way] for cell, value in found if cell["set"] == name] for way in WAYS}
        for name in NAMES
    }


def won(figures: Figures, way: str) -> list[str]:
    """Return the real data sets on which sets of classes help significantly."""
    renamed = way.replace("sets", "renamed,")
    return [
        name
        for name in EXPECTED["sets"]
        if difference(figures[name]["hybrid"], figures[name][way]).above()
        and difference(figures[name][renamed], figures[name][way]).above()
    ]


def judge(figures: Figures) -> list[Outcome]:
    """Check that known sets help; that sets can be learned is not claimed."""
    true = difference(figures[GROUPS]["hybrid"], figures[GROUPS]["sets on phi"])
    return [
        statement_outcome(
            "known sets of similar classes are beneficial",
            "2006, section 4",
            f"true groups spare {true.text(1)} points of {interval(figures[GROUPS]['hybrid']).text(1)}",
            holds=true.above(),
            why="on a problem made for it",
        )
    ]


def tables(figures: Figures) -> list[Table]:
    """Return the table of mistakes, and the effect of sets."""
    lines = []
    for name in NAMES:
        cells_of = [interval(figures[name]["hybrid"]).text(2)]
        cells_of += [(difference(figures[name][way], figures[name]["hybrid"])).text(2) for way in WAYS[1:]]
        lines.append([name, *cells_of])
    head = ["set", "hybrid, %", *(f"{way}: change" for way in WAYS[1:])]
    counts = [f"{way} on {len(won(figures, way))}" for way in ("sets on x", "sets on phi")]
    note = (
        f"Of {len(EXPECTED['sets'])} real data sets, sets chosen in hindsight win {', '.join(counts)}:"
        " significantly better than the hybrid, and than the same sets with classes renamed. The paper leaves"
        " learning them to future work; linmax has no mode for it."
    )
    return [Table("percent of mistakes; paired changes, negative is better", head, lines, note)]


EXPERIMENT = Experiment(
    name="sharing-learned-sets",
    paper="2006",
    title="2006, section 6: sets of classes from confusions",
    cells=cells,
    run=run,
    gather=gather,
    tables=tables,
    judge=judge,
    runs=5,
    data=tuple(EXPECTED["sets"].values()),
)
