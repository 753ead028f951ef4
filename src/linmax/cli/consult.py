"""`linmax consult`: what it would cost to ask experts one after the other, on a file of votes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from linmax.cli.cost_files import check_prices, read_prices
from linmax.cli.inputs import (
    check_known_experts,
    check_needs,
    load_model,
    name_rows,
    open_for_model,
    print_unknown_votes,
)
from linmax.cli.options.decisions import ConsultOptions
from linmax.cli.options.files import FilesOptions
from linmax.cli.output import check_output, print_message, print_table
from linmax.evaluate.consultation import RISKS, Replay, replay_consultations
from linmax.evaluate.recorded_votes import RecordedVotes, join_recorded, recorded_votes
from linmax.fusion import Fusion
from linmax.fusion.consult.settlement import NEVER_SETTLED
from linmax.report.decision_sentences import strategy_table, why_nothing_is_saved
from linmax.validation import count_noun


def consult(model: Path, read: FilesOptions, options: ConsultOptions) -> Replay:
    """Replay the consultations of all rows of a file, and draw the cost-accuracy curve."""
    if options.picture is not None:
        check_output(options.picture, "draw")
    fusion = load_model(model)
    if "votes" not in fusion.needs:
        raise ValueError(f"{model} learns from attributes alone, so that there are no experts to ask")
    panel = open_for_model(read, fusion)
    found: list[RecordedVotes] = []
    with panel.stream() as stream:
        for chunk in stream:
            if not found:
                check_needs(fusion, chunk, str(model), stream.schema.file)
                names = getattr(chunk.votes, "column_names", None)
                check_known_experts(fusion, names or fusion.experts, str(model), stream.schema.file)
            with name_rows(stream.schema.file, chunk):
                found.append(recorded_votes(fusion, chunk))
    if not found or not sum(len(one.votes) for one in found):
        raise ValueError(f"{panel.file} has no rows")
    items = join_recorded(found, len(fusion.classes))
    print_unknown_votes(panel, str(model), abstain=True)
    if items.new_labels:
        print_message(
            f"{count_noun(items.new_labels, 'label')} of {panel.file} name no class that {model} knows: these"
            " items are not counted"
        )
    prices = None if options.prices is None else _prices(options.prices, fusion, model)
    replay = replay_consultations(
        fusion, items.votes, items.labels, available=items.available, prices=prices,
        risks=(*RISKS, options.risk), confidence=options.confidence, batch=options.batch,
        subsets=options.subsets, scores=items.scores, attributes=items.attributes,
    )  # fmt: skip
    if items.scores is not None:
        low, high = min(0.0, items.scores.min()), max(0.0, items.scores.max())
        print_message(f"experts answer with scores, whose range is that of the file: {low:.4g} to {high:.4g}")
    if options.picture is not None:
        from linmax.report.charts.consultation import draw_consultations

        if not replay.labelled:
            raise ValueError(
                f"{panel.file} has no labels, so that there is no accuracy to draw; leave out --picture"
            )
        draw_consultations(replay, options.picture)
        print_message(f"cost-accuracy curve: {options.picture}")
    return replay


def _prices(path: Path, fusion: Fusion, model: Path) -> np.ndarray:
    """Return the price of each expert of a session."""
    prices = read_prices(path)
    check_prices(path, prices, fusion.experts, str(model))
    return np.array([prices[str(name)] for name in fusion.experts])


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
    headings, rows = strategy_table(replay)
    print_table(
        console, headings, rows, left=("strategy",),
        styles=["bold" if i == place + 1 else "" for i in range(len(rows))],
    )  # fmt: skip
    chosen, whole = replay.consultations[place], replay.everybody
    unit = "cost" if replay.priced else "number of experts"
    saved = f"{1.0 - chosen.cost / whole.cost:.0%}" if whole.cost else "nothing"
    console.print(
        f"Risk {options.risk:g} saves {saved} of the {unit} of asking everybody, on {replay.items:,} items;"
        + (
            " a new session would have asked all of them in full."
            if replay.in_full and not replay.left_out
            else f" {replay.left_out:,} others were drawn to be asked in full."
        ),
        soft_wrap=True,
    )
    if why := why_nothing_is_saved(replay):
        advice = (
            " For exact savings, learn with --learner 'Averaged(Perceptron(slack=20, start=\"equal\"))'."
            if replay.limit in NEVER_SETTLED
            else ""
        )
        console.print(f"{why}{advice}", soft_wrap=True, markup=False)
    if replay.fallback[place]:
        console.print(f"In the end it behaved as with risk 0: {replay.fallback[place]}.", soft_wrap=True)
