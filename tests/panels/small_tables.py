"""Small tables for the tests of panels: random votes, written as files in memory or on disk."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linmax.panels.panel import Panel, read_panel
from linmax.panels.roles.column_role import PanelOptions

CLASSES = ("billing", "bug", "feature")


def draw_labels(items: int, classes: Sequence[Any] = CLASSES, seed: int = 1) -> list[Any]:
    """Return random labels, each class at least once."""
    rng = random.Random(seed)
    return [*classes, *(rng.choice(classes) for _ in range(items - len(classes)))]


def vote(
    labels: Sequence[Any], accuracy: float, seed: int, classes: Sequence[Any] | None = None
) -> list[Any]:
    """Return votes that are right with this probability."""
    rng = random.Random(f"{seed}")
    names = sorted(set(labels), key=str) if classes is None else classes
    return [one if rng.random() < accuracy else rng.choice(names) for one in labels]


def panel_columns(
    items: int = 60, classes: Sequence[Any] = CLASSES, experts: int = 3
) -> dict[str, list[Any]]:
    """Return columns of some experts and of labels."""
    labels = draw_labels(items, classes)
    found = {f"m{i}": vote(labels, 0.8 - 0.05 * i, i) for i in range(experts)}
    return {**found, "label": labels}


def as_csv(columns: dict[str, list[Any]], separator: str = ",") -> bytes:
    """Write columns as a CSV file; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def read_columns(columns: dict[str, list[Any]], **options: Any) -> Panel:
    """Read columns as `read_panel` reads a CSV file with them."""
    return read_panel([io.BytesIO(as_csv(columns))], PanelOptions(**options))


def write_files(folder: Path, files: dict[str, dict[str, list[Any]]]) -> list[Path]:
    """Write several CSV files."""
    paths = []
    for name, columns in files.items():
        paths.append(folder / name)
        paths[-1].write_bytes(as_csv(columns))
    return paths


def roles_of(panel: Panel) -> dict[str, str]:
    """Return the roles by column."""
    assert panel.reading.problem is None, panel.reading.problem
    return {one.name: one.role for one in panel.reading.roles}


def experts_of(panel: Panel) -> list[str]:
    """Return the experts that vote."""
    assert panel.chunk is not None, panel.reading.problem
    return sorted({str(name) for votes in panel.chunk.vote_dicts() for name in votes})


def votes_of(panel: Panel) -> list[dict[str, str]]:
    """Return the votes on each item, in the order of the ids; of scores, the class with the largest one."""
    assert panel.chunk is not None, panel.reading.problem
    dicts = [
        {
            str(name): str(max(one, key=one.get) if isinstance(one, dict) else one)
            for name, one in votes.items()
        }
        for votes in panel.chunk.vote_dicts()
    ]
    return [dicts[i] for i in _order(panel)]


def labels_of(panel: Panel) -> list[str | None]:
    """Return the labels in the order of the ids."""
    assert panel.chunk is not None
    assert panel.chunk.labels is not None
    labels = [None if one is None else str(one) for one in panel.chunk.labels.tolist()]
    return [labels[i] for i in _order(panel)]


def codes_of(panel: Panel) -> dict[str, str]:
    """Return the severity of each warning by its code."""
    return {one.code: one.severity for one in panel.warnings}


def _order(panel: Panel) -> list[int]:
    assert panel.chunk is not None
    ids = panel.chunk.ids
    return (
        list(range(panel.chunk.items)) if ids is None else sorted(range(len(ids)), key=lambda i: str(ids[i]))
    )
