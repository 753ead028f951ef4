"""Models are uploaded and downloaded, and limits are changed: both are events in the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linmax import Fusion, load
from linmax.fusion.model_file import fingerprint, from_bytes, to_bytes
from linmax.service.event_log.database import Database
from linmax.service.fusions import replay
from tests.service.api import LEARNER, Api, code, digest_of
from tests.service.test_amendments import TRIALS, teach
from tests.service.test_items import run

MODEL = "/v1/fusions/spam/model"


def trained(count: int = 30, **options: Any) -> Fusion:
    fusion = Fusion(LEARNER, **options)
    for _, votes, label in TRIALS[:count]:
        fusion.learn_one(votes, label)
    return fusion


def verified(folder: Path) -> list[str]:
    database = Database(folder, read_only=True)
    try:
        return replay.verify(database)
    finally:
        database.close()


def test_an_uploaded_model_goes_on_learning_and_survives_a_restart(tmp_path: Path) -> None:
    expected: list[str] = []

    async def story(api: Api) -> None:
        api.service.panels.snapshot_every = 7
        await teach(api)
        fusion = trained()
        answer = await api("PUT", MODEL, content=to_bytes(fusion))
        assert answer.status_code == 200, answer.text
        assert (answer.json()["digest"], answer.json()["trials"]) == (fingerprint(fusion), 30)
        for id_, votes, label in TRIALS[:20]:
            await api.learn(f"later {id_}", label, **votes)
            fusion.learn_one(votes, label)
        assert await api.digest() == fingerprint(fusion)
        assert from_bytes((await api("GET", MODEL)).content).trials == 50
        # what came before the upload does not count any more
        await api.label("3", "x", replaces=TRIALS[3][2])
        await api("POST", "/v1/fusions/spam/exclude", {"ids": ["8"]})
        assert await api.digest() == fingerprint(fusion)
        await api("POST", "/v1/fusions/spam/exclude", {"ids": ["later 19"]})
        expected.append(fingerprint_of(19))
        assert await api.digest() == expected[0]

    def fingerprint_of(later: int) -> str:
        fusion = trained()
        for _, votes, label in TRIALS[:later]:
            fusion.learn_one(votes, label)
        return fingerprint(fusion)

    async def later(api: Api) -> None:
        assert await api.digest() == expected[0]
        events = api.service.database.rows("SELECT position, actor FROM events WHERE kind = 10")
        assert [actor for _, actor in events] == ["admin (environment)"]
        upload = events[0][0]
        for position, digest in (
            (upload, fingerprint(trained())),
            (upload - 1, digest_of(*(trial[1:] for trial in TRIALS))),
        ):
            await api("POST", "/v1/fusions/spam/rollback", {"position": position})
            assert await api.digest() == digest

    run(story, tmp_path)
    assert verified(tmp_path) == []
    run(later, tmp_path)
    assert verified(tmp_path) == []


def test_a_rollback_can_bring_an_upload_back(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        first = (await api.learn("a", "x", ann="x", bob="y")).json()["position"]
        await api("PUT", MODEL, content=to_bytes(trained()))
        upload = api.service.database.last_position()
        await api("POST", "/v1/fusions/spam/rollback", {"position": first})
        assert await api.digest() == digest_of(({"ann": "x", "bob": "y"}, "x"))
        await api("POST", "/v1/fusions/spam/rollback", {"position": upload})
        assert await api.digest() == fingerprint(trained())

    run(story, tmp_path)
    assert verified(tmp_path) == []


def test_hostile_models_are_refused_with_one_sentence(tmp_path: Path) -> None:
    whole = to_bytes(trained())
    numbered = Fusion(LEARNER)
    numbered.learn([["x", "y"]], ["x"])
    wrong: list[tuple[bytes, str]] = [
        (b"", "bad_model"), (b"\x80\x04pickle", "bad_model"), (whole[:-1], "bad_model"),
        (whole[:100], "bad_model"), (b"\xff" * 8 + whole[8:], "bad_model"),
        (whole.replace(b"Winnow", b"Wimnow"), "bad_model"),
        (to_bytes(numbered), "bad_model"),
        (to_bytes(trained(on_new_class="error", classes=list("xyz"))), "bad_model"),
        (to_bytes(Fusion(LEARNER, classes=list("abcdef"))), "too_many_names"),
    ]  # fmt: skip

    async def story(api: Api) -> None:
        await api.create(limits={"classes": 5})
        before = await api.describe()
        for content, expected in wrong:
            assert code(await api("PUT", MODEL, content=content)) == (422, expected)
        assert code(await api("PUT", "/v1/fusions/other/model", content=whole)) == (404, "unknown_fusion")
        assert await api.describe() == before

    run(story, tmp_path)


def test_a_downloaded_model_is_a_model_file(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)
        content = (await api("GET", MODEL)).content
        (tmp_path / "copy.linmax").write_bytes(content)
        assert fingerprint(load(tmp_path / "copy.linmax")) == await api.digest()
        await api.create("copy")
        await api("PUT", "/v1/fusions/copy/model", content=content)
        assert await api.digest("copy") == await api.digest()

    run(story, tmp_path / "data")


def test_limits_can_be_changed_and_the_change_is_in_the_log(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create(limits={"experts": 2, "waiting": 7})
        await api.learn("a", "x", ann="x", bob="y")
        assert code(await api.learn("b", "x", eve="x")) == (422, "too_many_names")
        answer = await api("PATCH", "/v1/fusions/spam", {"limits": {"experts": 3}})
        assert answer.json()["settings"]["limits"] == {"experts": 3, "waiting": 7}
        assert (await api.learn("b", "x", eve="x")).status_code == 200
        position = api.service.database.last_position()
        assert (await api("PATCH", "/v1/fusions/spam", {"limits": {"experts": 3}})).status_code == 200
        assert api.service.database.last_position() == position  # nothing has changed
        for bad in ({"limits": {"experts": 0}}, {"learner": "Perceptron()"}, {}):
            assert code(await api("PATCH", "/v1/fusions/spam", bad)) == (422, "bad_request")
        header = await api.token("read", "learn", "predict", "label", "grow")
        refused = await api("PATCH", "/v1/fusions/spam", {"limits": {}}, headers=header)
        assert refused.status_code == 403

    async def later(api: Api) -> None:
        assert (await api.describe())["settings"]["limits"] == {"experts": 3, "waiting": 7}
        kinds = [kind for (kind,) in api.service.database.rows("SELECT kind FROM events WHERE fusion = 1")]
        assert kinds.count(11) == 1

    run(story, tmp_path)
    run(later, tmp_path)
    assert verified(tmp_path) == []


def test_a_preview_counts_uploaded_models_apart_from_labels(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)
        position = api.service.database.last_position()
        await api("PUT", MODEL, content=to_bytes(trained()))
        await api.learn("later", "x", ann="x")
        await api.describe()
        found = (await api("POST", "/dashboard/fusions/spam/preview", {"position": position})).json()
        assert (found["events"], found["models"], sum(found["actors"].values())) == (2, 1, 1)
        done = await api("POST", "/v1/fusions/spam/rollback", {"position": position})
        assert done.json()["events"] == 2

    run(story, tmp_path)
