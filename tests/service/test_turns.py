"""Batches and single requests that take long: others have their turn, and the time grows with the rows."""

from __future__ import annotations

import asyncio
import math
import threading
from pathlib import Path
from typing import Any

import pytest

from linmax.service.event_log.stored_items import LoggedItem
from linmax.service.event_log.vote_codes import KnownNames
from linmax.service.fusions import bulk, served_panels
from linmax.service.fusions.bulk import SHORTEST
from linmax.service.http import bodies
from linmax.service.http.bodies import parse_lines
from tests.service.api import Api, digest_of
from tests.service.test_arrow import send_table
from tests.service.test_batches import send
from tests.service.test_concurrency import trials_in_order
from tests.service.test_durability import FailingWrites
from tests.service.test_items import run

SCORES = {"ann": {"x": 0.25, "y": 0.75}, "bob": "x"}  # which are learned one by one


def rows(count: int, prefix: str = "r") -> list[dict[str, Any]]:
    return [{"id": f"{prefix}{at}", "votes": SCORES, "label": "xy"[at % 2]} for at in range(count)]


async def learn_one_by_one(api: Api) -> None:
    """Let the model learn items with scores until that needs no thread."""
    panel = await api.service.panels.open("spam")
    for at in range(50):
        known = len(panel.quick)
        await send(api, "learn", rows(2, f"early {at} "))
        if at > 2 and len(panel.quick) == known:
            return
    raise TimeoutError


@pytest.mark.parametrize("turn", [0.0, math.inf])
@pytest.mark.parametrize("kind", ["batch", "single requests"])
def test_others_have_their_turn_while_many_items_are_learned(
    kind: str, turn: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_panels, "TURN", turn)

    async def story(api: Api) -> None:
        await api.create()
        await learn_one_by_one(api)
        await api.create("other")
        ended: list[str] = []

        async def learn() -> None:
            if kind == "batch":
                await send(api, "learn", rows(200))
            else:
                path = "/v1/fusions/spam/learn"
                await asyncio.gather(*(api("POST", path, row) for row in rows(200)))
            ended.append("many")

        async def describe() -> None:
            for _ in range(3):
                await asyncio.sleep(0)
            await api("GET", "/v1/fusions")
            ended.append("other")

        await asyncio.gather(learn(), describe())
        if turn == 0.0:
            assert ended == ["other", "many"]
        monkeypatch.undo()
        assert (await api.describe())["trials"] > 200
        assert await api.digest() == digest_of(*(await trials_in_order(api)))

    run(story, tmp_path)


