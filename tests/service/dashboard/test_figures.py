"""What the dashboard shows is what the log has, counted one by one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from linmax.service.dashboard import endpoints
from linmax.service.dashboard.overview import share
from linmax.service.dashboard.recent import Labelled, summarize
from linmax.service.fusions.compaction import Compaction
from tests.service.api import Api, code
from tests.service.test_items import run

SHOWN = "/dashboard/fusions/spam"


def made(count: int) -> list[tuple[dict[str, Any], str]]:
    """Votes and labels: ann is right, bob is mostly wrong, and eve abstains now and then."""
    names = ["x", "y", "z"]
    return [
        (
            {"ann": names[t % 3], "bob": names[(t + t // 7) % 3], "eve": names[t % 2] if t % 4 else None},
            names[t % 3],
        )
        for t in range(count)
    ]


async def teach(api: Api, count: int, first: int = 0) -> list[dict[str, Any]]:
    """Predict and label items; return the answers to the predictions."""
    answers = []
    for t, (votes, label) in list(enumerate(made(first + count)))[first:]:
        answers.append((await api.predict(f"{t:03d}", **votes)).json())
        await api.label(f"{t:03d}", label)
    return answers


def test_the_pictures_count_what_was_answered(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        answers = await teach(api, 60)
        found = (await api("GET", f"{SHOWN}/recent?window=50")).json()
        trials = made(60)[10:]
        assert found["trials"] == 50
        pairs = Counter(
            (label, answer["prediction"]) for (_, label), answer in zip(trials, answers[10:], strict=True)
        )
        classes = found["confusion"]["classes"]
        table = {
            (a, b): found["confusion"]["table"][i][j]
            for i, a in enumerate(classes)
            for j, b in enumerate(classes)
        }
        assert {pair: count for pair, count in table.items() if count} == dict(pairs)
        experts = found["agreement"]["experts"]
        for i, one in enumerate(experts):
            for j, other in enumerate(experts):
                both = [(v[one], v[other]) for v, _ in trials if v[one] is not None and v[other] is not None]
                assert found["agreement"]["table"][i][j] == sum(a == b for a, b in both) / len(both)
        sure = [(a["probabilities"][a["prediction"]], a["prediction"] == label)
                for a, (_, label) in zip(answers[10:], trials, strict=True)]  # fmt: skip
        for one in found["calibration"]:
            own = [
                (p, right) for p, right in sure if one["low"] <= p < one["high"] or p == one["high"] == 1.0
            ]
            assert one["items"] == len(own)
            assert one["accuracy"] == sum(right for _, right in own) / len(own)
            assert one["confidence"] == pytest.approx(sum(p for p, _ in own) / len(own))
        assert found["coverage"]["coverage"][-1] == 1.0
        assert found["coverage"]["error"][-1] == sum(not right for _, right in sure) / 50
        rows = {row["name"]: (row["votes"], row["right"]) for row in found["experts"]}
        for name in ("ann", "bob", "eve"):
            given = [(votes[name], label) for votes, label in trials if votes[name] is not None]
            assert rows[name] == (len(given), sum(vote == label for vote, label in given))

    run(story, tmp_path)


def test_experts_that_were_not_asked_are_what_is_saved(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.learn("all", "x", ann="x", bob="y", eve=None)
        await api.learn("one", "x", ann="x")
        await api.predict("two", ann="x", bob="x")
        await api.label("two", "y")
        found = (await api("GET", f"{SHOWN}/recent")).json()["asked"]
        assert (found["experts"], found["mean"], found["saved"]) == (3, 2.0, pytest.approx(1 / 3))
        assert (found["trials"], found["means"]) == ([1, 2, 3], [3.0, 1.0, 2.0])
        assert (await api("GET", f"{SHOWN}/recent?window=2")).json()["asked"]["mean"] == 1.5
        await api.create("empty")
        nothing = (await api("GET", "/dashboard/fusions/empty/recent")).json()["asked"]
        assert nothing == {"experts": 0, "mean": None, "saved": None, "trials": [], "means": []}

    run(story, tmp_path)


def test_a_range_of_times_has_the_labels_of_that_time(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        start = int(api.service.database.now())
        await api.create()
        await teach(api, 8)
        database = api.service.database
        day = 86_400
        await api.service.panels.flush()
        await api.service.panels.submit([("UPDATE events SET time = ? + position * ?", (start, day))])
        when = dict(database.rows("SELECT id, time FROM events WHERE kind = 2"))
        for low, high in ((0, 10**12), (when["002"], when["005"]), (when["005"] + 1, 10**12), (0, start)):
            wanted = [id_ for id_, time in when.items() if low <= time < high]
            query = f"from={int(low)}&until={int(high)}"
            found = (await api("GET", f"{SHOWN}/recent?{query}")).json()
            assert (found["trials"], found["complete"]) == (len(wanted), True)
            assert found["history"]["points"]["time"] == [when[id_] for id_ in wanted]
        part = (await api("GET", f"{SHOWN}/recent?window=2&from={int(when['002'])}")).json()
        assert (part["trials"], part["complete"]) == (2, False)
        assert code(await api("GET", f"{SHOWN}/recent?from=yesterday")) == (422, "bad_request")

    run(story, tmp_path)


def test_the_overview_names_only_what_may_be_read(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.create("ham")
        answers = await teach(api, 20)
        found = (await api("GET", "/dashboard/overview")).json()
        assert [row["name"] for row in found["fusions"]] == ["ham", "spam"]
        row = found["fusions"][1]
        wrong = sum(a["prediction"] != label for a, (_, label) in zip(answers, made(20), strict=True))
        assert (row["trials"], row["total"]["linmax"]["mistakes"]) == (20, wrong)
        assert row["per_minute"] == 20.0
        assert row["total"]["best_expert"]["mistakes"] == 0
        assert (await api("GET", f"{SHOWN}/summary")).json() == row
        assert (await api("GET", "/dashboard/overview?search=HA")).json()["total"] == 1
        limited = await api.token("read", fusions="h*")
        found = (await api("GET", "/dashboard/overview", headers=limited)).json()
        assert [row["name"] for row in found["fusions"]] == ["ham"]

    run(story, tmp_path)


def test_the_overview_has_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "MAX_FUSIONS", 3)

    async def story(api: Api) -> None:
        for number in range(8):
            await api.create(f"f{number}")
        for start in (0, 3, 6, 9):
            found = (await api("GET", f"/dashboard/overview?start={start}")).json()
            assert found["total"] == 8
            assert [row["name"] for row in found["fusions"]] == [
                f"f{i}" for i in range(start, min(8, start + 3))
            ]
        found = (await api("GET", "/dashboard/overview?search=F7")).json()
        assert [row["name"] for row in found["fusions"]] == ["f7"]
        assert code(await api("GET", "/dashboard/overview?start=-1")) == (422, "bad_request")

    run(story, tmp_path)


def test_a_broken_fusion_is_named_and_the_others_are_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def first(api: Api) -> None:
        for name in ("bad", "good"):
            await api.create(name)
            await api.learn("a", "x", name, ann="x")

    async def second(api: Api) -> None:
        await api.service.panels.submit([("UPDATE snapshots SET model = 'nonsense' WHERE fusion = 1", ())])
        found = (await api("GET", "/dashboard/overview")).json()
        assert [row["name"] for row in found["fusions"]] == ["good"]
        assert found["failed"] == ["bad"]
        assert "the figures of bad cannot be computed" in caplog.text
        await api.learn("b", "x", "good", ann="x")
        moved = await Compaction(api.service.items.store, api.service.histories).run(2e9)
        assert moved == 1
        assert "the log of bad cannot be compacted" in caplog.text
        assert (await api.describe("good"))["horizon"] > 0

    run(first, tmp_path)
    run(second, tmp_path)


def test_a_token_that_may_only_predict_can_try(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.create("ham")
        await teach(api, 10)
        only = await api.token("predict", fusions="spam")
        found = (await api("GET", "/dashboard/overview", headers=only)).json()
        assert found == {"total": 1, "fusions": [], "unread": ["spam"], "failed": []}
        choices = (await api("GET", f"{SHOWN}/try", headers=only)).json()
        assert choices == {"experts": ["ann", "bob", "eve"], "classes": ["x", "y", "z"]}
        tried = await api("POST", f"{SHOWN}/try", {"votes": {"ann": "y"}}, headers=only)
        assert tried.json()["prediction"] == "y"
        for path in ("summary", "recent", "trust", "items"):
            assert code(await api("GET", f"{SHOWN}/{path}", headers=only))[0] == 403
        assert code(await api("GET", "/dashboard/fusions/ham/try", headers=only))[0] == 403

    run(story, tmp_path)


def test_items_are_found_by_id_and_by_what_is_known_about_them(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        answers = await teach(api, 20)
        sure = (await api.predict("sure", ann="x", bob="x", eve="x")).json()
        await api.predict("torn", ann="x", bob="y")
        found = (await api("GET", f"{SHOWN}/items?search=01")).json()["items"]
        assert [one["id"] for one in found] == [f"{t:03d}" for t in range(10, 20)]
        waiting = (await api("GET", f"{SHOWN}/items?list=uncertain")).json()["items"]
        assert [one["id"] for one in waiting] == ["torn", "sure"]
        assert waiting[1]["probability"] == max(sure["probabilities"].values())
        mistakes = (await api("GET", f"{SHOWN}/items?list=mistakes")).json()["items"]
        wrong = {a["id"] for a, (_, label) in zip(answers, made(20), strict=True) if a["prediction"] != label}
        assert {one["id"] for one in mistakes} == wrong
        known = [one["probability"] or 0.0 for one in mistakes]
        assert known == sorted(known, reverse=True)
        assert code(await api("GET", f"{SHOWN}/items?list=all")) == (422, "bad_request")

    run(story, tmp_path)


def test_trying_stores_nothing(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await teach(api, 20)
        before = await api.describe()
        found = (await api("POST", f"{SHOWN}/try", {"votes": {"ann": "y"}})).json()
        assert found["prediction"] == "y"
        assert found["next_expert"] in ("bob", "eve", None)
        assert found["contributions"]["ann"]["y"] > 0.0
        assert await api.describe() == before
        new = await api("POST", f"{SHOWN}/try", {"votes": {"new": "w"}})
        assert new.status_code == 200
        assert await api.describe() == before
        read = await api.token("read")
        assert code(await api("POST", f"{SHOWN}/try", {"votes": {}}, headers=read)) == (403, "forbidden")

    run(story, tmp_path)


def test_a_preview_counts_what_would_be_taken_back(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await teach(api, 10)
        for wanted, count in (
            ({"ids": ["001", "004", "absent"]}, 2),
            ({"actor": "admin (environment)"}, 10),
            ({"actor": "nobody"}, 0),
            ({"position": 11}, 5),
        ):
            before = (await api("POST", f"{SHOWN}/preview", wanted)).json()
            assert before["events"] == sum(before["actors"].values()) == count
            path = "rollback" if "position" in wanted else "exclude"
            if path == "rollback":
                done = (await api("POST", f"/v1/fusions/spam/{path}", wanted)).json()
                assert done["events"] == count
        assert (await api("POST", f"{SHOWN}/preview", {"position": 0})).json()["events"] == 5
        for path, wanted, count in (
            ("exclude", {"ids": ["000", "001"]}, 2),
            ("exclude", {"ids": ["000", "001"]}, 0),
            ("rollback", {"position": 16}, 4),
            ("rollback", {"position": 21}, 3),  # these count again
        ):
            before = (await api("POST", f"{SHOWN}/preview", wanted)).json()
            done = (await api("POST", f"/v1/fusions/spam/{path}", wanted)).json()
            assert before["events"] == done["events"], (path, wanted)
            assert before["events"] == count, (path, wanted)
        assert code(await api("POST", f"{SHOWN}/preview", {})) == (422, "no_choice")
        read = await api.token("read", "predict")
        assert code(await api("POST", f"{SHOWN}/preview", {"position": 1}, headers=read))[0] == 403
        assert code(await api("GET", f"{SHOWN}/snapshots", headers=read))[0] == 403
        checked = (await api("POST", "/dashboard/learner", {"learner": "Winow(1.2)"})).json()
        assert checked == {"valid": False, "message": "there is no 'Winow'; did you mean 'Winnow'?"}
        assert (await api("POST", "/dashboard/learner", {"learner": "Winnow(1.2)"})).json()["valid"]

    run(story, tmp_path)


def test_many_experts_and_classes_do_not_make_the_answer_long(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = {f"an expert with the long number {i}": f"class {i % 200}" for i in range(500)}
    items = [
        Labelled(t, float(t), str(t), votes, f"class {t % 200}", f"class {t % 7}", 0.5) for t in range(300)
    ]
    found = summarize(items)
    assert len(msgspec.json.encode(found)) < 100_000
    assert (len(found.agreement.experts), found.agreement.omitted) == (30, 470)
    assert len(found.confusion.classes) == 20
    assert found.confusion.omitted == 300 - sum(map(sum, found.confusion.table))
    monkeypatch.setattr("linmax.service.dashboard.recent.MAX_EXPERTS", 2)
    assert len(summarize(items).agreement.experts) == 2


def test_classes_may_be_numbers_and_votes_scores(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create(classes=[1, 2])
        for t in range(6):
            label = 1 + t % 2
            await api.predict(str(t), ann={"1": 0.9 - 0.8 * (t % 2), "2": 0.1 + 0.8 * (t % 2)}, bob=1)
            await api.label(str(t), label)
        found = (await api("GET", f"{SHOWN}/recent")).json()
        rows = {row["name"]: (row["votes"], row["right"]) for row in found["experts"]}
        assert rows == {"ann": (6, 6), "bob": (6, 3)}
        assert found["confusion"]["classes"] == ["1", "2"]
        trust_now = (await api("GET", f"{SHOWN}/trust")).json()["experts"]
        assert trust_now["ann"][-1] > 0.5
        tried = (await api("POST", f"{SHOWN}/try", {"votes": {"ann": {"2": 1.0}}})).json()
        assert tried["prediction"] == 2

    run(story, tmp_path)


def test_an_interval_has_the_share_in_it() -> None:
    for trials, mistakes in ((1, 0), (1, 1), (10, 3), (1000, 999)):
        found = share(trials, mistakes)
        assert None not in (found.low, found.accuracy, found.high)
        assert 0.0 <= found.low <= found.accuracy <= found.high <= 1.0
    assert share(0, 0).accuracy is None
