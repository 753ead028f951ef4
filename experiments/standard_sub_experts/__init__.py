"""The plan of 2003: standard ways to generate sub-experts, compared on streams with attributes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from experiments.interface import Experiment, Figures, Found, Outcome, Table
from experiments.outcomes import statement_outcome
from experiments.standard_sub_experts.cells import (
    ALPHAS,
    BOTH,
    DEFAULT,
    FILES,
    FIRST_SEED,
    ONE,
    PLAIN,
    RUNS_OF_WORDS,
    TABLES,
    TEXTS,
    WINNOW,
    cells,
    run,
)
from experiments.standard_sub_experts.generators import TRIED
from experiments.statistics import Interval, difference, interval

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
PEERS = HERE.parents[1] / "benchmarks" / "results" / "quality.json"
METHODS = (DEFAULT, BOTH, ONE, PLAIN, WINNOW)
BEST_TABLES = "ValueTables(2)"


def gather(found: list[Found]) -> Figures:
    """Return mistakes and times by stream, by source on calendars, and by n-grams on texts."""
    return {
        "streams": [row for file in FILES if (row := _row(file, found))],
        "calendars": _means([one.value for one in found if "calendar" in one.cell]),
        "texts": _means([one.value for one in found if "texts" in one.cell and one.value]),
    }


def _row(file: str, found: list[Found]) -> dict[str, Any] | None:
    by_order = {one.cell["order"]: one.value for one in found if one.cell.get("stream") == file and one.value}
    if not by_order:
        return None
    values = [value for order, value in by_order.items() if order >= FIRST_SEED]
    mistakes = {name: [value["mistakes"][name] for value in values] for name in METHODS}
    row: dict[str, Any] = {"stream": Path(file).stem}
    row["mistakes"] = {name: interval(numbers) for name, numbers in mistakes.items()}
    row["fewer"] = {name: difference(mistakes[DEFAULT], mistakes[name]) for name in METHODS}
    row["microseconds"] = {name: min(value["microseconds"][name] for value in values) for name in METHODS}
    row["tried"] = {"neighbours": sum(mistakes[ONE]) / sum(mistakes[PLAIN])}
    row["tried"] |= {
        name: sum(value["tried"][name] for value in values) / sum(mistakes[PLAIN])
        for name in values[0]["tried"]
    }
    row["peers"] = {
        library: (
            name,
            difference(theirs.values(), [by_order[order]["mistakes"][BOTH] for order in theirs]),
        )
        for library, name, theirs in _peers(row["stream"], by_order)
    }
    return row


def _peers(stream: str, orders: Iterable[int]) -> list[tuple[str, str, dict[int, int]]]:
    """Return the best method of each other library, in hindsight, and its mistakes in the same orders."""
    problems = json.loads(PEERS.read_text(encoding="utf-8"))["problems"]
    mistakes = next(one["mistakes"] for one in problems if one["name"] == stream)
    best = []
    for library in ("VW", "River"):
        theirs = {
            name: {order: numbers[str(order)] for order in orders if str(order) in numbers}
            for name, numbers in mistakes.items()
            if name.startswith(library)
        }
        name = min(theirs, key=lambda one: sum(theirs[one].values()))
        best.append((library, name, theirs[name]))
    return best


def _means(values: list[dict[str, int]]) -> dict[str, Interval]:
    return {name: interval([value[name] for value in values]) for name in (values[0] if values else ())}


def judge(figures: Figures) -> list[Outcome]:
    """Judge whether standard sub-experts are useful, and which."""
    outcomes = []
    rows = figures["streams"]
    if rows:
        ratios = {row["stream"]: row["mistakes"][BOTH][0] / row["mistakes"][DEFAULT][0] for row in rows}
        fewer = [row["stream"] for row in rows if Interval(*row["fewer"][BOTH]).above()]
        worst = max(ratios, key=lambda name: ratios[name])
        outcomes.append(
            statement_outcome(
                "there is a standard way to generate useful sub-experts: with standard() the default makes"
                " fewer mistakes on streams with attributes, and nowhere 2 % more",
                "2003, section 6, a plan; aim, set before measuring",
                f"significantly fewer on {len(fewer)} of {len(rows)}; {mean(list(ratios.values())):.2f} times"
                f" as many in the geometric mean, at most {ratios[worst]:.2f} times ({worst})",
                holds=bool(fewer) and ratios[worst] <= EXPECTED["worst"],
                in_order=bool(fewer),
                paper="a plan",
            )
        )
        behind = [
            f"{row['stream']} ({name})"
            for row in rows
            for name, apart in row["peers"].values()
            if apart[0] < 0
        ]
        outcomes.append(
            statement_outcome(
                "with standard() the default makes fewer mistakes than the best method of Vowpal Wabbit and"
                " of River on every stream",
                "compared here",
                f"on all but {', '.join(behind)}" if behind else f"on {len(rows)} of {len(rows)} streams",
                holds=not behind,
                in_order=len(behind) < len(rows),
                paper="fewer",
            )
        )
    pairs, tables = (
        min(Interval(*figures["calendars"][f"{name}, {alpha:g}"]) for alpha in ALPHAS)
        for name in ("Pairs()", BEST_TABLES)
    )
    outcomes.append(
        statement_outcome(
            "a weight per pair of columns makes fewer mistakes on calendars than one per pair of values",
            "1995 and 2003, section 5.2; tried here",
            f"{BEST_TABLES} {tables.text(0)}, Pairs() {pairs.text(0)}, each with the best of three alphas",
            holds=tables.mean < pairs.mean,
            paper="a weight per pair of values",
        )
    )
    return outcomes


def mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def tables(figures: Figures) -> list[Table]:
    """Return mistakes and costs by stream, what was tried, calendars and texts."""
    rows = figures["streams"]
    found = []
    if rows:
        found.append(
            Table(
                "mistakes in one pass",
                [
                    "stream",
                    *METHODS,
                    "fewer with standard()",
                    "fewer than VW's best",
                    "fewer than River's best",
                ],
                [
                    [
                        row["stream"],
                        *(Interval(*row["mistakes"][name]).text() for name in METHODS),
                        Interval(*row["fewer"][BOTH]).text(),
                        *(_against(row, library) for library in ("VW", "River")),
                    ]
                    for row in rows
                ],
                "Means over random orders with 95 % intervals; differences are paired by order. The mistakes"
                " are those of orders that nothing was chosen on. The differences to other libraries are"
                " those of the default with standard() in the orders of benchmarks/results, and their best"
                " method is chosen in hindsight.",
            )
        )
        found.append(
            Table(
                "microseconds of processor time per trial",
                ["stream", *METHODS],
                [[row["stream"], *(f"{row['microseconds'][name]:.0f}" for name in METHODS)] for row in rows],
                "The least over the orders, on a machine with other work.",
            )
        )
        found.append(
            Table(
                "what was tried",
                [
                    "generator",
                    "sub-experts",
                    "mistakes",
                    "from",
                    "to",
                    "on texts",
                    "expected before measuring",
                ],
                [
                    [f"`{name}`", TRIED[name], *_spread(rows, name), EXPECTED["expected"][name]]
                    for name in TRIED
                ],
                f"Mistakes of one rule on attributes and on these sub-experts, relative to {PLAIN}: the"
                " geometric mean over the streams of numbers, the least and the most, and the mean over the"
                " two streams of texts, on which only two generators were run.",
            )
        )
    found.append(
        Table(
            "mistakes on calendars",
            ["source", *(f"Winnow({alpha:g})" for alpha in ALPHAS)],
            [
                [
                    f"`{name}`",
                    *(Interval(*figures["calendars"][f"{name}, {alpha:g}"]).text() for alpha in ALPHAS),
                ]
                for name in TABLES
            ],
            "Means over the four targets of generated calendars of 553 meetings.",
        )
    )
    if figures["texts"]:
        found.append(
            Table(
                "mistakes on 2000 questions of TREC",
                ["n-grams", "mistakes"],
                [[name, Interval(*figures["texts"][name]).text()] for name in RUNS_OF_WORDS],
                "One rule on the attributes of `text_ngrams`, which are hashed into 2^16 columns.",
            )
        )
    return found


def _against(row: dict[str, Any], library: str) -> str:
    if library not in row["peers"]:
        return ""
    name, apart = row["peers"][library]
    return f"{Interval(*apart).text()} ({name})"


def _spread(rows: list[dict[str, Any]], name: str) -> list[str]:
    numbers = [row for row in rows if "means" in row["tried"]]
    texts = [row["tried"][name] for row in rows if row not in numbers and name in row["tried"]]
    ratios = {row["stream"]: row["tried"][name] for row in numbers}
    least, most = (pick(ratios, key=lambda one: ratios[one]) for pick in (min, max))
    return [
        f"{mean(list(ratios.values())):.2f}",
        f"{ratios[least]:.2f} ({least})",
        f"{ratios[most]:.2f} ({most})",
        f"{mean(texts):.2f}" if texts else "",
    ]


EXPERIMENT = Experiment(
    name="standard-sub-experts",
    paper="plans",
    title="2003, plan: standard ways to generate sub-experts",
    cells=cells,
    run=run,
    gather=gather,
    tables=tables,
    judge=judge,
    runs=4,
    optional=(*FILES, TEXTS),
    fitted="the numbers of neighbours, the distance, the size of the memory and the members of the committee,"
    " among some twenty, on the orders 0 and 1 of the same streams, and a weight per set of columns on the"
    " calendars 0 to 4; the mistakes are those of other orders and calendars, but the differences to other"
    " libraries those of the orders 0 to 3",
)
