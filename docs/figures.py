"""The figures of the README, computed from the stored results of the benchmarks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
ROW = (20, 5)
VERDICTS = ("ahead", "level", "behind")
TABLE = {
    "plain C": "C Winnow",
    "Vowpal Wabbit csoaa_ldf": "VW csoaa_ldf, file",
    "Vowpal Wabbit oaa": "VW oaa, file",
    "scikit-learn in chunks": "scikit-learn SGDClassifier, chunks",
}
ONE = {
    "Vowpal Wabbit csoaa_ldf": "VW csoaa_ldf, Python",
    "Vowpal Wabbit oaa": "VW oaa, Python",
    "River": "River one against the rest",
}
ROWS = {
    "one row in a table, `Winnow(1.2)`": ("linmax Winnow", TABLE),
    "one row in a table, `Fusion()`": ("linmax default", {who: TABLE[who] for who in list(TABLE)[1:]}),
    "one row as a dict, `Winnow(1.2)`": ("linmax Winnow, one by one", ONE),
    "one row as a dict, `Fusion()`": ("linmax default, one by one", ONE),
}


def figures() -> list[tuple[str, str, str]]:
    """What was measured, the figure of linmax, and those of other libraries."""
    return [*_speed(), *_file(), *_quality(), *_start()]


def _short(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _stored(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def _speed() -> list[tuple[str, str, str]]:
    (methods,) = (one["methods"] for one in _stored("speed")["votes"] if (one["n"], one["k"]) == ROW)

    def took(name: str) -> float:
        return float(methods[name]["more"]["wall"][0]) / 1000

    def times(names: dict[str, str], own: str) -> str:
        ratios = {who: took(name) / took(own) for who, name in names.items()}
        return ", ".join(f"{who} {_short(ratio)}" for who, ratio in ratios.items()) + " times as long"

    return [(what, f"{took(own):.2g} µs", times(beside, own)) for what, (own, beside) in ROWS.items()]


def _file() -> list[tuple[str, str, str]]:
    found = _stored("fuse")
    largest = max(found["runs"], key=lambda one: one["rows"])
    ratio = found["against VW"]["VW, squared"]["wall, times linmax"]
    what = f"{largest['rows'] // 10**6} million rows of {ROW[0]} votes from Parquet, `{largest['program']}`"
    peer = f"Vowpal Wabbit csoaa_ldf {ratio:.3g} times as long, extrapolated from a tenth of the rows"
    return [(what, f"{largest['wall'][0]:.1f} s, {largest['megabytes'][0]:.0f} MB", peer)]


def _quality() -> list[tuple[str, str, str]]:
    kinds = {
        "panel": "mistakes on real panels, on which `Fusion()` was tuned; the best other method",
        "stream": "mistakes of `Fusion()` on real streams of attributes; the best other method",
    }
    rows = []
    for kind, what in kinds.items():
        found = [one["best peer"] for one in _stored("quality")["problems"] if one["kind"] == kind]
        counts = Counter(one["verdict"] for one in found)
        told = "linmax is " + ", ".join(f"{one} on {counts[one]}" for one in VERDICTS if counts[one])
        filed = [one["filed"]["mean"] for one in found if "filed" in one]
        told += f"; in the order of the file, ahead on {sum(one > 0 for one in filed)} of {len(filed)}"
        rows.append((what, f"{len(found)} {kind}s", told))
    return rows


def _start() -> list[tuple[str, str, str]]:
    found = _stored("startup")
    took = {one["name"]: f"{one['wall'][0]:.2f} s" for one in found["starts"]}
    ever = {(one["name"], one["compiled at once"]): one["wall"][0] for one in found["cold"]}
    first = [
        ever[name, at_once]
        for at_once in (False, True)
        for name in ("linmax, Winnow(1.2)", "linmax, default")
    ]
    return [
        (
            "import",
            took["import linmax"],
            f"scikit-learn {took['import sklearn.linear_model']}, River {took['import river.linear_model']},"
            f" Vowpal Wabbit {took['import vowpalwabbit']}",
        ),
        (
            "program with the first call on a machine, 10 rows",
            "{:.1f} s, `Fusion()` {:.1f} s; if it compiles at once {:.0f} s and {:.0f} s".format(*first),
            "no compilation",
        ),
        (
            "`linmax fuse` on a file of 1000 rows, default learner",
            took["linmax fuse, default"],
            f"Vowpal Wabbit {took['VW, --csoaa_ldf']}",
        ),
    ]
