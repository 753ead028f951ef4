"""Data sets of many files, with keys and times."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CLASSES = np.array(["ham", "spam", "eggs"])
EXPERTS = [f"e{j}" for j in range(4)]


def rows(count: int, keys: int, seed: int = 0) -> dict[str, list[Any]]:
    """Votes and labels of some keys; the order of times is not that of the rows."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, count)
    table: dict[str, list[Any]] = {
        "customer": [f"c{key}" for key in rng.integers(0, keys, count)],
        "when": rng.permutation(count * 10)[:count].tolist(),
    }
    for j, name in enumerate(EXPERTS):
        correct = rng.random(count) < 0.5 + 0.1 * j
        table[name] = CLASSES[np.where(correct, truth, rng.integers(0, 3, count))].tolist()
    labels = CLASSES[truth].astype(object)
    labels[rng.random(count) < 0.05] = None
    return {**table, "truth": labels.tolist()}


def write(folder: Path, parts: int = 3, count: int = 200, keys: int = 7, suffix: str = "parquet") -> Path:
    """A folder with so many files of so many rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(parts):
        write_part(folder / f"part-{part}.{suffix}", rows(count, keys, seed=part))
    return folder


def write_part(path: Path, table: dict[str, list[Any]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.table(table), path)
        return path
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path
