"""Arrow streams that were answered as if they were right, or not answered at all."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax.service.fusions.bulk import SHORTEST
from linmax.service.http import endpoints
from linmax.service.http.arrow_stream import write_answers
from linmax.service.http.bodies import FEW_CELLS
from linmax.service.messages.answer_runs import LabelAnswers, PredictAnswers, count_cells
from linmax.service.messages.errors import ServiceError
from tests.service.api import Api, code
from tests.service.test_arrow import error, post, send_table, to_stream
from tests.service.test_batches import send as send_lines
from tests.service.test_durability import FailingWrites
from tests.service.test_items import run

pa = pytest.importorskip("pyarrow", reason="Arrow batches need pyarrow (extra service)")


def test_a_column_of_labels_does_not_predict(tmp_path: Path) -> None:
    """It would be an expert that is always right."""

    async def check(api: Api) -> None:
        await api.create()
        columns = {"id": ["a"], "ann": ["x"], "label": ["y"]}
        answer = await post(api, "predict", to_stream(columns))
        assert code(answer) == (422, "bad_request")
        assert "predict without it" in answer.json()["error"]["message"]
        assert (await send_table(api, "learn", columns))[0]["position"]
        assert (await api("GET", "/v1/fusions/spam")).json()["experts"] == ["ann"]

    run(check, tmp_path)


@pytest.mark.parametrize("more", [b"x", b"\0" * 8, None])
def test_what_follows_a_stream_is_not_left_out(tmp_path: Path, more: bytes | None) -> None:

    async def check(api: Api) -> None:
        await api.create()
        first, second = (to_stream({"id": [id_], "ann": ["x"]}) for id_ in "ab")
        answer = await post(api, "predict", first + (second if more is None else more))
        assert code(answer) == (400, "bad_arrow")
        assert "send one stream at a time" in answer.json()["error"]["message"]
        assert (await api("GET", "/v1/fusions/spam/items/a")).status_code == 404

    run(check, tmp_path)


def test_classes_of_more_than_63_bits_are_answered(tmp_path: Path) -> None:

    async def check(api: Api) -> None:
        await api.create()
        large = pa.array([2**63, 2**64 - 1], pa.uint64())
        rows = await send_table(api, "learn", {"id": ["a", "b"], "ann": large, "label": large})
        assert [row["prediction"] for row in rows] == [str(2**63), str(2**64 - 1)]
        assert [row["right"] for row in rows] == [True, True]
        rows = await send_table(api, "predict", {"id": ["c"], "ann": large[:1]})
        assert rows[0]["prediction"] == str(2**63)

    run(check, tmp_path)


def _ids(kind: str) -> Any:
    """The ids a, null and b as text, or in a dictionary without or with null."""
    ids = pa.array(["a", None, "b"])
    if kind == "text":
        return ids
    if kind == "dictionary":
        return ids.dictionary_encode()
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), ids)


@pytest.mark.parametrize("kind", ["text", "dictionary", "dictionary with null"])
def test_a_row_without_id_is_the_only_one_that_fails(tmp_path: Path, kind: str) -> None:
    async def check(api: Api) -> None:
        await api.create()
        rows = await send_table(api, "predict", {"id": _ids(kind), "ann": ["x"] * 3})
        assert [row["prediction"] for row in rows] == ["x"] * 3
        rows = await send_table(api, "labels", {"id": _ids(kind), "label": ["x"] * 3})
        assert [row["position"] is not None for row in rows] == [True, False, True]
        assert rows[1]["message"] == "the row has no id"
        assert (await api.describe())["trials"] == 2

    run(check, tmp_path)


def test_answers_are_made_while_the_log_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They leave after that, and are made anew if the log could not be written."""
    made = threading.Event()

    def note(*values: Any) -> bytes:
        made.set()
        return write_answers(*values)

    monkeypatch.setattr(endpoints, "write_answers", note)
    columns = {"ann": ["x", "y"] * SHORTEST, "label": ["x", "y"] * SHORTEST}

    async def story(api: Api) -> None:
        await api.create(classes=["x", "y"])
        await send_table(api, "learn", columns)  # what is called for the first time runs in a thread
        await send_table(api, "predict", {"ann": columns["ann"]})
        before, database = await api.digest(), api.service.database
        commit, early = database._commit, []

        def wait(writes: Any) -> Any:
            early.append(made.wait(5.0))
            return commit(writes)

        made.clear()
        monkeypatch.setattr(database, "_commit", wait)
        rows = await send_table(api, "learn", columns)
        assert early == [True]
        assert all(row["position"] for row in rows)
        assert await api.digest() != before
        monkeypatch.undo()
        before = await api.digest()
        FailingWrites(database, [True], "_commit")
        rows = await send_table(api, "predict", {"ann": columns["ann"]})
        assert {row["stored"] for row in rows} == {False}
        monkeypatch.setattr("linmax.service.event_log.database.RETRY", 0.0)
        FailingWrites(database, [True], "_commit")
        assert set(map(error, await send_table(api, "learn", columns))) == {"storage_full"}
        assert await api.digest() == before

    run(story, tmp_path)


