"""`linmax consult`: what it would cost to ask experts one after the other, on a file of votes."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from linmax.cli.inputs import check_known_experts, check_needs, load_model, name_rows, open_for_model
from linmax.cli.options import ConsultOptions, FilesOptions
from linmax.cli.output import check_output, print_message, print_table
from linmax.evaluate.consultation import RISKS, Replay, Strategy, recorded_votes, replay_consultations
from linmax.fusion import Fusion
from linmax.streams.schema import short_list

SHOWN = (1, 2, 3, 5, 10, 20, 50)
"""Of how many experts the plurality is shown."""


def consult(model: Path, read: FilesOptions, options: ConsultOptions) -> Replay:
    """Replay the consultations of all rows of a file, and draw the cost-accuracy curve."""
    if options.picture is not None:
        check_output(options.picture, "draw")
    fusion = load_model(model)
    if fusion.needs != {"votes"}:
        raise ValueError(
            f"{model} learns from attributes; consult replays models that learn from votes alone"
        )
    panel = open_for_model(read, fusion)
    found: list[tuple[Any, Any, Any]] = []
    with panel.stream() as stream:
        for chunk in stream:
            if not found:
                check_needs(fusion, chunk, str(model), stream.schema.file)
                names = getattr(chunk.votes, "column_names", None)
                check_known_experts(fusion, names or fusion.experts, str(model), stream.schema.file)
            with name_rows(stream.schema.file, chunk):
                found.append(recorded_votes(fusion, chunk))
    if not found or not sum(len(votes) for votes, _, _ in found):
        raise ValueError(f"{panel.file} has no rows")
    votes, available, labels = (np.concatenate(part) for part in zip(*found, strict=True))
    prices = None if options.prices is None else read_prices(options.prices, fusion)
    replay = replay_consultations(
        fusion, votes, labels, available=available, prices=prices, risks=(*RISKS, options.risk),
        confidence=options.confidence, batch=options.batch, subsets=options.subsets,
    )  # fmt: skip
    if options.picture is not None:
        from linmax.report.consultation_chart import draw_consultations

        if not replay.labelled:
            raise ValueError(
                f"{panel.file} has no labels, so that there is no accuracy to draw; leave out --picture"
            )
        draw_consultations(replay, options.picture, prices=prices is not None)
        print_message(f"cost-accuracy curve: {options.picture}")
    return replay


def read_prices(path: Path, fusion: Fusion) -> np.ndarray:
    """Read a CSV file with an expert and its price in each line, and perhaps a header."""
    prices: dict[str, float] = {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except OSError as error:
        raise ValueError(f"--prices: {path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"--prices: {path} is no CSV file of experts and prices in UTF-8") from None
    for number, row in enumerate(rows):
        price = _price(row[1]) if len(row) == 2 else None
        if price is None and number == 0 and len(row) == 2:
            continue
        if price is None:
            raise ValueError(
                f"--prices: a line of {path} has an expert and a price, 0 or more (got {','.join(row)!r})"
            )
        prices[row[0].strip()] = price
    missing = [name for name in fusion.experts if str(name) not in prices]
    if missing:
        raise ValueError(f"--prices: {path} has no price of {short_list(map(repr, missing))}; add a line")
    return np.array([prices[str(name)] for name in fusion.experts])


def _price(text: str) -> float | None:
    try:
        price = float(text)
    except ValueError:
        return None
    return price if 0.0 <= price < float("inf") else None


def as_dict(replay: Replay) -> dict[str, Any]:
    """Return the replay for JSON."""
    parts = replay._asdict()
    for name in ("consultations", "others", "subsets"):
        parts[name] = [one._asdict() for one in parts[name]]
    return {**parts, "everybody": replay.everybody._asdict()}


def print_replay(replay: Replay, options: ConsultOptions, console: Console) -> None:
    """Print the strategies as a table, and what was saved."""
    place = next(
        i for i, one in enumerate(replay.consultations) if one.name == f"consult, risk {options.risk:g}"
    )
    plurality = [one for one in replay.others if one.name.startswith("plurality")]
    shown = [plurality[m - 1] for m in SHOWN if m <= len(plurality)]
    rows = [replay.everybody, *replay.consultations, *replay.others[:2], *shown, *replay.subsets]
    priced = options.prices is not None
    headings = ["strategy", "asked", *(["cost"] if priced else []), "saved", "accuracy", "changed"]
    print_table(
        console, headings, [_cells(one, replay.everybody, priced) for one in rows], left=("strategy",),
        styles=["bold" if i == place + 1 else "" for i in range(len(rows))],
    )  # fmt: skip
    chosen, whole = replay.consultations[place], replay.everybody
    unit = "cost" if priced else "number of experts"
    saved = f"{1.0 - chosen.cost / whole.cost:.0%}" if whole.cost else "nothing"
    console.print(
        f"Risk {options.risk:g} saves {saved} of the {unit} of asking everybody, on {replay.items:,} items;"
        f" {replay.in_full:,} others were drawn to be asked in full.",
        soft_wrap=True,
    )
    if not replay.exact:
        console.print(
            "Risk 0 asks everybody: no prediction of this learner is proved to be settled before. For"
            " exact savings, learn with --learner 'Averaged(Perceptron(slack=20, start=\"equal\"))'.",
            soft_wrap=True,
        )
    if replay.fallback[place]:
        console.print(f"In the end it behaved as with risk 0: {replay.fallback[place]}.", soft_wrap=True)


def _cells(one: Strategy, whole: Strategy, priced: bool) -> list[str]:
    saved = f"{1.0 - one.cost / whole.cost:.1%}" if whole.cost else ""
    accuracy = "" if np.isnan(one.accuracy) else f"{one.accuracy:.2%}"
    changed = "" if np.isnan(one.changed) else f"{one.changed:.2%}"
    return [one.name, f"{one.asked:.2f}", *([f"{one.cost:.4g}"] if priced else []), saved, accuracy, changed]