@pytest.mark.parametrize("step", ["_insert", "_commit"])
@pytest.mark.parametrize("turn", [0.0, math.inf])
def test_a_batch_whose_writes_fail_in_between_has_learned_what_it_says(
    step: str, turn: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linmax.service.event_log.database.RETRY", 0.0)
    monkeypatch.setattr(served_panels, "TURN", turn)

    async def story(api: Api) -> None:
        await api.create()
        await learn_one_by_one(api)
        before = (await api.describe())["trials"]
        FailingWrites(api.service.database, [at % 4 == 2 for at in range(2000)], step)
        answers = []
        for at in range(6):
            answers += await send(api, "learn", rows(40, f"{at} "))
        stored = [answer["position"] for answer in answers if "position" in answer]
        failed = [answer["error"]["code"] for answer in answers if "error" in answer]
        assert stored
        assert failed
        assert set(failed) <= {"storage_full", "busy"}
        api.service.database.__dict__.pop(step)
        assert (await api.describe())["trials"] == before + len(stored)
        assert await api.digest() == digest_of(*(await trials_in_order(api)))
        repeated = []
        for at in range(6):
            repeated += await send(api, "learn", rows(40, f"{at} "))
        assert all("position" in answer for answer in repeated)
        assert (await api.describe())["trials"] == before + len(answers)

    run(story, tmp_path)


class Counted:
    """Counts the items with which functions are called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.items = 0
        for owner, name, size in (
            (KnownNames, "encode_votes", len),
            (KnownNames, "have", lambda votes: 1),
            (LoggedItem, "read", lambda *values: 1),
        ):
            monkeypatch.setattr(owner, name, self._counting(getattr(owner, name), size))

    def _counting(self, call: Any, size: Any) -> Any:
        def counting(one: Any, *values: Any, **more: Any) -> Any:
            self.items += size(*values[:1])
            return call(one, *values, **more)

        return counting


@pytest.mark.parametrize("every", [1, 7, SHORTEST + 1, 3 * SHORTEST])
def test_the_work_for_a_batch_is_in_proportion_to_its_rows(
    every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some rows are learned one by one; those after them are not looked at again for each of them."""
    votes = [SCORES if at % every == 0 else {"ann": "x", "bob": "y"} for at in range(600)]
    counts: dict[str, list[int]] = {"learn": [], "predict": [], "labels": []}

    async def story(api: Api) -> None:
        await api.create(classes=["x", "y"])
        await send(api, "learn", rows(2))
        for count in (200, 600):
            for verb, found in counts.items():
                id_, label = f"{count} " + verb.replace("labels", "predict"), {"label": "x"}
                sent: list[dict[str, Any]] = [{"id": f"{id_} {at}"} for at in range(count)]
                if verb != "predict":
                    sent = [one | label for one in sent]
                if verb != "labels":
                    sent = [one | {"votes": each} for one, each in zip(sent, votes, strict=False)]
                counted = Counted(monkeypatch)
                answers = await send(api, verb, sent)
                found.append(counted.items)
                monkeypatch.undo()
                assert not any("error" in answer for answer in answers)

    run(story, tmp_path)
    for few, many in counts.values():
        assert many < 6 * few  # for three times as many rows


def test_a_table_with_new_names_is_not_read_again_for_each_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow", reason="Arrow batches need pyarrow (extra service)")
    from linmax.service.http import arrow_rows

    seen = []

    def note(*values: Any) -> Any:
        seen.append(0)
        return map_values(*values)

    map_values = arrow_rows._map_values
    monkeypatch.setattr(arrow_rows, "_map_values", note)
    mapped = []
    find = arrow_rows.ArrowRows._map

    def note_rows(self: Any, panel: Any, start: int, stop: int) -> Any:
        before = len(seen)
        found = find(self, panel, start, stop)
        if len(seen) > before:
            mapped.append(stop - start)
        return found

    monkeypatch.setattr(arrow_rows.ArrowRows, "_map", note_rows)

    async def story(api: Api) -> None:
        await api.create(classes=["x", "y"])
        await api.learn(None, "x", ann="x")
        new = [f"class {at}" if at % 10 == 0 else "x" for at in range(900)]
        answers = await send_table(api, "learn", {"ann": new, "label": ["x"] * 900})
        assert all(answer["position"] for answer in answers)
        assert sum(mapped) <= 900 * SHORTEST

    run(story, tmp_path)


def test_rows_of_many_experts_are_learned_in_shorter_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is the same; each run takes less time."""
    monkeypatch.setattr(bulk, "CELLS", 40 * 12)
    lengths = []
    process = bulk.Bulk.process

    async def note(self: Any, panel: Any, some: Any, start: int, stop: int, token: Any) -> Any:
        lengths.append(stop - start)
        return await process(self, panel, some, start, stop, token)

    monkeypatch.setattr(bulk.Bulk, "process", note)
    votes = [{f"expert {at}": "xy"[(at * row) % 2] for at in range(10)} for row in range(130)]

    async def story(api: Api) -> None:
        await api.create(classes=["x", "y"])
        await send(api, "learn", [{"votes": votes[0], "label": "x"}])
        await send(api, "learn", [{"votes": one, "label": "y"} for one in votes])
        assert lengths == [40, 40, 40]
        trials = [(votes[0], "x"), *((one, "y") for one in votes)]
        assert await api.digest() == digest_of(*trials, classes=["x", "y"])

    run(story, tmp_path)


@pytest.mark.parametrize("votes", [3, 2000])
def test_long_lines_are_read_in_a_thread(votes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set()

    def note(*values: Any) -> Any:
        threads.add(threading.get_ident())
        return parse_lines(*values)

    monkeypatch.setattr(bodies, "parse_lines", note)

    async def story(api: Api) -> None:
        await api.create(classes=["x", "y"])
        sent = [{"votes": {f"expert {at}": "x" for at in range(votes)}} for _ in range(50)]
        assert len(await send(api, "predict", sent)) == 50
        assert (threads == {threading.get_ident()}) is (votes == 3)

    run(story, tmp_path)