@pytest.mark.parametrize(
    ("columns", "in_threads"),
    [
        ({"ann": ["x"] * SHORTEST}, set()),
        ({"ann": pa.nulls(FEW_CELLS // 8)}, {"ArrowRows", "write_answers"}),
        ({f"expert {at}": pa.nulls(50) for at in range(FEW_CELLS // 50)}, {"ArrowRows"}),
        ({"id": ["i" * 200 + str(at) for at in range(1000)]}, {"read_stream"}),
    ],
    ids=["small", "long", "wide", "many bytes"],
)
def test_a_table_with_many_cells_does_not_hold_up_the_others(
    columns: dict[str, Any], in_threads: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream may have few bytes and still take long: columns of nulls have none."""
    loop, found = threading.get_ident(), set()

    def note(name: str, call: Any) -> Any:
        def noting(*values: Any) -> Any:
            if threading.get_ident() != loop:
                found.add(name)
            return call(*values)

        return noting

    for name in ("read_stream", "ArrowRows", "write_answers"):
        monkeypatch.setattr(endpoints, name, note(name, getattr(endpoints, name)))

    async def check(api: Api) -> None:
        await api.create(classes=["x", "y"])
        await api.learn(None, "x", ann="x")
        await send_table(api, "predict", columns)
        assert found == in_threads

    run(check, tmp_path)


def test_the_probabilities_of_many_classes_are_many_cells() -> None:
    """They are written in a thread."""
    keys = [str(at) for at in range(100)]
    answers = PredictAnswers(["i"] * 1000, ["0"] * 1000, keys, np.zeros((1000, 100)), 1)
    assert count_cells(answers) == sum(map(count_cells, [list(answers)])) > FEW_CELLS
    assert (
        count_cells(LabelAnswers(["i"], ["x"], np.array([True]), 1))
        == count_cells([ServiceError(404, "unknown_item", "no")])
        == 8
    )


@pytest.mark.parametrize("classes", [None, ["x", "y"]])
@pytest.mark.parametrize("media", ["Arrow", "NDJSON"])
def test_a_batch_without_votes_for_a_fusion_without_experts(
    media: str, classes: list[str] | None, tmp_path: Path
) -> None:
    """There is nothing yet that its items could be read with in bulk."""
    ids, labels = [f"i{at}" for at in range(2 * SHORTEST)], ["x", "y"] * SHORTEST

    async def send(api: Api, verb: str, columns: dict[str, Any]) -> list[dict[str, Any]]:
        votes: dict[str, Any] = {} if verb == "labels" else {"votes": {}}
        if media == "Arrow":
            return await send_table(api, verb, columns | ({"ann": pa.nulls(len(ids))} if votes else {}))
        rows = zip(*columns.values(), strict=True)
        return await send_lines(api, verb, [dict(zip(columns, row, strict=True)) | votes for row in rows])

    async def check(api: Api) -> None:
        await api.create(**({} if classes is None else {"classes": classes}))
        rows = await send(api, "predict", {"id": ids})
        assert [row["id"] for row in rows] == ids
        assert all(row.get("stored", True) for row in rows)
        rows = await send(api, "labels", {"id": ids, "label": labels})
        assert all(row["position"] for row in rows)
        rows = await send(api, "learn", {"id": [id_ + "b" for id_ in ids], "label": labels})
        assert all(row["position"] for row in rows)
        assert (await api.describe())["trials"] == 2 * len(ids)

    run(check, tmp_path)
