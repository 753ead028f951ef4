"""Files of costs: the price of each expert, and what it costs to predict one class when another is true."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linmax.cli.inputs import count_names
from linmax.cli.output import print_message
from linmax.decisions.costs import LARGEST
from linmax.streams.schema import short_list

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
    rows = _rows(path, "--mistake-costs")
    header = rows[0][1] if rows else []
    if len(rows) < 2 or set(HEADINGS) - set(header):
        raise ValueError(f"--mistake-costs {path} must have the columns truth, guess and cost, and a row")
    if twice := [heading for heading in HEADINGS if header.count(heading) > 1]:
        raise ValueError(f"--mistake-costs {path} has two columns {twice[0]!r}; remove one of them")
    places = [header.index(heading) for heading in HEADINGS]
    found: dict[tuple[Any, Any], float] = {}
    for number, row in rows[1:]:
        truth, guess, text = (row[place] if place < len(row) else "" for place in places)
        for name in (truth, guess):
            if name not in names:
                raise ValueError(
                    f"line {number} of {path} names the class {name!r}, which the data do not have:"
                    f" {', '.join(list(names)[:10])}"
                )
        cost, pair = _number(text), (names[truth], names[guess])
        if cost is None:
            raise ValueError(
                f"line {number} of {path} has the cost {text!r}: write a number from 0 to {LARGEST:g}"
            )
        if pair in found:
            raise ValueError(f"line {number} of {path} repeats the truth {truth!r} and the guess {guess!r}")
        found[pair] = cost
    return found


def read_prices(path: Path) -> dict[str, float]:
    """Read a CSV file with an expert and its price in each line, and perhaps a header.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    dict
        The price of each expert, whose names are text.
    """
    prices: dict[str, float] = {}
    for place, (number, row) in enumerate(_rows(path, "--prices")):
        price = _number(row[1]) if len(row) == 2 else None
        if price is None and place == 0 and len(row) == 2 and row[1] and not any(map(str.isdigit, row[1])):
            continue  # the header
        if price is None:
            raise ValueError(
                f"--prices: a line of {path} has an expert and a price, 0 or more (got {','.join(row)!r})"
            )
        if row[0] in prices:
            raise ValueError(f"--prices: line {number} of {path} repeats the expert {row[0]!r}")
        prices[row[0]] = price
    return prices


def check_prices(path: Path, prices: dict[str, float], experts: Sequence[Any], owner: str) -> None:
    """Refuse a file without the price of an expert; print which other experts it has.

    Parameters
    ----------
    path
        The file.
    prices
        What it has.
    experts
        The experts that need a price.
    owner
        What has these experts: the name of a file or a model.
    """
    known = {str(name) for name in experts}
    missing = [name for name in experts if str(name) not in prices]
    if missing:
        raise ValueError(f"--prices: {path} has no price of {short_list(map(repr, missing))}; add a line")
    others = [name for name in prices if name not in known]
    if others:
        print_message(f"{owner} does not have {count_names(others, 'expert')} of {path}: ignored")


def _rows(path: Path, option: str) -> list[tuple[int, list[str]]]:
    """Return the cells of all lines that are not empty, with the number of the line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"{option}: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{option}: {path} cannot be read: it is not a CSV file in UTF-8") from None
    first = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text), delimiter=";" if ";" in first and "," not in first else ",")
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error:
        raise ValueError(f"{option}: {path} cannot be read: it is not a CSV file") from None
    return [(number, row) for number, row in rows if any(row)]


def _number(text: str) -> float | None:
    """Return a cost; None if the text is none."""
    try:
        cost = float(text)
    except ValueError:
        return None
    return cost if 0.0 <= cost <= LARGEST else None
