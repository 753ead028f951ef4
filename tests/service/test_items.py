"""Predict now, learn when the label comes: each exactly once by its id."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from linmax.service.event_log.stored_items import find_item
from linmax.service.fusions import item_store
from tests.service.api import Api, code, digest_of, serving


def run(story: Any, folder: Path, **options: Any) -> None:
    async def main() -> None:
        async with serving(folder, **options) as api:
            await story(api)

    asyncio.run(main())


def test_a_label_teaches_the_votes_that_were_stored_with_the_prediction(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        assert (await api.create()).status_code == 201
        first = await api.predict("a", ann="x", bob="y")
        equal = {"x": 0.5, "y": 0.5}
        assert first.json() == {"id": "a", "prediction": "x", "probabilities": equal, "version": 1}
        await api.predict("b", ann="y", bob="y")
        told = await api.label("a", "y")
        assert told.json() == {"id": "a", "prediction": "x", "right": False, "position": 4}
        learned = await api.learn("c", "y", ann="x", bob="y")
        assert learned.json() == {"id": "c", "prediction": "y", "right": True, "position": 5}
        trial = {"ann": "x", "bob": "y"}
        assert await api.digest() == digest_of((trial, "y"), (trial, "y"))
        found = await api.describe()
        assert (found["trials"], found["mistakes"], found["waiting"], found["position"]) == (2, 1, 1, 5)
        assert (await api.predict("d", ann="x", bob="y")).json()["probabilities"].keys() == {"x", "y"}

    run(story, tmp_path)


def test_a_repeated_request_gets_the_same_answer_and_changes_nothing(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        sent = [
            lambda: api.predict("a", ann="x", bob="y"),
            lambda: api.label("a", "y"),
            lambda: api.learn("b", "x", ann="x", bob="y"),
            lambda: api.label("a", "x", replaces="y"),
        ]
        for send in sent:
            answer, before = (await send()).json(), await api.describe()
            assert (await send()).json() == answer
            assert await api.describe() == before
        again = await api("POST", "/v1/fusions/spam/predict", {"votes": {"bob": "y", "ann": "x"}, "id": "a"})
        assert again.json()["prediction"] == "x"
        position = api.service.database.last_position()
        assert (await api.create()).status_code == 200
        assert api.service.database.last_position() == position

    run(story, tmp_path)


def test_the_same_id_with_other_content_is_refused(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.predict("a", ann="x")
        await api.label("a", "x")
        await api.learn("b", "x", ann="x")
        before = await api.describe()
        assert code(await api.predict("a", ann="y")) == (409, "id_in_use")
        assert code(await api.predict("b", ann="x")) == (409, "id_in_use")
        assert code(await api.learn("a", "x", ann="x")) == (409, "id_in_use")
        assert code(await api.learn("b", "y", ann="x")) == (409, "id_in_use")
        assert code(await api.label("a", "y")) == (409, "labelled_otherwise")
        assert code(await api.label("a", "z", replaces="y")) == (409, "labelled_otherwise")
        await api.predict("c", ann="x")
        assert code(await api.label("c", "z", replaces="y")) == (409, "not_labelled")
        assert code(await api.create(classes=["x"])) == (409, "fusion_exists")
        assert await api.describe() == {**before, "waiting": 1}

    run(story, tmp_path)


def test_a_label_of_an_unknown_item_waits_a_moment_and_is_refused(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        start = asyncio.get_running_loop().time()
        assert code(await api.label("nobody", "x")) == (404, "unknown_item")
        assert asyncio.get_running_loop().time() - start >= 0.19
        assert code(await api.predict("a", "absent", ann="x")) == (404, "unknown_fusion")
        assert not api.service.items.store._awaited

    run(story, tmp_path)


def test_a_label_may_overtake_its_prediction(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        api.service.items.store.label_wait = 30.0
        await api.create()
        label = asyncio.ensure_future(api.label("a", "x"))
        await asyncio.sleep(0.05)
        assert not label.done()
        await api.predict("a", ann="y")
        assert (await label).json()["right"] is False
        assert await api.digest() == digest_of(({"ann": "y"}, "x"))

    run(story, tmp_path)


def test_items_that_wait_too_long_expire_and_are_counted(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create(limits={"retention": 1000.0})
        for id_ in "abc":
            await api.predict(id_, ann="x")
        await api.label("c", "x")
        before = await api.digest()
        api.service.database._clock_start += 2000.0
        assert code(await api.label("a", "x")) == (410, "expired")
        assert code(await api.label("a", "x")) == (410, "expired")
        assert await api.service.items.store.expire_all() == 1
        found = await api.describe()
        assert (found["waiting"], found["expired"], found["digest"]) == (0, 2, before)
        assert code(await api.label("b", "x")) == (410, "expired")
        assert (await api.label("c", "x")).status_code == 200

    run(story, tmp_path)

    async def later(api: Api) -> None:
        found = await api.describe()
        assert (found["waiting"], found["expired"]) == (0, 2)
        assert code(await api.label("b", "x")) == (410, "expired")

    run(later, tmp_path)


def test_the_clock_never_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(api: Api) -> None:
        await api.create(limits={"retention": 1000.0})
        await api.predict("a", ann="x")
        monkeypatch.setattr("time.time", lambda: 5.0)

    async def later(api: Api) -> None:
        await api.predict("b", ann="x")
        assert (await api.label("a", "x")).status_code == 200
        times = [time for (time,) in api.service.database.rows("SELECT time FROM events ORDER BY position")]
        assert times == sorted(times)
        monkeypatch.undo()

    run(story, tmp_path)
    run(later, tmp_path)


def test_only_so_many_items_may_wait(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create(limits={"waiting": 2})
        assert [(await api.predict(id_, ann="x")).status_code for id_ in "ab"] == [200, 200]
        refused = await api.predict("c", ann="x")
        assert (code(refused), refused.headers["retry-after"]) == ((429, "too_many_waiting"), "60")
        assert (await api.predict("a", ann="x")).status_code == 200
        await api.label("a", "x")
        assert (await api.predict("c", ann="x")).status_code == 200

    run(story, tmp_path)


BAD_ITEMS: list[Any] = [
    {"votes": {"ann": {"x": "high"}}},
    {"votes": {"ann": 0.5}},
    {"votes": ["x"]},
    {"vote": {"ann": "x"}},
    {"votes": {"ann": "x"}, "id": ""},
    {"votes": {"ann": "x"}, "id": 7},
    {},
]


@pytest.mark.parametrize("on_new_class", ["add", "error"])
def test_a_bad_item_is_refused_and_leaves_no_trace(tmp_path: Path, on_new_class: str) -> None:
    async def story(api: Api) -> None:
        await api.create(classes=["x", "y"], on_new_class=on_new_class)
        await api.learn("first", "x", ann="x", bob="y")
        before, position = await api.describe(), api.service.database.last_position()
        bad = BAD_ITEMS + ([{"votes": {"ann": "z"}}] if on_new_class == "error" else [])
        for item in bad:
            for path, more in (("predict", {}), ("learn", {"label": "x"})):
                answer = await api("POST", f"/v1/fusions/spam/{path}", {**item, **more})
                assert answer.status_code == 422, (path, item, answer.text)
                assert code(answer)[1] in ("bad_request", "bad_item")
        for label in (None, 0.5, {}, ["x"]):
            answer = await api("POST", "/v1/fusions/spam/learn", {"votes": {"ann": "x"}, "label": label})
            assert code(answer) == (422, "bad_request")
        if on_new_class == "error":
            await api.predict("late", ann="x")
            assert code(await api.label("late", "z")) == (422, "bad_item")
            assert code(await api.label("first", "z", replaces="x")) == (422, "bad_item")
            await api.label("late", "x")
            before, position = await api.describe(), position + 2
        assert await api.describe() == before
        assert api.service.database.last_position() == position

    run(story, tmp_path)


def test_an_item_can_be_looked_up_and_explained(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.learn("a/b ü?", "x", ann="x", bob="y")
        found = (await api("GET", "/v1/fusions/spam/items/a%2Fb%20%C3%BC%3F")).json()
        assert (found["id"], found["label"], found["right"]) == ("a/b ü?", "x", True)
        assert (found["votes"], found["learned"]) == ({"ann": "x", "bob": "y"}, 2)
        item = {"votes": {"ann": "x"}, "explain": True, "id": "c"}
        answer = (await api("POST", "/v1/fusions/spam/predict", item)).json()
        assert answer["explanation"]["scores"].keys() == {"x", "y"}
        assert (await api.predict("c", ann="x")).json()["prediction"] == answer["prediction"]
        assert code(await api("GET", "/v1/fusions/spam/items/nobody")) == (404, "unknown_item")
        weights = (await api("GET", "/v1/fusions/spam/weights")).json()["weights"]
        assert {row["expert"] for row in weights} >= {"ann", "bob"}

    run(story, tmp_path)


def test_the_model_can_be_downloaded(tmp_path: Path) -> None:
    from linmax import load
    from linmax.fusion.model_file import fingerprint

    async def story(api: Api) -> None:
        await api.create()
        await api.learn("a", "x", ann="x", bob="y")
        file = tmp_path / "spam.linmax"
        file.write_bytes((await api("GET", "/v1/fusions/spam/model")).content)
        assert fingerprint(load(file)) == await api.digest()

    run(story, tmp_path)


def test_a_deleted_fusion_leaves_its_name_to_a_new_one(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.learn("a", "x", ann="x")
        assert (await api("DELETE", "/v1/fusions/spam")).status_code == 204
        assert code(await api("GET", "/v1/fusions/spam")) == (404, "unknown_fusion")
        assert code(await api("DELETE", "/v1/fusions/spam")) == (404, "unknown_fusion")
        assert (await api("GET", "/v1/fusions")).json() == {"fusions": []}
        assert (await api.create()).status_code == 201
        assert (await api.describe())["trials"] == 0
        assert (await api.learn("a", "y", ann="x")).status_code == 200

    run(story, tmp_path)


def test_labels_may_be_numbers_and_truth_values(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create("numbers")
        await api.learn("a", 3, "numbers", ann=3, bob=2**64 - 1)
        assert (await api.predict("b", "numbers", ann=2**64 - 1, bob=3)).status_code == 200
        assert (await api.label("b", 2**64 - 1, "numbers")).json()["id"] == "b"
        await api.create("truth")
        await api.learn("a", True, "truth", ann=True, bob=False)
        assert code(await api.label("a", 1, "truth")) == (409, "labelled_otherwise")
        assert (await api.label("a", True, "truth")).status_code == 200

    run(story, tmp_path)


def test_ids_that_follow_all_others_are_not_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All others are, also after a restart, and when memory has forgotten them."""
    looked_up: list[str] = []

    def note(database: Any, number: int, id_: str) -> Any:
        looked_up.append(id_)
        return find_item(database, number, id_)

    monkeypatch.setattr(item_store, "find_item", note)

    async def first(api: Api) -> None:
        await api.create()
        for id_ in ("b", "d", "é", "\U0001f600"):  # in the order of their characters, which is that of UTF-8
            assert (await api.predict(id_, ann="x")).status_code == 200
        assert looked_up == []
        assert (await api.predict("c", ann="x")).status_code == 200
        assert looked_up == ["c"]
        api.service.items.store._recent.clear()
        for id_ in ("b", "c", "d", "é", "\U0001f600"):
            assert code(await api.predict(id_, ann="y")) == (409, "id_in_use")

    async def second(api: Api) -> None:
        for id_ in ("b", "\U0001f600"):
            assert code(await api.predict(id_, ann="y")) == (409, "id_in_use")
        assert looked_up == ["b", "\U0001f600"]
        for id_ in ("\U0001f601", "a"):
            assert (await api.learn(id_, "x", ann="x")).status_code == 200
        assert looked_up == ["b", "\U0001f600", "a"]

    run(first, tmp_path)
    looked_up.clear()
    run(second, tmp_path)
