"""Exports of Label Studio: tasks with annotations and predictions become one row per vote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from linmax.panels.whole_files.limits import Loaded
from linmax.panels.whole_files.records import json_text, plain_array
from linmax.streams.schema import StreamError, short_list, short_repr

ANNOTATION_KEYS = ("annotations", "completions")
TRUTH_KEYS = ("ground_truth", "gold", "truth", "gold_label", "label")
COLUMNS = ("item", "expert", "vote")
MIN_COLUMNS = {"id", "annotator", "annotation_id"}
"""Columns that the exports JSON-MIN and CSV have; they have one row per annotation."""
MIN_OTHERS = {"created_at", "updated_at", "lead_time", "agreement", "project", "cancelled_annotations"}


class Vote(NamedTuple):
    """One answer to one question on one task."""

    item: Any
    expert: Any
    question: str
    answer: str
    is_truth: bool


def is_label_studio(records: list[Any]) -> bool:
    """Return whether records are tasks exported by Label Studio.

    Examples
    --------
    >>> is_label_studio([{"id": 1, "annotations": [{"completed_by": 2, "result": []}]}])
    True
    """
    return any(
        isinstance(annotation, dict) and isinstance(annotation.get("result"), list)
        for record in records[:100]
        if isinstance(record, dict)
        for annotation in _annotations(record)
    )


def read_label_studio(tasks: list[dict[str, Any]], file: str, part: str = "") -> Loaded:
    """Return tasks as a long table with the columns item, expert, vote and, where it is known, truth.

    Annotations are votes of those who made them, predictions are votes of their model version. The truth
    is `ground_truth` of a task or the annotation that is marked as such, which does not vote.

    Parameters
    ----------
    tasks : list of dict
        The tasks.
    file : str
        Name of the file, for messages.
    part : str
        The question (`from_name`) to read, needed if there are several.

    Returns
    -------
    Loaded

    Examples
    --------
    >>> result = [{"from_name": "c", "type": "choices", "value": {"choices": ["bug"]}}]
    >>> task = {"id": 7, "annotations": [{"completed_by": 3, "result": result}], "ground_truth": "bug"}
    >>> read_label_studio([task], "tasks.json").data.to_pylist()
    [{'item': 7, 'expert': '3', 'vote': 'bug', 'truth': 'bug'}]
    """
    votes: list[Vote] = []
    lines: list[int] = []
    truths: dict[Any, str] = {}
    ignored: Counter[str] = Counter()
    for line, task in enumerate(tasks, 1):
        item = task.get("id", task.get("inner_id", line))
        item = item if isinstance(item, int | str) and not isinstance(item, bool) else line
        for vote in _votes(task, item, ignored):
            votes.append(vote)
            lines.append(line)
        if (truth := _task_truth(task)) is not None:
            truths[item] = truth
    question, others = _question(votes, file, part)
    rows = [(vote, line) for vote, line in zip(votes, lines, strict=True) if vote.question == question]
    for vote, _ in rows:
        if vote.is_truth:
            truths.setdefault(vote.item, vote.answer)
    rows = [(vote, line) for vote, line in rows if not vote.is_truth]
    if not rows:
        raise StreamError(
            f"{file} is a Label Studio export without votes ({_describe(ignored)}); export tasks with"
            " annotations that are choices, ratings, numbers or texts"
        )
    columns = {
        "item": plain_array([vote.item for vote, _ in rows]),
        "expert": pa.array([_expert_name(vote.expert) for vote, _ in rows], pa.string()),
        "vote": pa.array([vote.answer for vote, _ in rows], pa.string()),
    }
    hints: dict[str, Any] = {"shape": "long", "columns": COLUMNS}
    if truths:
        columns["truth"] = pa.array([truths.get(vote.item) for vote, _ in rows], pa.string())
        hints["label"] = "truth"
    notes = ["this is a Label Studio export: one row per annotation"]
    if others:
        notes.append(
            f"the question {short_repr(question)} is read; for another ({short_list(others)}) write"
            f" {file}#{others[0]}"
        )
    if ignored:
        notes.append(f"not read: {_describe(ignored)}")
    return Loaded(
        pa.table(columns), np.array([line for _, line in rows], np.int64), "row", notes, True, hints
    )


def flat_export_hints(data: Any) -> dict[str, Any]:
    """Return the roles of columns in a table that Label Studio exported as JSON-MIN or CSV.

    The votes are in the only column, apart from the known ones, whose values differ within a task.

    Parameters
    ----------
    data : pyarrow.Table
        The table.

    Returns
    -------
    dict
        Empty if it is another table, or the column of votes is not certain.

    Examples
    --------
    >>> rows = [(1, 10, 5, "x", "bug"), (1, 11, 6, "x", "fix"), (2, 12, 5, "y", "bug")]
    >>> names = ["id", "annotation_id", "annotator", "text", "kind"]
    >>> flat_export_hints(pa.table(dict(zip(names, zip(*rows), strict=True))))
    {'shape': 'long', 'columns': ('id', 'annotator', 'kind')}
    """
    names = data.column_names
    if not set(names) >= MIN_COLUMNS or len(names) > 1000:
        return {}
    items = data.column("id").to_pylist()
    varying = []
    for name in names:
        if name in MIN_COLUMNS | MIN_OTHERS:
            continue
        first: dict[Any, Any] = {}
        values = data.column(name).to_pylist()
        if any(first.setdefault(item, value) != value for item, value in zip(items, values, strict=True)):
            varying.append(name)
    return {"shape": "long", "columns": ("id", "annotator", varying[0])} if len(varying) == 1 else {}


def _annotations(task: dict[str, Any]) -> list[Any]:
    found: list[Any] = next((task[key] for key in ANNOTATION_KEYS if isinstance(task.get(key), list)), [])
    return list(found)


def _votes(task: dict[str, Any], item: Any, ignored: Counter[str]) -> Iterator[Vote]:
    predictions = task.get("predictions")
    sources = [(annotation, "annotator") for annotation in _annotations(task)]
    sources += [(prediction, "model") for prediction in predictions] if isinstance(predictions, list) else []
    for source, kind in sources:
        if not isinstance(source, dict):
            continue
        if source.get("was_cancelled"):
            ignored["cancelled annotation"] += 1
            continue
        by = source.get("completed_by", source.get("created_username"))
        expert = by if kind == "annotator" else source.get("model_version") or "model"
        results = source.get("result")
        answered: set[str] = set()
        for result in results if isinstance(results, list) else []:
            if not isinstance(result, dict) or not isinstance(result.get("value"), dict):
                continue
            question = str(result.get("from_name", "answer"))
            answer = _answer(result["value"])
            if answer is None:
                ignored[f"{result.get('type', 'region')} result"] += 1
            elif question in answered:
                ignored["second answer to one question"] += 1
            else:
                answered.add(question)
                yield Vote(item, expert, question, answer, bool(source.get("ground_truth")))


def _answer(value: dict[str, Any]) -> str | None:
    """Return the answer in a result as text, None for regions and other results that are not answers."""
    if {"start", "x", "points"} & set(value):  # a choice on a region is not one on the task
        return None
    for key in ("choices", "taxonomy", "text", "rating", "number", "selected", "datetime"):
        if key not in value:
            continue
        answer = value[key]
        if key == "taxonomy" and isinstance(answer, list):
            answer = [" / ".join(map(str, path)) if isinstance(path, list) else path for path in answer]
        if isinstance(answer, list):
            return " | ".join(sorted(map(_text, answer))) or None
        return None if answer is None or answer == "" else _text(answer)
    return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def _task_truth(task: dict[str, Any]) -> str | None:
    data = task.get("data")
    for place in (task, data if isinstance(data, dict) else {}):
        for key in TRUTH_KEYS if place is data else TRUTH_KEYS[:1]:
            value = place.get(key)
            if isinstance(value, dict):
                value = _answer(value)
            if isinstance(value, list) and len(value) == 1:
                value = value[0]
            if value is not None and not isinstance(value, list | dict | bool) and value != "":
                return _text(value)
    return None


def _question(votes: list[Vote], file: str, part: str) -> tuple[str, list[str]]:
    """Return the question to read, and the others."""
    questions = [name for name, _ in Counter(vote.question for vote in votes).most_common()]
    if part and part not in questions:
        raise StreamError(f"{file} has no question {short_repr(part)}; it has {short_list(questions)}")
    question = part or (questions[0] if questions else "")
    return question, [name for name in questions if name != question]


def _expert_name(by: Any) -> str:
    """Return the name of who made an annotation: an id, a name, or an object with an email or id."""
    if isinstance(by, dict):
        by = next((by[key] for key in ("email", "username", "id") if by.get(key) not in (None, "")), None)
    return "unknown" if by is None else _text(by)


def _describe(ignored: Counter[str]) -> str:
    found = [f"{count} {what[:40]}{'s' * (count > 1)}" for what, count in ignored.most_common(5)]
    return ", ".join(found) or "none at all"
