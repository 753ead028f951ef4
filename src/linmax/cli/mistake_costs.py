"""The file of --mistake-costs: what it costs to predict one class when another is true."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HEADINGS = ("truth", "guess", "cost")


def read_mistake_costs(path: Path, classes: Sequence[Any]) -> dict[tuple[Any, Any], float]:
    """Read costs from a CSV file with the columns truth, guess and cost.

    Parameters
    ----------
    path
        The file.
    classes
        The classes of the panel, whose names the file has as text.

    Returns
    -------
    dict
        The cost of each pair (truth, guess) that is listed.
    """
    names = {str(name): name for name in classes}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a CSV file"
        raise ValueError(f"--mistake-costs {path} cannot be read: {reason}") from None
    if not rows or set(HEADINGS) - set(rows[0]):
        raise ValueError(f"--mistake-costs {path} must have the columns truth, guess and cost, and a row")
    found: dict[tuple[Any, Any], float] = {}
    for number, row in enumerate(rows, 2):
        for heading in HEADINGS[:2]:
            if row[heading] not in names:
                known = ", ".join(list(names)[:10])
                raise ValueError(
                    f"line {number} of {path} names the class {row[heading]!r}, which the data do not have:"
                    f" {known}"
                )
        try:
            found[names[row["truth"]], names[row["guess"]]] = float(row["cost"])
        except (TypeError, ValueError):
            raise ValueError(
                f"line {number} of {path} has the cost {row['cost']!r}: write a number"
            ) from None
    return found
