"""Results of promptfoo: each answer of a provider to a test is a vote."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

from linmax.panels.roles.names import VOTE_WORDS, has_word, truth_strength
from linmax.panels.whole_files.limits import Loaded
from linmax.panels.whole_files.records import json_text, plain_array
from linmax.streams.schema import StreamError, short_list

EXACT = ("equals", "iequals", "contains", "icontains", "equals-ignore-case")
"""Assertions whose value is the expected answer."""
TEMPLATE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
COLUMNS = ("item", "expert", "vote")


def promptfoo_results(document: Any) -> list[dict[str, Any]]:
    """Return the results in a document of promptfoo; nothing of another one.

    Parameters
    ----------
    document : object
        A JSON document, or a list of the objects on its lines.

    Examples
    --------
    >>> one = {"vars": {"label": "bug"}, "provider": "gpt", "response": {"output": "bug"}, "success": True}
    >>> len(promptfoo_results({"evalId": "x", "results": {"version": 3, "results": [one]}}))
    1
    >>> promptfoo_results([{"id": 1}])
    []
    """
    for _ in range(2):
        document = document.get("results") if isinstance(document, dict) else document
    if not isinstance(document, list) or not document:
        return []
    is_result = all(
        isinstance(one, dict)
        and "provider" in one
        and "response" in one
        and ("vars" in one or "testCase" in one)
        for one in document
    )
    return document if is_result else []


def read_promptfoo(results: list[dict[str, Any]], file: str) -> Loaded:
    """Return results as a long table with the columns item, expert, vote and, where it is known, truth.

    The truth is a variable of the test with the name of one, such as `expected`, or the value of an assertion
    such as `equals`. Whether a test succeeded is made from it, and is not read.

    Parameters
    ----------
    results : list of dict
        The results.
    file : str
        Name of the file, for messages.

    Returns
    -------
    Loaded

    Examples
    --------
    >>> one = {"testIdx": 3, "vars": {"label": "bug"}, "provider": "gpt", "response": {"output": "fix"}}
    >>> read_promptfoo([one], "results.json").data.to_pylist()
    [{'item': 3, 'expert': 'gpt', 'vote': 'fix', 'truth': 'bug'}]
    """
    numbers: dict[str, int] = {}
    several = len({one.get("promptIdx") for one in results}) > 1
    rows = []
    for one in results:
        variables = _variables(one)
        item = one.get("testIdx")
        if not isinstance(item, int):
            item = numbers.setdefault(json_text(variables), len(numbers))
        expert = _provider(one["provider"])
        expert += f" (prompt {one.get('promptIdx')})" * several
        rows.append((item, expert, _answer(one["response"]), _truth(one, variables)))
    items, experts, votes, truths = (list(column) for column in zip(*rows, strict=True))
    if not any(votes):
        raise StreamError(f"{file} has results of promptfoo without outputs; run the evaluation again")
    columns = {
        "item": plain_array(items),
        "expert": pa.array(experts, pa.string()),
        "vote": pa.array(votes, pa.string()),
    }
    hints: dict[str, Any] = {"shape": "long", "columns": COLUMNS}
    notes = ["these are results of promptfoo: one row per answer of a provider"]
    if any(truths):
        columns["truth"] = pa.array(truths, pa.string())
        hints["label"] = "truth"
    else:
        names = short_list({name: None for one in results[:100] for name in _variables(one)})
        notes.append(
            f"no variable of the tests ({names}) has the name of a label; call it expected, or join a file of"
            " labels with --labels"
        )
    return Loaded(pa.table(columns), np.arange(1, len(rows) + 1), "row", notes, True, hints)


def _variables(result: dict[str, Any]) -> dict[str, Any]:
    test = result.get("testCase")
    found = result.get("vars") or (test.get("vars") if isinstance(test, dict) else None)
    return found if isinstance(found, dict) else {}


def _provider(provider: Any) -> str:
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id")
    return "unknown" if provider is None else str(provider)


def _answer(response: Any) -> str | None:
    output = response.get("output") if isinstance(response, dict) else response
    if isinstance(output, dict):  # a structured answer such as {"label": "bug", "reason": "..."}
        named = [value for name, value in output.items() if has_word(name, VOTE_WORDS)]
        output = named[0] if len(named) == 1 else output
    return _text(output)


def _truth(result: dict[str, Any], variables: dict[str, Any]) -> str | None:
    for name, value in variables.items():
        if truth_strength(name) == 2 and not isinstance(value, dict | list):
            return _text(value)
    test = result.get("testCase")
    asserted = test.get("assert") if isinstance(test, dict) else None
    for one in asserted if isinstance(asserted, list) else []:
        if (
            isinstance(one, dict)
            and one.get("type") in EXACT
            and not isinstance(one.get("value"), dict | list)
        ):
            text = _text(one.get("value")) or ""
            return TEMPLATE.sub(lambda name: str(variables.get(name[1], name[0])), text) or None
    return None


def _text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return value.strip() if isinstance(value, str) else json_text(value)
