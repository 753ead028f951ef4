"""Relabelling, exclusion and rollback give the state that the right sequence would have given."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import apsw

from linmax.service.event_log.database import FILE, Database
from linmax.service.fusions import replay
from tests.service.api import Api, code, digest_of, serving
from tests.service.test_items import run

TRIALS: list[tuple[str, dict[str, Any], str]] = [
    (str(i), {"ann": "xyz"[i % 3], "bob": "xyz"[i * i % 3], "eve": "yxz"[i % 2]}, "xyz"[(i * 7 + i // 5) % 3])
    for i in range(40)
]


async def teach(api: Api) -> None:
    await api.create()
    for number, (id_, votes, label) in enumerate(TRIALS):
        if number % 2:
            await api.learn(id_, label, **votes)
        else:
            await api.predict(id_, **votes)
            await api.label(id_, label)


def expected(changed: dict[str, str | None]) -> str:
    """The digest of the trials with some labels changed, or left out."""
    right = [(votes, changed.get(id_, label)) for id_, votes, label in TRIALS]
    return digest_of(*((votes, label) for votes, label in right if label is not None))


def test_relabelling_gives_the_state_of_the_right_labels(tmp_path: Path) -> None:
    changed: dict[str, str | None] = {}

    async def story(api: Api) -> None:
        api.service.panels.snapshot_every = 7
        await teach(api)
        for id_, old, new in (("3", TRIALS[3][2], "x"), ("20", TRIALS[20][2], "new"), ("3", "x", "y")):
            answer = await api.label(id_, new, replaces=old)
            assert answer.status_code == 200, answer.text
            assert (await api.label(id_, new, replaces=old)).json() == answer.json()
            changed[id_] = new
            assert await api.digest() == expected(changed)
        found = (await api("GET", "/v1/fusions/spam/items/3")).json()
        assert (found["label"], found["right"]) == ("y", found["prediction"] == "y")
        assert code(await api.label("3", TRIALS[3][2])) == (409, "labelled_otherwise")

    async def later(api: Api) -> None:
        assert await api.digest() == expected(changed)
        assert (await api.label("3", "y")).status_code == 200

    run(story, tmp_path)
    run(later, tmp_path)
    database = Database(tmp_path, read_only=True)
    assert replay.verify(database) == []
    database.close()


def test_labels_that_arrive_during_a_rebuild_count(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)
        await api.predict("late", ann="x", bob="y")
        answers = await asyncio.gather(
            api.label("0", "new", replaces=TRIALS[0][2]),
            api.label("late", "y"),
            *(api.learn(f"more{i}", "x", ann="x", bob="y") for i in range(20)),
            api.label("1", "new", replaces=TRIALS[1][2]),
        )
        assert {answer.status_code for answer in answers} == {200}
        right = [(votes, "new" if id_ in "01" else label) for id_, votes, label in TRIALS]
        assert await api.digest() == digest_of(*right, *[({"ann": "x", "bob": "y"}, "y")],
            *[({"ann": "x", "bob": "y"}, "x")] * 20)  # fmt: skip

    run(story, tmp_path)


def test_excluded_events_do_not_count(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)
        path = "/v1/fusions/spam/exclude"
        assert (await api("POST", path, {"ids": ["3", "8", "absent"]})).json()["events"] == 2
        assert await api.digest() == expected({"3": None, "8": None})
        assert (await api("GET", "/v1/fusions/spam/items/8")).json()["excluded"] is True
        before = await api.digest()
        assert (await api.label("8", TRIALS[8][2])).status_code == 200  # known, and does not count
        assert await api.digest() == before
        header = await api.token("learn", "grow")
        body = {"id": "poison", "votes": {"ann": "x"}, "label": "z"}
        await api("POST", "/v1/fusions/spam/learn", body, headers=header)
        assert await api.digest() != before
        assert (await api("POST", path, {"actor": "learn-grow"})).json()["events"] == 1
        assert await api.digest() == before
        (time,) = api.service.database.rows("SELECT max(time) FROM events WHERE id = '30'")[0]
        late = {"3": None, "8": None, **{str(i): None for i in range(30, 40)}}
        assert (await api("POST", path, {"from": time})).json()["events"] == 10
        assert await api.digest() == expected(late)
        assert code(await api("POST", path, {})) == (422, "no_choice")
        await api.label("3", "y", replaces=TRIALS[3][2])  # a right label brings an excluded item back
        assert await api.digest() == expected({**late, "3": "y"})

    run(story, tmp_path)


def test_a_rollback_takes_back_all_that_came_later(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        api.service.panels.snapshot_every = 7
        await teach(api)
        (position,) = api.service.database.rows("SELECT max(position) FROM events WHERE id = '19'")[0]
        answer = (await api("POST", "/v1/fusions/spam/rollback", {"position": position})).json()
        assert answer["events"] == 20
        gone = {str(i): None for i in range(20, 40)}
        assert await api.digest() == expected(gone)
        await api.learn("new", "x", ann="y")
        assert (await api.describe())["trials"] == 21
        assert (await api("POST", "/v1/fusions/spam/rollback", {"position": 2**62})).status_code == 200
        assert code(await api("POST", "/v1/fusions/spam/rollback", {"position": 2**70}))[0] == 422

    run(story, tmp_path)


def test_a_stop_during_a_rebuild_stores_no_old_state(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path) as api:
            api.service.panels.snapshot_every = 10
            await teach(api)
            await api.label("0", "new", replaces=TRIALS[0][2])
        async with serving(tmp_path) as api:
            assert await api.digest() == expected({"0": "new"})

    asyncio.run(main())


def test_a_snapshot_that_is_taken_while_events_are_amended_is_not_stored(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)
        panel = await api.service.panels.open("spam")
        saving = asyncio.ensure_future(api.service.panels._save_later(panel))
        await asyncio.sleep(0)
        await api.label("0", "new", replaces=TRIALS[0][2])
        await saving
        assert await api.digest() == expected({"0": "new"})
        assert api.service.database.rows("SELECT count(*) FROM snapshots") == [(0,)]

    run(story, tmp_path)


def test_a_label_that_the_log_could_not_learn_is_refused(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.learn("i", 1, a=1)
        await api("POST", "/v1/fusions/spam/exclude", {"ids": ["i"]})
        await api.describe()
        await api.learn("t", "x", a="x")
        assert code(await api.label("i", 2, replaces=1)) == (422, "bad_item")
        assert (await api.describe())["trials"] == 1
        await api.create("closed", classes=["p", "q"], on_new_class="error")
        await api.create("other", classes=["x", "y"], on_new_class="error")
        await api.learn("o", "y", "other", a="x")
        model = (await api("GET", "/v1/fusions/other/model")).content
        before = (await api.describe("closed"))["position"]
        uploaded = await api("PUT", "/v1/fusions/closed/model", content=model)
        assert uploaded.status_code == 200, uploaded.text
        await api.learn("k", "y", "closed", a="y")
        await api("POST", "/v1/fusions/closed/rollback", {"position": before})
        await api.describe("closed")
        assert code(await api.label("k", "q", "closed", replaces="y")) == (422, "bad_item")
        assert (await api.describe("closed"))["trials"] == 0

    run(story, tmp_path)
    database = Database(tmp_path, read_only=True)
    assert replay.verify(database) == []
    database.close()


def test_an_event_that_cannot_be_learned_any_more_is_left_out_and_reported(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.learn("i", "x", a="x")
        await api.learn("j", "y", a="y")

    async def later(api: Api) -> None:
        assert (await api.describe())["trials"] == 1
        assert (await api.learn("k", 2, a=1)).status_code == 200

    run(story, tmp_path)
    connection = apsw.Connection(str(tmp_path / FILE))
    damaged = '{"votes":{"a":1},"label":1,"prediction":null}'
    connection.execute("UPDATE events SET body = ? WHERE id = 'i'", (damaged.encode(),))
    connection.execute("DELETE FROM snapshots")
    connection.close()
    run(later, tmp_path)
    database = Database(tmp_path, read_only=True)
    (problem,) = replay.verify(database)
    assert "cannot be learned any more: classes and votes mix" in problem
    database.close()


def test_an_excluded_item_keeps_its_last_label_and_is_taught_by_replacing_it(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.learn("i", "a", ann="a")
        await api.label("i", "c", replaces="a")
        await api("POST", "/v1/fusions/spam/exclude", {"ids": ["i"]})
        await api.describe()
        found = (await api("GET", "/v1/fusions/spam/items/i")).json()
        assert (found["label"], found["excluded"]) == ("c", True)
        assert code(await api.label("i", "a", replaces="zzz")) == (409, "labelled_otherwise")
        answer = await api.label("i", "c", replaces="c")
        assert answer.status_code == 200
        assert await api.digest() == digest_of(({"ann": "a"}, "c"))
        assert (await api.label("i", "c", replaces="c")).json() == answer.json()

    run(story, tmp_path)


def test_a_vote_that_abstains_cannot_become_a_label_of_an_earlier_item(tmp_path: Path) -> None:
    """Items after it may have such votes, and could not be learned any more."""

    async def story(api: Api) -> None:
        for name, first, silent, other in (("words", "ham", "", "spam"), ("numbers", 1, -1, 2)):
            await api.create(name)
            await api.learn("i", first, name, b=first)
            await api.learn("j", other, name, a=silent, b=other)
            assert code(await api.label("i", silent, name, replaces=first)) == (422, "bad_item")
            assert (await api.describe(name))["trials"] == 2
            assert (await api.label("i", other, name, replaces=first)).status_code == 200
            assert (await api.describe(name))["trials"] == 2
        await api.create("told", abstain=0)
        await api.learn("i", 1, "told", b=1)
        await api.learn("j", 2, "told", a=0, b=2)
        assert (await api.label("i", 0, "told", replaces=1)).status_code == 200
        assert (await api.describe("told"))["trials"] == 2

    run(story, tmp_path)


def test_an_excluded_item_is_not_taught_again_if_its_attributes_have_another_kind(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api("PUT", "/v1/fusions/spam", {"learner": "Perceptron().on(Attributes())"})

        async def learn(id_: str, value: Any, label: str) -> int:
            body = {"id": id_, "attributes": {"colour": value}, "label": label}
            return (await api("POST", "/v1/fusions/spam/learn", body)).status_code

        values = (("1", "red", "x"), ("2", "blue", "y"), ("3", 3, "y"))
        assert [await learn(*one) for one in values] == [200] * 3
        await api("POST", "/v1/fusions/spam/exclude", {"ids": ["2", "3"]})
        await api.describe()
        assert await learn("4", "green", "y") == 200
        assert code(await api.label("3", "x", replaces="y")) == (422, "bad_item")
        assert (await api.label("2", "x", replaces="y")).status_code == 200
        assert (await api.describe())["trials"] == 3

    run(story, tmp_path)


def test_learning_again_after_a_relabelling_gets_the_first_answer(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        first = (await api.learn("i", "x", ann="x")).json()
        await api.label("i", "y", replaces="x")
        assert (await api.learn("i", "x", ann="x")).json() == first
        assert code(await api.label("i", "x")) == (409, "labelled_otherwise")

    run(story, tmp_path)


def test_a_repeated_prediction_is_explained_as_it_was(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.learn(None, "x", ann="x", bob="y")
        body = {"id": "q", "votes": {"ann": "x", "bob": "y"}, "explain": True}
        first = (await api("POST", "/v1/fusions/spam/predict", body)).json()
        for _ in range(6):
            await api.learn(None, "y", ann="x", bob="y")
        assert (await api("POST", "/v1/fusions/spam/predict", body)).json() == first
        again = (await api("POST", "/v1/fusions/spam/predict", {**body, "id": "r"})).json()
        assert (first["prediction"], again["prediction"]) == ("x", "y")

    run(story, tmp_path)


def test_labels_that_somebody_has_replaced_are_excluded_by_actor_and_time(tmp_path: Path) -> None:
    """An item is chosen by who taught its label, and by who has replaced it with the one that counts."""

    async def story(api: Api) -> None:
        await teach(api)
        rogue = await api.token("label", "grow")
        name, start = api.tokens[-1], api.service.database.now()
        path = "/v1/fusions/spam/labels"
        for id_ in ("3", "4", "5"):
            body = {"id": id_, "label": "new", "replaces": TRIALS[int(id_)][2]}
            assert (await api("POST", path, body, headers=rogue)).status_code == 200
        await api.label("5", "y", replaces="new")
        await api.describe()
        wanted = {"actor": name, "from": start}
        before = (await api("POST", "/dashboard/fusions/spam/preview", wanted)).json()
        assert before["actors"] == {name: 2}
        assert before["first"] >= start
        end = api.service.database.now()
        assert (await api("POST", "/v1/fusions/spam/exclude", {**wanted, "from": end})).json()["events"] == 0
        assert (await api("POST", "/v1/fusions/spam/exclude", wanted)).json()["events"] == 2
        assert await api.digest() == expected({"3": None, "4": None, "5": "y"})
        assert (await api("POST", "/v1/fusions/spam/exclude", wanted)).json()["events"] == 0
        assert (await api("POST", "/v1/fusions/spam/exclude", {"from": start})).json()["events"] == 1
        assert await api.digest() == expected({"3": None, "4": None, "5": None})
        assert await asyncio.to_thread(replay.verify, api.service.database) == []

    run(story, tmp_path)
