"""The figures of the README, out of what the benchmarks have kept."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
WINNOW, ROW = "linmax Winnow", (20, 5)
PEERS = {
    "plain C": "C Winnow",
    "Vowpal Wabbit": "VW csoaa_ldf, file",
    "scikit-learn in chunks": "scikit-learn SGDClassifier, chunks",
    "River": "River one against the rest",
}
ONE = {"Vowpal Wabbit": "VW csoaa_ldf, Python", "River": "River one against the rest"}


def figures() -> list[tuple[str, str, str]]:
    """What was measured, linmax, and who stands beside it."""
    return [*_speed(), *_file(), *_quality(), *_start()]


def _short(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _kept(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def _speed() -> list[tuple[str, str, str]]:
    (methods,) = (one["methods"] for one in _kept("speed")["votes"] if (one["n"], one["k"]) == ROW)

    def took(name: str) -> float:
        return float(methods[name]["more"]["cpu"][0]) / 1000

    def times(names: dict[str, str], own: str) -> str:
        ratios = {who: took(name) / took(own) for who, name in names.items()}
        return ", ".join(f"{who} {_short(ratio)}" for who, ratio in ratios.items()) + " times as long"

    one = "linmax Winnow, one by one"
    return [
        (
            f"one row of {ROW[0]} votes, {ROW[1]} classes, in a table",
            f"{took(WINNOW):.2g} µs",
            times(PEERS, WINNOW),
        ),
        ("the same as a dict, by itself", f"{took(one):.2g} µs", times(ONE, one)),
        ("the same in a table, by the default", f"{took('linmax default'):.2g} µs", ""),
    ]


def _file() -> list[tuple[str, str, str]]:
    found = _kept("fuse")
    largest = max(found["runs"], key=lambda one: one["rows"])
    ratio = found["against VW"]["VW, squared"]["wall, times linmax"]
    rows = f"{largest['rows'] // 10**6} million rows of 20 experts from Parquet, `{largest['program']}`"
    return [
        (
            rows,
            f"{largest['wall'][0]:.1f} s, {largest['megabytes'][0]:.0f} MB",
            f"Vowpal Wabbit {ratio:.3g} times as long",
        )
    ]


def _quality() -> list[tuple[str, str, str]]:
    kinds = {
        "panel": "mistakes on real panels, the default beside the best of all peers",
        "stream": "mistakes on real streams of attributes",
    }
    rows = []
    for kind, what in kinds.items():
        found = [one["best peer"]["verdict"] for one in _kept("quality")["problems"] if one["kind"] == kind]
        counts = Counter(found)
        told = ", ".join(f"{verdict} on {count}" for verdict, count in counts.most_common())
        rows.append((what, f"{len(found)} of them", told))
    return rows


def _start() -> list[tuple[str, str, str]]:
    took = {one["name"]: f"{one['wall'][0]:.2f} s" for one in _kept("startup")["starts"]}
    return [
        (
            "import",
            took["import linmax"],
            f"scikit-learn {took['import sklearn.linear_model']}, River {took['import river.linear_model']},"
            f" Vowpal Wabbit {took['import vowpalwabbit']}",
        ),
        (
            "a file of 1000 rows by the command line, default",
            took["linmax fuse, default"],
            f"Vowpal Wabbit {took['VW, --csoaa_ldf']}",
        ),
    ]
