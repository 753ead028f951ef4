"""Exports of Prodigy: each line is the answer of an annotator to a task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from linmax.panels.roles.names import truth_strength
from linmax.panels.whole_files.limits import Loaded
from linmax.panels.whole_files.records import json_text, plain_array

ANSWERS = frozenset({"accept", "reject", "ignore"})
ANNOTATOR_KEYS = ("_annotator_id", "_session_id")
COLUMNS = ("item", "expert", "vote")


def is_prodigy(records: list[Any]) -> bool:
    """Return whether records are tasks exported by Prodigy.

    Examples
    --------
    >>> is_prodigy([{"_input_hash": 7, "accept": ["bug"], "answer": "accept"}])
    True
    """
    some = records[:100]
    return bool(some) and all(
        isinstance(one, dict)
        and one.get("answer") in ANSWERS
        and ("_input_hash" in one or "_task_hash" in one)
        for one in some
    )


def read_prodigy(records: list[dict[str, Any]], lines: list[int]) -> Loaded:
    """Return tasks as a long table with the columns item, expert, vote and, where it is known, truth.

    The vote is the option that was chosen; a task that was rejected or ignored has none. Without options,
    the votes are accept and reject. `label` is what was asked, not the truth.

    Parameters
    ----------
    records : list of dict
        The tasks.
    lines : list of int
        The line of each.

    Returns
    -------
    Loaded

    Examples
    --------
    >>> task = {"_input_hash": 7, "accept": ["bug"], "answer": "accept", "_session_id": "ann", "gold": "fix"}
    >>> read_prodigy([task], [1]).data.to_pylist()
    [{'item': 7, 'expert': 'ann', 'vote': 'bug', 'truth': 'fix'}]
    """
    has_options = any("accept" in one for one in records)
    keys = ("_input_hash", "_task_hash") if has_options else ("_task_hash", "_input_hash")
    truths = [_truth(one) for one in records]
    votes = [_vote(one, has_options) for one in records]
    columns = {
        "item": plain_array([next(one[key] for key in keys if key in one) for one in records]),
        "expert": pa.array([_annotator(one) for one in records], pa.string()),
        "vote": pa.array(votes, pa.string()),
    }
    hints: dict[str, Any] = {"shape": "long", "columns": COLUMNS}
    if any(truths):
        columns["truth"] = pa.array(truths, pa.string())
        hints["label"] = "truth"
    notes = ["this is an export of Prodigy: one row per answer of an annotator"]
    if unanswered := sum(vote is None for vote in votes):
        notes.append(f"{unanswered:,} tasks were ignored{' or rejected' * has_options}: they have no vote")
    return Loaded(pa.table(columns), np.array(lines, np.int64), "line", notes, True, hints)


def _vote(task: dict[str, Any], has_options: bool) -> str | None:
    answer = str(task.get("answer"))
    if not has_options:
        return None if answer == "ignore" else answer
    chosen = task.get("accept")
    if answer != "accept" or not isinstance(chosen, list) or not chosen:
        return None
    return " | ".join(sorted(str(one) for one in chosen))


def _annotator(task: dict[str, Any]) -> str:
    return next((str(task[key]) for key in ANNOTATOR_KEYS if task.get(key)), "annotator")


def _truth(task: dict[str, Any]) -> str | None:
    meta = task.get("meta")
    for place in (task, meta if isinstance(meta, dict) else {}):
        for name, value in place.items():
            if name != "label" and truth_strength(name) == 2 and isinstance(value, str | int):
                return value if isinstance(value, str) else json_text(value)
    return None
