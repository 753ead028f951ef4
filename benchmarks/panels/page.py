"""The figures as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.panels.compare import AS_FILED, mean
from benchmarks.panels.own import LINMAX

HEAD = """\
# Quality after one pass over real panels

Made by `make bench-panels`. The figure is the part of right guesses in one pass; every guess is made before
its label is seen, and all learners get the same items in the same order.

"""
NOTE = """\
A peer counts with its best member on that panel, chosen in hindsight. Differences are linmax's default minus
that member in points of accuracy, paired by order: mean ± standard error over the random orders. The error
says what the order of the items does, not what other items would. *ahead* and *behind*: the 95 % t interval
of the difference leaves out zero.
"""


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    rows = results["panels"]
    methods = list(dict.fromkeys(name for row in rows for name in row["accuracy"]))
    parts = [HEAD, "## linmax against the best of each peer\n\n"]
    parts += [summary(rows), "\n", NOTE]
    orders = max(len(row["accuracy"][LINMAX]) for row in rows) - 1
    parts += [f"\n## Every learner, mean over {counted(orders)}\n\n", everyone(rows, methods, mean)]
    parts += ["\n## Every learner, items in file order\n\n", everyone(rows, methods, _as_filed)]
    parts += ["\n## How each was called\n\n"]
    parts += [f"- {name}: `{called}`\n" for name, called in results["called"].items()]
    parts += ["\n" + ", ".join(f"{name} {version}" for name, version in results["versions"].items()) + "\n"]
    return "".join(parts)


def summary(rows: list[dict[str, Any]]) -> str:
    """A line per panel: the best of each, and the differences."""
    libraries = list(dict.fromkeys(library for row in rows for library in row["against"]))
    lines = [["panel", "items", "experts", "k", "plurality", "best expert", LINMAX]]
    for library in libraries:
        lines[0] += [f"{library} best", f"linmax minus {library}", f"against {library}"]
    for row in rows:
        accuracy = row["accuracy"]
        sizes = [str(row[size]) for size in ("items", "experts", "classes")]
        line = [row["panel"], *sizes]
        line += [figure(mean(accuracy[name])) for name in ("plurality", "best expert", LINMAX)]
        for library in libraries:
            found = row["against"].get(library)
            line += opposed(found, mean(accuracy[found["best"]])) if found else ["", "", ""]
        lines.append(line)
    return table(lines)


def opposed(found: dict[str, Any], level: float) -> list[str]:
    """A peer's best member, linmax's distance to it, and the verdict."""
    error = found["standard_error"]
    spread = "" if error is None else f" ± {100 * error:.2f}"
    member = found["best"].split(" ", 1)[1]
    return [f"{figure(level)} ({member})", f"{100 * found['mean']:+.2f}{spread}", found["verdict"]]


def everyone(rows: list[dict[str, Any]], methods: list[str], take: Any) -> str:
    """A line per learner, a column per panel, the best learner of a column in bold."""
    lines = [["", *(row["panel"] for row in rows)]]
    texts = {}
    for row in rows:
        figures = {name: figure(take(orders)) for name, orders in row["accuracy"].items()}
        top = max(text for name, text in figures.items() if name != "best expert")
        texts[row["panel"]] = {name: f"**{text}**" if text == top else text for name, text in figures.items()}
    for name in methods:
        lines.append([name, *(texts[row["panel"]].get(name, "") for row in rows)])
    return table(lines)


def table(lines: Iterable[list[str]]) -> str:
    """Lines as a Markdown table; the first is its head."""
    head, *body = lines
    rule = ["---" if at == 0 else "---:" for at in range(len(head))]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *body))


def figure(value: float) -> str:
    """Four digits, as accuracies are usually given."""
    return f"{value:.4f}"


def counted(orders: int) -> str:
    """How many random orders."""
    return "one random order" if orders == 1 else f"{orders} random orders"


def _as_filed(orders: dict[str, float]) -> float:
    return orders[AS_FILED]
