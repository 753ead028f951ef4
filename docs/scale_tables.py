"""Tables of docs/scale.md: what was measured, and a reckoning from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Table = Callable[[tuple[str, ...], list[tuple[str, ...]]], str]

ITEMS, KEYS = 1e9, 1e6
CORES = (2, 16, 64)
"""Cores that the reckoning is made for."""
SHARED = ("1 worker", "2 workers", "local cluster")
NAMES = {
    "loop": "a loop over sorted rows",
    "pandas": "pandas `groupby().apply`",
    "polars": "Polars `group_by().map_groups`",
    "1 worker": "`keyed`, 1 worker",
    "2 workers": "`keyed`, 2 processes",
    "local cluster": "`keyed`, local cluster of 2",
}


def keys(found: dict[str, Any], table: Table) -> str:
    """One fusion per key, with every method."""
    measured = found["keys"]
    rows = [
        (
            NAMES[one["method"]],
            f"{one['cpu']:.0f}",
            f"{measured['rows'] / one['cpu']:,.0f}",
            f"{measured['rows'] / one['wall']:,.0f}",
            f"{one['mb']:.0f}",
            f"{one['worker_mb']:.0f}" if one["method"] in SHARED[1:] else "",
            "yes" if one["method"] in SHARED else "no",
        )
        for one in measured["methods"]
    ]
    head = (
        "method",
        "CPU s",
        "rows per CPU s",
        "rows/s",
        "MB of the program",
        "MB of a worker",
        "saves the models",
    )
    load = (
        f"{measured['rows']:,} rows of {measured['keys']:,} keys, with a load of {measured['load']:.0f}.\n\n"
    )
    return load + table(head, rows) + _large(found.get("some keys"))


def _large(measured: dict[str, Any] | None) -> str:
    """A sentence on a larger data set, with some methods."""
    if measured is None:
        return ""
    texts = [
        f"{NAMES[one['method']]}: {one['cpu']:.0f} CPU s, {max(one['mb'], one['worker_mb']):.0f} MB"
        for one in measured["methods"]
    ]
    return f"\n{measured['rows']:,} rows of {measured['keys']:,} keys: {'; '.join(texts)}.\n"


def tasks(found: dict[str, Any], table: Table) -> str:
    """The cost of a task."""
    measured = found["tasks"]
    rows = [
        (name, f"{measured[f'{name}, start'] / 1e3:.1f} s", f"{measured[name]:.2f} ms")
        for name in ("processes", "local cluster")
    ]
    keyed, sweep = (found["scaling"][name] for name in ("keyed", "sweep"))
    sentence = (
        f"\nTwo workers reach {keyed:.2f} of the speed of two independent processes when keys learn, without"
        f" the split, and {sweep:.2f} in a sweep.\n"
    )
    return table(("engine", "start of 2 workers", "a task"), rows) + sentence


def shards(found: dict[str, Any], table: Table) -> str:
    """What mixing gives and costs."""
    rows = []
    for one in found["mixing"]:
        name = str(one["shards"]) if one["shards"] else "one pass of `Averaged(Perceptron())`"
        mixed = f"{one['mixed_mistakes']:,.0f}" if one["shards"] else ""
        time = f"{1e3 * one['shard_seconds']:.0f} ms" if one["shards"] else ""
        rows.append((name, f"{one['mistakes']:,}", mixed, f"{one['accuracy']:.2%}", time))
    head = ("shards", "mistakes in total", "mean of a shard", "accuracy on new items", "CPU of a shard")
    return table(head, rows)


def stores(found: dict[str, Any], table: Table) -> str:
    """What it costs to write and read the models of many keys."""
    measured = found["stores"]
    rows = [
        (
            name,
            f"{1e6 * one['write']:.0f} µs",
            f"{1e6 * one['read']:.0f} µs",
            f"{1e6 * one['random']:,.0f} µs",
            f"{one['bytes'] / measured['models']:,.0f}",
        )
        for name, one in (("folder", measured["folder"]), ("one table of SQLite", measured["SQLite"]))
    ]
    head = ("store", "write a model", "read, file by file", "read one alone", "bytes per model")
    sentence = f"\nTo make a session of what was read takes {1e6 * measured['load_model']:,.0f} µs more.\n"
    return f"{measured['models']:,} models, CPU time.\n\n" + table(head, rows) + sentence


def costs(found: dict[str, Any]) -> dict[str, float]:
    """Return the constants of the reckoning: CPU seconds per row and bytes, by the run with one worker."""
    measured = found["keys"]
    one = next(row for row in measured["methods"] if row["method"] == "1 worker")
    share = one["split"] / (one["split"] + one["learn"])
    return {
        "split": share * one["cpu"] / measured["rows"],
        "learn": (1.0 - share) * one["cpu"] / measured["rows"],
        "bytes": measured["bytes"] / measured["rows"],
        "split bytes": one["split_bytes"] / measured["rows"],
        "model": one["model_bytes"] / measured["keys"],
    }


def reckoning(found: dict[str, Any], table: Table) -> str:
    """Hours and bytes for 10^9 items of 10^6 keys, from the measured constants."""
    cost = costs(found)
    total = ITEMS * (cost["split"] + cost["learn"]) / 3600
    rows = [
        ("split", f"{1e6 * cost['split']:.1f} µs per row", f"{ITEMS * cost['split'] / 3600:.1f} h"),
        ("learn and save", f"{1e6 * cost['learn']:.1f} µs per row", f"{ITEMS * cost['learn'] / 3600:.1f} h"),
        ("read", f"{cost['bytes']:.0f} bytes per row", f"{ITEMS * cost['bytes'] / 2**30:.0f} GiB"),
        (
            "split, written and read",
            f"{cost['split bytes']:.0f} bytes per row",
            f"{ITEMS * cost['split bytes'] / 2**30:.0f} GiB",
        ),
        ("models", f"{cost['model']:.0f} bytes per key", f"{KEYS * cost['model'] / 2**30:.1f} GiB"),
        *(
            (f"wall time on {cores} cores", "if nothing else is slower", f"{_hours(total / cores)}")
            for cores in CORES
        ),
    ]
    return table(("", "measured", "10^9 items, 10^6 keys"), rows)


def _hours(hours: float) -> str:
    return f"{hours:.1f} h" if hours >= 1 else f"{math.ceil(60 * hours)} min"
