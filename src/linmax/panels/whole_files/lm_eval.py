"""Sample logs of lm-evaluation-harness: one file per model, with scores of choices or generated answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from linmax.panels.whole_files.limits import Loaded
from linmax.panels.whole_files.records import json_text, plain_array
from linmax.streams.schema import StreamError, short_list, short_repr
from linmax.validation import count_noun

ID, TARGET, VOTE, SCORE = "doc_id", "target", "vote", "score:{}"
MAX_CHOICES = 1000
LOWEST_SCORE = -1e6  # in place of minus infinity
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def is_sample_log(records: list[dict[str, Any]]) -> bool:
    """Return whether records are those of a sample log.

    Examples
    --------
    >>> is_sample_log([{"doc_id": 0, "target": 1, "filtered_resps": [[-1.5, False], [-0.5, True]]}])
    True
    """
    head = records[:100]
    return bool(head) and all(
        ID in record and TARGET in record and ("filtered_resps" in record or "resps" in record)
        for record in head
    )


def read_sample_log(records: list[dict[str, Any]], lines: list[int], file: str, part: str = "") -> Loaded:
    """Return a sample log as a table: doc_id, target, and a column per choice or one of answers.

    Metrics such as acc are left out, because they tell whether the answer was right.

    Parameters
    ----------
    records : list of dict
        The samples.
    lines : list of int
        Their lines.
    file : str
        Name of the file, for messages.
    part : str
        The filter to read; by default the first one.

    Returns
    -------
    Loaded

    Examples
    --------
    >>> responses = [["-1.5", "False"], ["-0.5", "True"]]
    >>> sample = {"doc_id": 0, "target": "1", "filtered_resps": responses, "acc": 1}
    >>> read_sample_log([sample], [1], "samples_gpt4.jsonl").data.to_pylist()
    [{'doc_id': 0, 'target': 1, 'score:0': -1.5, 'score:1': -0.5}]
    """
    notes = ["this is a log of lm-evaluation-harness; its metrics are not read"]
    records, lines = _select_filter(records, lines, file, part, notes)
    answers = [_response(record) for record in records]
    if all(isinstance(answer, list) for answer in answers):
        return _scores(records, answers, lines, file, notes)
    targets = [_target_text(record[TARGET]) for record in records]
    votes = [None if isinstance(answer, list) else answer for answer in answers]
    data = pa.table(
        {
            ID: plain_array([_plain_id(record[ID]) for record in records]),
            TARGET: pa.array(targets, pa.string()),
            VOTE: pa.array(votes, pa.string()),
        }
    )
    return Loaded(
        data, np.array(lines, np.int64), "line", notes, True, {"id": ID, "label": TARGET, "vote": VOTE}
    )


def _scores(
    records: list[dict[str, Any]], answers: list[Any], lines: list[int], file: str, notes: list[str]
) -> Loaded:
    choices = max(map(len, answers))
    if not 2 <= choices <= MAX_CHOICES:
        raise StreamError(
            f"{file} is a log of lm-evaluation-harness with {count_noun(choices, 'choice')} per item;"
            f" 2 to {MAX_CHOICES} are read, so use a task with several choices or with generated answers"
        )
    columns = {
        ID: plain_array([_plain_id(record[ID]) for record in records]),
        TARGET: _targets(records, choices),
    }
    for j in range(choices):
        values = [answer[j] if j < len(answer) else None for answer in answers]
        columns[SCORE.format(j)] = pa.array(values, pa.float64())
    hints = {"id": ID, "label": TARGET, "scores": tuple(SCORE.format(j) for j in range(choices))}
    return Loaded(pa.table(columns), np.array(lines, np.int64), "line", notes, True, hints)


def _select_filter(
    records: list[dict[str, Any]], lines: list[int], file: str, part: str, notes: list[str]
) -> tuple[list[dict[str, Any]], list[int]]:
    """Keep the samples of one filter: each sample is logged once per filter."""
    filters = list(dict.fromkeys(str(record.get("filter", "")) for record in records))
    if part and part not in filters:
        raise StreamError(f"{file} has no filter {short_repr(part)}; it has {short_list(filters)}")
    if len(filters) < 2:
        return records, lines
    chosen = part or filters[0]
    others = [name for name in filters if name != chosen]
    notes.append(
        f"the filter {short_repr(chosen)} is read; for another ({short_list(others)}) write"
        f" {file}#{others[0]}"
    )
    kept = [i for i, record in enumerate(records) if str(record.get("filter", "")) == chosen]
    return [records[i] for i in kept], [lines[i] for i in kept]


def _response(record: dict[str, Any]) -> list[float | None] | str | None:
    """Return the scores of the choices, or the generated answer."""
    responses = record.get("filtered_resps")
    if responses is None:
        responses = record.get("resps")
    if not isinstance(responses, list) or not responses:
        return responses.strip() or None if isinstance(responses, str) else None
    scores = [_score(response) for response in responses]
    if len(scores) > 1 and all(score is not None for score in scores):
        return list(scores)
    if len(scores) == 1 and scores[0] is not None and _innermost_list(responses[0]):
        return list(scores)
    first = responses[0]
    while isinstance(first, list) and first:
        first = first[0]
    if first is None or isinstance(first, list):
        return None
    text = first if isinstance(first, str) else json_text(first)
    return text.strip() or None


def _innermost_list(response: Any) -> bool:
    """Return whether a response is a pair of a log-likelihood and whether it is the greedy choice."""
    while isinstance(response, list) and len(response) == 1:
        response = response[0]
    return isinstance(response, list) and len(response) == 2 and str(response[1]) in ("True", "False")


def _score(response: Any) -> float | None:
    """Return the log-likelihood in a response [value, is_greedy] or [[value, is_greedy]]."""
    while isinstance(response, list) and response:
        response = response[0]
    if isinstance(response, bool) or not isinstance(response, int | float | str):
        return None
    try:
        value = float(response)
    except ValueError:
        return None
    return None if math.isnan(value) else max(min(value, -LOWEST_SCORE), LOWEST_SCORE)


def _targets(records: list[dict[str, Any]], choices: int) -> Any:
    """Return targets as indices of choices where they are indices, texts of choices, or letters."""
    texts = [_target_text(record[TARGET]) for record in records]
    present = [text for text in texts if text is not None]
    if all(text.lstrip("-").isdecimal() and len(text) < 10 for text in present):
        return pa.array([None if text is None else int(text) for text in texts], pa.int64())
    indices = [_index_of(text, record.get("doc")) for text, record in zip(texts, records, strict=True)]
    if all(i is not None or text is None for i, text in zip(indices, texts, strict=True)):
        return pa.array(indices, pa.int64())
    if all(len(text) == 1 and text in LETTERS[:choices] for text in (text.strip("()") for text in present)):
        return pa.array(
            [None if text is None else LETTERS.index(text.strip("()")) for text in texts], pa.int64()
        )
    return pa.array(texts, pa.string())


def _index_of(text: str | None, doc: Any) -> int | None:
    choices = doc.get("choices") if isinstance(doc, dict) else None
    lists = list(choices.values()) if isinstance(choices, dict) else [choices]
    for names in lists:
        if isinstance(names, list) and text is not None:
            words = [str(name).strip() for name in names]
            if words.count(text) == 1:
                return words.index(text)
    return None


def _target_text(target: Any) -> str | None:
    while isinstance(target, list) and len(target) == 1:
        target = target[0]
    if target is None:
        return None
    return (target if isinstance(target, str) else json_text(target)).strip() or None


def _plain_id(value: Any) -> Any:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else json_text(value)
