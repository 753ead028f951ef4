"""Trust over time in the dashboard is that of a session that has learned the same labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linmax import Fusion
from linmax.evaluate import trust
from linmax.fusion.model_file import to_bytes
from tests.service.api import LEARNER, Api
from tests.service.dashboard.test_figures import SHOWN, made, teach
from tests.service.test_compaction import compact
from tests.service.test_items import run

SAMPLE = 25  # labelled items on which trust is measured


@pytest.fixture(autouse=True)
def _measure_trust_on_few_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.service.dashboard.trust.SAMPLE", SAMPLE)


def test_trust_is_that_of_a_session_with_the_same_labels(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await teach(api, 30)
        first = (await api("GET", f"{SHOWN}/trust")).json()
        await teach(api, 30, first=30)
        found = (await api("GET", f"{SHOWN}/trust")).json()
        assert (first["trials"][-1], found["trials"][-1]) == (30, 60)
        assert found["time"] == sorted(found["time"])
        check_trust(first, made(30))
        check_trust(found, made(60))

    run(story, tmp_path)


def test_trust_that_has_not_learned_what_is_compacted_starts_at_the_horizon(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await teach(api, 30)
        await api("GET", f"{SHOWN}/trust")
        await teach(api, 60, first=30)
        await compact(api, last="060")
        check_trust((await api("GET", f"{SHOWN}/trust")).json(), made(90))

    run(story, tmp_path)


def check_trust(answer: dict[str, Any], trials: list[Any], fusion: Fusion | None = None) -> None:
    """The last point is the trust of a session that has learned the trials, on the last ones of them."""
    fusion = fusion or Fusion(LEARNER)
    for votes, label in trials:
        fusion.learn_one(votes, label)
    last = trials[-SAMPLE:]
    measured = trust(fusion, [votes for votes, _ in last], [label for _, label in last])
    total = sum(max(one.contribution, 0.0) for one in measured)
    assert answer["trials"][-1] == fusion.trials
    for one in measured:
        wanted = max(one.contribution, 0.0) / total
        assert answer["experts"][one.expert][-1] == pytest.approx(wanted, abs=1e-6)


def test_trust_begins_with_the_model_that_was_uploaded_last(tmp_path: Path) -> None:
    def other() -> Fusion:
        fusion = Fusion(LEARNER)
        fusion.learn([{"ann": "w", "zoe": "v"}] * 100, ["v"] * 100)
        return fusion

    async def first(api: Api) -> None:
        await api.create()
        await teach(api, 60)
        await api("GET", f"{SHOWN}/trust")
        await api("PUT", "/v1/fusions/spam/model", content=to_bytes(other()))
        assert (await api("GET", f"{SHOWN}/trust")).json()["trials"] == []
        await teach(api, 30, first=60)
        found = (await api("GET", f"{SHOWN}/trust")).json()
        assert found["trials"] == sorted(set(found["trials"]))
        assert min(found["trials"]) > 100
        check_trust(found, made(90)[60:], other())

    async def second(api: Api) -> None:
        await teach(api, 30, first=90)
        check_trust((await api("GET", f"{SHOWN}/trust")).json(), made(120)[60:], other())

    run(first, tmp_path)
    run(second, tmp_path)


def test_trust_of_a_compacted_log_begins_at_its_horizon(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await teach(api, 40)
        await compact(api)
        await teach(api, 1, first=40)
        found = (await api("GET", f"{SHOWN}/trust")).json()
        assert min(found["trials"]) >= 39  # the very last event is not compacted
        await teach(api, 30, first=41)
        found = (await api("GET", f"{SHOWN}/trust")).json()
        check_trust(found, made(71))
        assert all(sum(row) > 0.99 for row in zip(*found["experts"].values(), strict=True))
        await compact(api)
        assert (await api("GET", "/v1/fusions/spam/history")).json()["trials"] == 71

    async def later(api: Api) -> None:
        await teach(api, 30, first=71)
        check_trust((await api("GET", f"{SHOWN}/trust")).json(), made(101))

    run(story, tmp_path)
    run(later, tmp_path)


def test_trust_goes_on_from_snapshots_and_follows_amendments(tmp_path: Path) -> None:
    async def first(api: Api) -> None:
        await api.create()
        await teach(api, 40)

    async def second(api: Api) -> None:
        await teach(api, 20, first=40)
        found = (await api("GET", f"{SHOWN}/trust")).json()
        assert found["trials"][-1] == 60
        assert found["trials"] == sorted(found["trials"])
        await api("POST", "/v1/fusions/spam/rollback", {"position": 0})
        await api.describe()
        assert (await api("GET", f"{SHOWN}/trust")).json()["trials"] == []

    run(first, tmp_path)
    run(second, tmp_path)
