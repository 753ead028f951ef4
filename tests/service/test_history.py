"""Mistakes over time, and what is known about items of the past."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from linmax import Fusion
from linmax.service.event_log.trials import LearnedTrial
from linmax.service.fusions import history as histories
from linmax.service.fusions.history import History
from tests.service.api import LEARNER, Api, code
from tests.service.test_amendments import TRIALS, teach
from tests.service.test_items import run

CURVES = ("linmax", "plurality", "best_expert", "most_frequent_class")


def oracle(trials: list[LearnedTrial], classes: list[Any]) -> list[tuple[int, ...]]:
    """The mistakes after every trial, counted one by one."""
    order, labels, correct = list(classes), Counter[Any](), Counter[str]()
    frequent, curves, wrong = None, [], [0, 0, 0]
    for number, trial in enumerate(trials, 1):
        voted = {}
        for expert, vote in trial.votes.items():
            correct[expert] += 0
            named = vote if isinstance(vote, dict) else {vote: 1.0}
            order += [name for name in named if name is not None and name not in order]
            if vote is not None:
                voted[expert] = max(named, key=lambda name: (named[name], -order.index(name)))
        order += [trial.label] if trial.label not in order else []
        votes = Counter(voted.values())
        winner = max(order, key=lambda name: (votes[name], -order.index(name)))
        for i, guess in enumerate((trial.prediction, winner, frequent)):
            wrong[i] += guess != trial.label
        correct.update(expert for expert, vote in voted.items() if vote == trial.label)
        labels[trial.label] += 1
        if frequent is None or labels[trial.label] > labels[frequent]:
            frequent = trial.label
        best = number - max(correct.values(), default=0)
        curves.append((wrong[0], wrong[1], best, wrong[2]))
    return curves


def made(count: int, seed: int = 0) -> list[LearnedTrial]:
    """Trials with abstentions, scores, experts that come later, and new classes."""
    import random

    chance = random.Random(seed)
    found = []
    for number in range(count):
        names = "xyz" if number < count // 2 else "xyzw"
        votes: dict[str, Any] = {
            expert: chance.choice([*names, None]) for expert in ("ann", "bob", "eve") if chance.random() < 0.8
        }
        if number > count // 3:
            votes["dan"] = {name: chance.random() for name in names}
        found.append(
            LearnedTrial(
                3 * number + 1, float(number), votes, chance.choice(names), chance.choice([*names, None])
            )
        )
    return found


@pytest.mark.parametrize("parts", [1, 7, 400])
def test_points_are_those_of_counting_one_by_one(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "MAX_POINTS", 32)
    trials = made(400)
    history = History(["z"])
    for start in range(0, len(trials), parts):
        history.add(trials[start : start + parts])
        history = History.from_bytes(history.to_bytes())
    expected = oracle(trials, ["z"])
    for limit in (2, 5, 32, 1000):
        points = history.answer(limit).points
        assert len(points.trials) <= min(limit, 33)
        assert points.trials[-1] == 400
        assert all(number % points.trials[0] == 0 for number in points.trials[:-1])
        for at, number in enumerate(points.trials):
            assert tuple(getattr(points, name)[at] for name in CURVES) == expected[number - 1]
            assert points.position[at] == trials[number - 1].position
            assert points.time[at] == trials[number - 1].time
    assert history.width == 16  # 400 trials, 32 points


def test_a_history_of_a_million_trials_is_as_small_as_one_of_a_thousand() -> None:
    history = History([])
    trials = made(1000)
    history.add(trials)
    first = len(history.to_bytes())
    history._last[0] = 1_000_000 - 1000  # as if there had been more
    history.width = 1024
    history.add(trials)
    assert len(history.to_bytes()) < 2 * first
    assert len(history.answer(1000).points.trials) <= 1000


def test_an_empty_history_has_no_points() -> None:
    answer = History([]).answer(10)
    assert (answer.trials, answer.points.trials, answer.experts) == (0, [], {})


async def curves(api: Api, points: int = 1000) -> dict[str, Any]:
    await api.describe()
    found = await api("GET", f"/v1/fusions/spam/history?points={points}")
    assert found.status_code == 200, found.text
    return dict(found.json())


def test_the_history_follows_labels_amendments_and_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histories, "STORE_EVERY", 5)
    monkeypatch.setattr(histories, "GENTLE", 3)  # of the updates after snapshots
    answers: dict[str, Any] = {}

    def expected(changed: dict[str, str | None]) -> list[tuple[int, ...]]:
        fixed = [(id_, votes, changed.get(id_, label)) for id_, votes, label in TRIALS]
        trials = [
            LearnedTrial(0, 0.0, votes, label, answers[id_])
            for id_, votes, label in fixed
            if label is not None
        ]
        return oracle(trials, [])

    def found(history: dict[str, Any]) -> list[tuple[int, ...]]:
        return list(zip(*(history["points"][name] for name in CURVES), strict=True))

    async def story(api: Api) -> None:
        api.service.panels.snapshot_every = 7
        await teach(api)
        for id_, *_ in TRIALS:
            answers[id_] = (await api("GET", f"/v1/fusions/spam/items/{id_}")).json()["prediction"]
        history = await curves(api)
        assert found(history) == expected({})
        assert history["trials"] == len(TRIALS)
        assert sorted(history["experts"].values()) == list(history["experts"].values())
        await api.label("20", "new", replaces=TRIALS[20][2])
        assert found(await curves(api)) == expected({"20": "new"})
        await api("POST", "/v1/fusions/spam/exclude", {"ids": ["3"]})
        assert found(await curves(api)) == expected({"20": "new", "3": None})
        assert len((await curves(api, 5))["points"]["trials"]) <= 5
        for bad in ("1", "1001", "x", "-3"):
            assert code(await api("GET", f"/v1/fusions/spam/history?points={bad}")) == (422, "bad_request")

    async def later(api: Api) -> None:
        assert found(await curves(api)) == expected({"20": "new", "3": None})
        stored = api.service.database.rows("SELECT position, trials FROM histories")
        assert stored  # so the next start has little to read
        await api("POST", "/v1/fusions/spam/rollback", {"position": 30})
        kept = len(found(await curves(api)))
        assert found(await curves(api)) == expected({})[:kept]
        assert 0 < kept < 39
        stored = api.service.database.rows("SELECT max(trials) FROM histories")
        assert stored == [(kept,)]

    run(story, tmp_path)
    run(later, tmp_path)


def test_no_transaction_is_open_in_the_pauses_of_counting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histories, "GENTLE", 3)

    async def story(api: Api) -> None:
        await teach(api)
        database, open_ = api.service.database, []

        def pause(seconds: float) -> None:
            open_.append(database._reader().in_transaction)

        monkeypatch.setattr(histories.time, "sleep", pause)
        await api.service.histories.update(await api.service.panels.open("spam"))
        assert open_
        assert not any(open_)

    run(story, tmp_path)


def test_histories_asked_for_while_labels_come_are_of_one_moment(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()

        async def look() -> int:
            history = await curves(api)
            assert history["points"]["trials"] == list(range(1, history["trials"] + 1))
            return int(history["trials"])

        async def learn(number: int) -> int:
            return (await api.learn(str(number), "x", ann="x", bob="y")).status_code

        seen = await asyncio.gather(*(look() if i % 5 == 0 else learn(i) for i in range(60)))
        assert await look() == sum(status == 200 for status in seen)

    run(story, tmp_path)


def test_experts_have_their_names_in_explanations(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.learn("a", "y", threshold="x", pair="y")
        found = (await api("GET", "/v1/fusions/spam/items/a?explain=now")).json()["explanation"]
        assert list(found["contributions"]) == ["threshold", "pair", "(threshold)"]

    run(story, tmp_path)


def test_an_item_is_explained_with_the_weights_of_now_and_of_then(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        api.service.panels.snapshot_every = 7
        await teach(api)
        path = "/v1/fusions/spam/items/21"
        info = (await api("GET", path)).json()
        assert info["explanation"] is None
        assert info["predicted"] == info["labelled"]  # it came with its label
        fusions = {"then": Fusion(LEARNER), "now": Fusion(LEARNER)}
        for number, (_, votes, label) in enumerate(TRIALS):
            if number < 21:
                fusions["then"].learn_one(votes, label)
            fusions["now"].learn_one(votes, label)
        for when, fusion in fusions.items():
            explained = fusion.explain_one(TRIALS[21][1], new_experts="vote")
            found = (await api("GET", f"{path}?explain={when}")).json()["explanation"]
            assert found["prediction"] == explained.guess
            assert found["scores"] == explained.scores
            assert found["contributions"] == explained.contributions
        then = (await api("GET", f"{path}?explain=then")).json()
        assert then["explanation"]["prediction"] == then["prediction"]
        assert code(await api("GET", f"{path}?explain=later")) == (422, "bad_request")
        predicted = (await api("GET", "/v1/fusions/spam/items/20")).json()
        assert predicted["predicted"] < predicted["labelled"]
        assert predicted["probabilities"]
        assert predicted["version"] < predicted["position"]

    run(story, tmp_path)
