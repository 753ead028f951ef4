"""The rows of a batch: one statement writes what a statement for each row would."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from linmax.service.event_log.batch_statements import insert_items, insert_labels
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import (
    AS_STORED,
    INSERT_EVENT,
    INSERT_ITEM,
    LABELLED,
    LEARNED,
    NO_ID,
    PREDICTED,
)
from linmax.service.messages.answer_runs import LabelAnswers, PredictAnswers, to_lines
from linmax.service.messages.answers import LabelAnswer
from linmax.service.messages.errors import ServiceError

IDS = ['zü"\\', "12", "it's", "[1]", "\u2028", "x" * 200]
BODIES = [b"{}", b'{"votes":{"ann":"\xc3\xbc"}}', b"", b"1" * 5000, b'{"a":"b"}', b"\x00\xff"]


def rows_of(folder: Path, statements: list[Any]) -> tuple[list[Any], list[Any]]:
    database = Database(folder)
    database.write(statements)
    found = database.rows("SELECT * FROM events"), database.rows("SELECT * FROM items")
    database.close()
    return found


@pytest.mark.parametrize("kind", [LEARNED, PREDICTED])
@pytest.mark.parametrize("given", [[True] * 6, [False] * 6, [True, False, True, True, False, True]])
def test_items_and_their_events_are_those_of_single_rows(
    tmp_path: Path, kind: int, given: list[bool]
) -> None:
    statements = insert_items(7, 3, kind, 1.5, "it's me", IDS, given, BODIES)
    together = rows_of(tmp_path / "together", statements)
    single: list[Any] = []
    for position, (id_, body, known) in enumerate(zip(IDS, BODIES, given, strict=True), 7):
        single.append((INSERT_EVENT, (position, 3, kind, id_, None, 1.5, "it's me", body)))
        learned = position if kind == LEARNED else None
        single.append((INSERT_ITEM, (3, id_, position, AS_STORED if known else NO_ID, learned)))
    assert together == rows_of(tmp_path / "single", single)
    assert len(together[0]) == len(together[1]) == 6


def test_labels_are_those_of_single_rows(tmp_path: Path) -> None:
    items = insert_items(1, 3, PREDICTED, 1.5, "me", IDS, [True] * 6, BODIES)
    order = [5, 0, 3]
    ids, bodies = [IDS[i] for i in order], [BODIES[i] for i in order]
    positions = [1 + i for i in order]
    labels = insert_labels(20, 3, 2.5, "me", ids, positions, bodies)
    written, kept = rows_of(tmp_path, [*items, *labels])
    assert written[len(IDS) :] == [
        (20 + row, 3, LABELLED, id_, position, 2.5, "me", body)
        for row, (id_, position, body) in enumerate(zip(ids, positions, bodies, strict=True))
    ]
    assert {row[1]: row[4] for row in kept} == {
        id_: 20 + ids.index(id_) if id_ in ids else None for id_ in IDS
    }


def test_bodies_do_not_stay_in_memory(tmp_path: Path) -> None:
    class Bodies(list[bytes]):
        """A list that can be referred to weakly."""

    bodies = Bodies(BODIES)
    kept = weakref.ref(bodies)
    database = Database(tmp_path)
    database.write(insert_items(1, 3, LEARNED, 1.5, "me", IDS, [True] * 6, bodies))
    del bodies
    database.write([])  # the group before is given back
    gc.collect()
    assert kept() is None
    database.close()


def test_lines_are_those_of_single_answers() -> None:
    keys, parts = ["x", "50 %", 'z"'], np.random.default_rng(0).dirichlet([1, 1, 1], size=4)
    ids, predictions = ['a"', "b", "c", "d"], ["x", 'z"', "x", "50 %"]
    runs: list[Any] = [
        PredictAnswers(ids, predictions, keys, parts, 9),
        LabelAnswers(ids, predictions, np.array([True, False, False, True]), 5),
    ]
    for run in runs:
        assert to_lines(run) == [msgspec.json.encode(answer) for answer in run]
        assert len(run) == len(list(run)) == 4
    bad = ServiceError(404, "unknown_item", "there is none")
    answer = LabelAnswer("a", "x", True, 1)
    assert to_lines([bad, answer]) == [msgspec.json.encode(bad.problem()), msgspec.json.encode(answer)]
