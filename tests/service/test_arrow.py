"""Arrow streams: a column per expert, a row per item, and the same result as one by one."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest

from linmax.service.event_log.trials import trials_of
from linmax.service.fusions.bulk import SHORTEST
from linmax.service.fusions.items import Items
from linmax.service.messages.requests import LearnRequest, content_of
from tests.service.api import Api, code, digest_of
from tests.service.test_batches import send
from tests.service.test_items import run

pa = pytest.importorskip("pyarrow", reason="Arrow batches need pyarrow (extra service)")
KIND = {"content-type": "application/vnd.apache.arrow.stream"}


def to_stream(columns: Any, **options: Any) -> bytes:
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=70)
    return bytes(sink.getvalue())


async def post(api: Api, verb: str, content: bytes, name: str = "spam", **more: Any) -> httpx.Response:
    return await api("POST", f"/v1/fusions/{name}/{verb}", content=content, headers=KIND, **more)


async def send_table(api: Api, verb: str, columns: Any, name: str = "spam") -> list[dict[str, Any]]:
    answer = await post(api, verb, to_stream(columns), name)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == KIND["content-type"]
    found: list[dict[str, Any]] = pa.ipc.open_stream(answer.content).read_all().to_pylist()
    return found


def panel(rows: int, kind: str = "text", seed: int = 0) -> tuple[dict[str, list[Any]], list[Any]]:
    """Votes with abstentions, of three experts, and labels."""
    names: list[Any] = {"text": ["x", "y", 'zü"\\'], "numbers": [3, 1, 2], "truth": [True, False]}[kind]
    chance = np.random.default_rng(seed)
    votes = {
        expert: [
            None if draw == len(names) else names[draw] for draw in chance.integers(len(names) + 1, size=rows)
        ]
        for expert in ("ann", "zoe", "bob")
    }
    return votes, [names[draw] for draw in chance.integers(len(names), size=rows)]


def items_of(votes: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """The votes of each row, without abstentions."""
    rows = zip(*votes.values(), strict=True)
    return [{name: vote for name, vote in zip(votes, row, strict=True) if vote is not None} for row in rows]


def error(row: dict[str, Any]) -> str | None:
    return row["code"]


@pytest.mark.parametrize(
    ("kind", "learner"), [("text", None), ("numbers", "Averaged(Winnow(1.2))"), ("truth", "Perceptron()")]
)
def test_a_table_does_what_its_rows_do_one_by_one(tmp_path: Path, kind: str, learner: str | None) -> None:
    votes, labels = panel(60, kind)
    ids = [str(i) for i in range(60)]
    settings = {} if learner is None else {"learner": learner}

    async def story(api: Api) -> None:
        for name in ("spam", "alone"):
            await api("PUT", f"/v1/fusions/{name}", settings)
        taught = {"id": ids, **votes, "label": labels}
        answers = await send_table(api, "learn", taught)
        assert not any(map(error, answers))
        alone = []
        for id_, item, label in zip(ids, items_of(votes), labels, strict=True):
            alone.append((await api.learn(id_, label, "alone", **item)).json())
        assert [(one["prediction"], one["right"]) for one in answers] == [
            (one["prediction"], one["right"]) for one in alone
        ]
        assert await api.digest() == await api.digest("alone")
        assert await send_table(api, "learn", taught) == answers  # exactly once
        assert await api.digest() == await api.digest("alone")
        later = {"id": [f"p{id_}" for id_ in ids], **votes}
        guesses = await send_table(api, "predict", later)
        for id_, item, guess in zip(later["id"], items_of(votes), guesses, strict=True):
            single = (await api.predict(id_, "alone", **item)).json()
            assert guess["prediction"] == single["prediction"]
            assert dict(guess["probabilities"]) == single["probabilities"]
        told = await send_table(api, "labels", {"id": later["id"], "label": labels})
        for id_, label in zip(later["id"], labels, strict=True):
            await api.label(id_, label, "alone")
        assert [one["right"] for one in told] == [
            guess["prediction"] == label for guess, label in zip(guesses, labels, strict=True)
        ]
        assert await api.digest() == await api.digest("alone")
        counts = [await api.describe(name) for name in ("spam", "alone")]
        assert len({(one["trials"], one["mistakes"], one["waiting"]) for one in counts}) == 1

    run(story, tmp_path)

    async def later(api: Api) -> None:  # from the log
        assert await api.digest() == await api.digest("alone")

    run(later, tmp_path)


def test_a_row_is_the_same_request_as_its_json(tmp_path: Path) -> None:
    votes, labels = panel(40)
    items = items_of(votes)

    async def story(api: Api) -> None:
        await api.create()
        ids = [str(i) for i in range(40)]
        first = await send_table(api, "learn", {"id": ids, **votes, "label": labels})
        lines = [
            {"id": id_, "votes": item, "label": label}
            for id_, item, label in zip(ids, items, labels, strict=True)
        ]
        again = await send(api, "learn", lines)
        assert [one["position"] for one in again] == [one["position"] for one in first]
        single = [(await api.learn(id_, label, **item)).json() for id_, item, label in zip(
            ids, items, labels, strict=True)]  # fmt: skip
        assert single == again
        for change in ({"label": "z"}, {"votes": {}}, {"attributes": {"a": 1}}):
            assert code(await api("POST", "/v1/fusions/spam/learn", {**lines[0], **change})) == (
                409, "id_in_use",
            )  # fmt: skip
        found = [trial.votes for trial in trials_of(api.service.database, 1, 0, 10**9)]
        assert found == items

    run(story, tmp_path)
    assert content_of(LearnRequest("x", {"b": "y", "a": "x"})) == (
        b'["LearnRequest",{"attributes":null,"label":"x","votes":{"a":"x","b":"y"}}]'
    )


def test_a_bad_row_does_not_concern_the_others(tmp_path: Path) -> None:
    votes, labels = panel(60)
    ids: list[str | None] = [str(i) for i in range(60)]
    ids[20], ids[21], ids[30], ids[40] = "19", None, "a\nb", "x" * 201
    labels[25] = None

    async def story(api: Api) -> None:
        await api.create(limits={"item_bytes": 100, "classes": 4})
        await send_table(api, "learn", {"id": ["before"], "ann": ["x"], "label": ["x"]})
        votes["bob"][50] = "long " * 30
        votes["bob"][51], votes["bob"][52] = "fourth", "fifth"
        answers = await send_table(api, "learn", {"id": ids, **votes, "label": labels})
        codes = {row: error(answer) for row, answer in enumerate(answers) if error(answer)}
        assert codes == {
            20: "id_in_use", 25: "bad_request", 30: "bad_request", 40: "bad_request", 50: "too_large",
            52: "too_many_names",
        }  # fmt: skip
        assert len(answers[21]["id"]) == 32  # it was made by the server
        assert all("\n" not in (answer["message"] or "") for answer in answers)
        right = [i for i in range(60) if i not in codes]
        items = items_of(votes)
        assert await api.digest() == digest_of(({"ann": "x"}, "x"), *((items[i], labels[i]) for i in right))

    run(story, tmp_path)


def test_labels_in_a_table_are_refused_row_by_row(tmp_path: Path) -> None:
    votes, labels = panel(50)

    async def story(api: Api) -> None:
        api.service.items.store.label_wait = 0.0
        await api.create()
        ids = [str(i) for i in range(50)]
        await send_table(api, "predict", {"id": ids, **votes})
        answers = await send_table(api, "labels", {"id": [*ids, "nobody", "3"], "label": [*labels, "x", "w"]})
        assert [error(one) for one in answers[50:]] == ["unknown_item", "labelled_otherwise"]
        assert not any(map(error, answers[:50]))
        changed = {"id": ["3", "4"], "label": ["w", labels[4]], "replaces": [labels[3], None]}
        assert not any(map(error, await send_table(api, "labels", changed)))
        right = [labels[0], labels[1], labels[2], "w", *labels[4:]]
        assert await api.digest() == digest_of(*zip(items_of(votes), right, strict=True))

    run(story, tmp_path)


def test_types_of_columns(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create("floats")
        columns = {
            "ann": pa.array([1.0, 2.0, float("nan"), 1.5] * 10),
            "bob": pa.array([1, 2, None, 1] * 10, pa.int8()),
            "eve": pa.nulls(40),
            "label": pa.array([1, 2, 1, 2] * 10, pa.uint16()),
        }
        answers = await send_table(api, "learn", columns, "floats")
        assert [error(one) for one in answers] == [None, None, None, "bad_request"] * 10
        trials: Any = [({"ann": 1, "bob": 1}, 1), ({"ann": 2, "bob": 2}, 2), ({}, 1)] * 10
        assert await api.digest("floats") == digest_of(*trials)
        await api.create()
        text = pa.array(["x", "y", None, "x"] * 10)
        coded = {
            "ann": text.dictionary_encode(),
            "bob": text.cast(pa.large_string()),
            "label": ["x", "y"] * 20,
        }
        assert not any(map(error, await send_table(api, "learn", coded)))

    run(story, tmp_path)


EMPTY = pa.table({"label": pa.array([], pa.string())})
HOSTILE: dict[str, tuple[bytes, tuple[int, str]]] = {
    "nothing": (b"", (400, "bad_arrow")),
    "text": (b"hello" * 100, (400, "bad_arrow")),
    "half": (to_stream({"id": ["a"] * 100, "label": ["x"] * 100})[:-300], (400, "bad_arrow")),
    "cut after the schema": (to_stream(EMPTY)[:-8], (400, "bad_arrow")),
    "cut after a batch": (to_stream({"id": ["a"], "label": ["x"]})[:-8], (400, "bad_arrow")),
    "compressed": (
        to_stream({"ann": ["x"] * 99, "label": ["x"] * 99}, compression="zstd"), (400, "bad_arrow"),
    ),
    "lists": (to_stream({"ann": [["x"]], "label": ["x"]}), (422, "bad_request")),
    "numbers as ids": (to_stream({"id": [1], "label": ["x"]}), (422, "bad_request")),
    "no labels": (to_stream({"ann": ["x"]}), (422, "bad_request")),
    "no name": (to_stream({"": ["x"], "label": ["x"]}), (422, "bad_request")),
    "control character": (to_stream({"a\x00": ["x"], "label": ["x"]}), (422, "bad_request")),
    "a name twice": (
        to_stream(pa.Table.from_arrays([pa.array(["x"])] * 3, ["label", "ann", "ann"])), (422, "bad_request"),
    ),
    "too many rows": (to_stream({"label": pa.nulls(100_001)}), (413, "too_large")),
}  # fmt: skip


def test_streams_that_cannot_be_read_are_one_sentence(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        before = await api.describe()
        for name, (content, expected) in HOSTILE.items():
            answer = await post(api, "learn", content)
            assert code(answer) == expected, (name, answer.text)
        whole = to_stream({"id": ["a", "b"], "ann": ["x", "yy"], "label": ["x", "y"]})
        chance = np.random.default_rng(0)
        for _ in range(300):
            damaged = bytearray(whole)
            for place in chance.integers(len(whole), size=3):
                damaged[place] = chance.integers(256)
            answer = await post(api, "learn", bytes(damaged))
            assert answer.status_code < 500, (bytes(damaged), answer.text)
        assert (await api.describe())["created"] == before["created"]

    run(story, tmp_path)


def test_an_empty_batch_has_an_empty_answer(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        assert await send_table(api, "learn", EMPTY) == []
        nothing = pa.DictionaryArray.from_arrays(pa.array([], pa.int8()), pa.nulls(0))  # an empty categorical
        assert await send_table(api, "predict", {"ann": nothing, "bob": nothing}) == []

    run(story, tmp_path)


def test_a_compressed_dictionary_is_refused(tmp_path: Path) -> None:
    column = pa.array(["x" * 50] * 100).dictionary_encode()
    content = to_stream({"ann": column, "label": ["x"] * 100}, compression="lz4")

    async def story(api: Api) -> None:
        await api.create()
        assert code(await post(api, "learn", content)) == (400, "bad_arrow")

    run(story, tmp_path)


def test_tokens_without_growth_learn_tables_of_known_names(tmp_path: Path) -> None:
    votes, labels = panel(2 * SHORTEST)

    async def story(api: Api) -> None:
        await api.create()
        await send_table(api, "learn", {**votes, "label": labels})
        header = {**KIND, **(await api.token("learn"))}
        content = to_stream({**votes, "label": labels})
        answer = await api("POST", "/v1/fusions/spam/learn", content=content, headers=header)
        assert answer.status_code == 200
        votes["ann"][SHORTEST] = "new"
        content = to_stream({**votes, "label": labels})
        answer = await api("POST", "/v1/fusions/spam/learn", content=content, headers=header)
        rows = pa.ipc.open_stream(answer.content).read_all().to_pylist()
        assert [row for row, one in enumerate(rows) if error(one)] == [SHORTEST]
        assert rows[SHORTEST]["code"] == "new_names"
        wrong = await api.token("predict")
        assert (await api("POST", "/v1/fusions/spam/learn", content=content, headers={**KIND, **wrong})
                ).status_code == 403  # fmt: skip

    run(story, tmp_path)


@pytest.mark.parametrize("form", ["arrow", "json"])
def test_rows_without_new_names_are_processed_together(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes, labels = panel(100)
    ids = [str(i) for i in range(100)]
    singles: list[int] = []

    async def story(api: Api) -> None:
        await api.create()
        await send_table(api, "learn", {**votes, "label": labels})
        alone = Items.process_request
        monkeypatch.setattr(Items, "process_request", lambda *given: singles.append(1) or alone(*given))
        if form == "arrow":
            await send_table(api, "learn", {"id": ids, **votes, "label": labels})
            await send_table(api, "predict", {"id": [f"p{id_}" for id_ in ids], **votes})
            await send_table(api, "labels", {"id": [f"p{id_}" for id_ in ids], "label": labels})
        else:
            trials = list(zip(ids, items_of(votes), labels, strict=True))
            await send(api, "learn", [{"id": i, "votes": item, "label": y} for i, item, y in trials])
            await send(api, "predict", [{"id": f"p{i}", "votes": item} for i, item, _ in trials])
            await send(api, "labels", [{"id": f"p{i}", "label": y} for i, _, y in trials])
        assert (await api.describe())["trials"] == 300

    run(story, tmp_path)
    assert singles == []


def test_the_length_of_a_message_is_not_believed(tmp_path: Path) -> None:
    content = struct.pack("<iI", -1, 2**31 - 1) + b"\x00" * 64

    async def story(api: Api) -> None:
        await api.create()
        assert code(await post(api, "learn", content)) == (400, "bad_arrow")

    run(story, tmp_path)


def test_empty_columns_do_not_fill_the_memory(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        columns = {f"e{i}": pa.nulls(1000) for i in range(5001)}
        answer = await post(api, "predict", to_stream(pa.table(columns)))
        assert code(answer) == (413, "too_large")
        assert "cells; send fewer rows" in answer.text

    run(story, tmp_path)


def test_a_table_of_labels_has_no_other_columns(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.predict("i", ann="x")
        for other in ("replace", "ann"):
            answer = await post(api, "labels", to_stream({"id": ["i"], "label": ["x"], other: ["y"]}))
            assert code(answer) == (422, "bad_request")
        (row,) = await send_table(api, "labels", {"id": ["i"], "label": ["x"], "replaces": [1.5]})
        assert error(row) == "bad_request"

    run(story, tmp_path)


def test_labels_of_a_batch_are_learned_after_the_fusion_grew(tmp_path: Path) -> None:
    votes, labels = panel(40)
    ids = [str(i) for i in range(40)]
    items = items_of(votes)

    async def story(api: Api) -> None:
        await api.create()
        await send_table(api, "learn", {**votes, "label": labels})
        await send_table(api, "predict", {"id": ids, **votes})
        await api.learn("new", "new class", **{"new expert": "new class"})
        told = await send_table(api, "labels", {"id": ids, "label": labels})
        assert not any(map(error, told))
        taught = list(zip(items, labels, strict=True))
        grown = ({"new expert": "new class"}, "new class")
        assert await api.digest() == digest_of(*taught, grown, *taught)

    run(story, tmp_path)


def test_a_large_value_in_all_rows_is_not_written_out(tmp_path: Path) -> None:
    large = pa.DictionaryArray.from_arrays(np.zeros(5_000, np.int32), ["x" * 4_000_000])
    small = pa.array(["x"] * 5_000)

    async def story(api: Api) -> None:
        await api.create()
        answers = await send_table(api, "predict", {"ann": small, "bob": large})
        assert set(map(error, answers)) == {"too_large"}

    run(story, tmp_path)


def test_the_size_of_a_row_is_that_of_its_votes_as_json(tmp_path: Path) -> None:
    """Columns have several types, null among them; the limit is met exactly."""
    votes = {"zoe": ["x", None, "y"], "ann": ["x" * 110, "zü", None], "bob": ["y", None, None]}
    types = {"zoe": pa.string(), "ann": pa.large_string(), "bob": pa.dictionary(pa.int8(), pa.string())}
    columns = {name: pa.array(values, types[name]) for name, values in votes.items()}
    size = len(msgspec.json.encode({name: values[0] for name, values in votes.items()}))

    async def story(api: Api) -> None:
        for limit, expected in ((size, None), (size - 1, "too_large")):
            name = f"limit-{limit}"
            await api.create(name, limits={"item_bytes": limit})
            answers = await send_table(api, "predict", {**columns, "eve": pa.nulls(3)}, name)
            assert [error(one) for one in answers] == [expected, None, None]

    run(story, tmp_path)


def test_new_experts_have_the_order_of_the_columns_whatever_their_types(tmp_path: Path) -> None:
    columns = {"zoe": pa.array([1]), "eve": pa.array([1.0]), "ann": pa.array([2]), "bob": pa.array([1.0])}

    async def story(api: Api) -> None:
        await api.create()
        await send_table(api, "learn", {"id": ["1"], **columns, "label": pa.array([1])})
        assert (await api.describe())["experts"] == ["zoe", "eve", "ann", "bob"]

    run(story, tmp_path)
