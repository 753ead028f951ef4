"""1999, section 4.4: attributes in addition to sub-experts, and sub-experts split by class.

Three problems of three classes, on which Winnow learns from votes alone, with attributes, with the votes
split by class, or with all of them:

- mixed: five of twenty experts and two attributes per class decide together;
- one class each: every expert is good at one class and knows nothing of the others;
- votes: the plurality of five of twenty experts, attributes say nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.committee_hybrid.cells import (
    ALPHA,
    CLASSES,
    PROBLEMS,
    RELEVANT,
    SOURCES,
    USEFUL,
    USELESS,
    cells,
    run,
)
from experiments.interface import Experiment, Figures, Found, Outcome, Table
from experiments.outcomes import statement_outcome
from experiments.statistics import Interval, difference, interval
from linmax.bounds import Case

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))


LARGE = 0.5  # half as many mistakes again are a large effect


def gather(found: list[Found]) -> Figures:
    """Return mistakes and differences by problem."""
    figures: Figures = {}
    for problem in PROBLEMS:
        values = [one.value for one in found if one.cell["problem"] == problem]
        counts = {name: [value[name] for value in values] for name in SOURCES}
        figures[problem] = {
            "mistakes": {name: interval(some) for name, some in counts.items()},
            "less by attributes": difference(counts["sub-experts"], counts["sub-experts and attributes"]),
            "less than attributes": difference(counts["attributes"], counts["sub-experts and attributes"]),
            "less by splitting": difference(counts["sub-experts"], counts["sub-experts split"]),
        }
    return figures


def judge(figures: Figures) -> list[Outcome]:
    """Compare both extensions with the claims: useful where intended, cheap elsewhere."""
    mixed, each, votes = (figures[problem] for problem in PROBLEMS)
    gains = [Interval(*mixed[key]) for key in ("less by attributes", "less than attributes")]
    split = Interval(*each["less by splitting"])
    level = {name: value[0] for name, value in votes["mistakes"].items()}
    more, allowed = level["all"] / level["sub-experts"] - 1, _growth() - 1
    return [
        statement_outcome(
            "a hybrid of sub-experts and attributes learns what neither does alone",
            "1999, section 4.4",
            _levels(mixed, ("sub-experts", "attributes", "sub-experts and attributes")),
            holds=all(gain.above() for gain in gains),
            in_order=all(gain.mean > 0 for gain in gains),
        ),
        statement_outcome(
            "splitting helps when sub-experts perform better on certain classes",
            "1999, section 4.4",
            _levels(each, ("sub-experts", "sub-experts split")),
            holds=split.above(),
            in_order=split.mean > 0,
        ),
        statement_outcome(
            "sub-experts that are not needed have no large effect, because of the logarithmic bound",
            "1999, section 4.4",
            f"{100 * more:.0f} % more mistakes with {USELESS} useless ones beside"
            f" {USEFUL};"
            f" the bound grows by {100 * allowed:.0f} %",
            holds=more <= LARGE,
            in_order=more <= allowed,
            why=f"large: more than {100 * LARGE:.0f} %, our interpretation; less than the bound grows",
        ),
    ]


def _growth() -> float:
    """Return the growth of the bound on the votes problem by useless sub-experts."""
    target = [1.0] * RELEVANT + [j / CLASSES for j in range(1, CLASSES)]  # thresholds settle the ties
    few, many = (
        Case(n=n, delta=1 / CLASSES, u=target).relative_entropy() for n in (USEFUL, USEFUL + USELESS)
    )
    return many / few


def _levels(part: dict[str, Any], names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {Interval(*part['mistakes'][name]).text(0)}" for name in names)


def tables(figures: Figures) -> list[Table]:
    """Return the table of mistakes by problem and source."""
    lines = [
        [name, *(Interval(*figures[problem]["mistakes"][name]).text() for problem in PROBLEMS)]
        for name in SOURCES
    ]
    return [Table(f"mistakes of Winnow({ALPHA})", ["sources", *PROBLEMS], lines)]


EXPERIMENT = Experiment(
    name="committee-hybrid",
    paper="1999",
    title="1999, section 4.4: attributes and sub-experts together",
    cells=cells,
    run=run,
    gather=gather,
    tables=tables,
    judge=judge,
    fitted="the problems, since the paper has none.",
)
