"""After any amendments, items have the label of then, and are excluded by who has set the one that counts."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from linmax.service.fusions import replay
from tests.service.api import Api, code, digest_of
from tests.service.test_amendments import TRIALS, expected, teach
from tests.service.test_items import run

EXCLUDE, ROLLBACK = "/v1/fusions/spam/exclude", "/v1/fusions/spam/rollback"


class Known(NamedTuple):
    """What is known about an item: who has taught it, its label, who has set that where, and if it counts."""

    teacher: str
    label: str
    setter: str
    position: int
    counts: bool = True


async def make_tokens(api: Api) -> dict[str, dict[str, str]]:
    """The headers of two tokens by their names."""
    found = {}
    for scopes in (("learn", "label", "grow"), ("label", "learn", "grow")):
        headers = await api.token(*scopes)
        found[api.tokens[-1]] = headers
    return found


async def set_label(api: Api, headers: dict[str, str], id_: str, label: str, replaces: str) -> int:
    body = {"id": id_, "label": label, "replaces": replaces}
    answer = await api("POST", "/v1/fusions/spam/labels", body, headers=headers)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["position"])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 30))])
def test_amendments_in_any_order_keep_who_has_set_which_label(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)

    async def story(api: Api) -> None:
        await api.create()
        tokens = await make_tokens(api)
        states: dict[int, dict[str, Known]] = {}  # by position
        state: dict[str, Known] = {}

        async def learn(actor: str) -> int:
            id_, votes, label = TRIALS[len(state)]
            body = {"id": id_, "votes": votes, "label": label}
            answer = await api("POST", "/v1/fusions/spam/learn", body, headers=tokens[actor])
            position = int(answer.json()["position"])
            state[id_] = Known(actor, label, actor, position)
            return position

        async def relabel(actor: str) -> int:
            id_ = chance.choice(list(state))
            old = state[id_]
            label = chance.choice([one for one in "xyz" if one != old.label or not old.counts])
            position = await set_label(api, tokens[actor], id_, label, old.label)
            state[id_] = Known(old.teacher, label, actor, position)
            return position

        async def exclude(actor: str) -> int | None:
            if chance.random() < 0.7:
                wanted: dict[str, Any] = {"ids": chance.sample(list(state), 2)}
                chosen = wanted["ids"]
            else:
                wanted = {"actor": actor}
                chosen = [id_ for id_, one in state.items() if actor in (one.teacher, one.setter)]
            chosen = [id_ for id_ in chosen if state[id_].counts]
            found = (await api("POST", "/dashboard/fusions/spam/preview", wanted)).json()
            assert found["actors"] == Counter(state[id_].setter for id_ in chosen)
            done = (await api("POST", EXCLUDE, wanted)).json()
            assert done["events"] == len(chosen)
            state.update({id_: state[id_]._replace(counts=False) for id_ in chosen})
            return int(done["position"]) if chosen else None

        async def roll_back(actor: str) -> int | None:
            position = chance.choice(list(states))
            then = states[position]
            new = {id_: then.get(id_, one._replace(counts=False)) for id_, one in state.items()}
            done = (await api("POST", ROLLBACK, {"position": position})).json()
            assert done["events"] == sum(new[id_] != state[id_] for id_ in new)
            state.update(new)
            return int(done["position"]) if done["events"] else None

        for number in range(60):
            acts = [learn] if number < 4 else [relabel, relabel, exclude, roll_back]
            if 4 <= len(state) < 12:
                acts.append(learn)
            position = await chance.choice(acts)(chance.choice(list(tokens)))
            await api.describe()
            if position is not None:
                states[position] = dict(state)
            for id_, one in state.items():
                found = (await api("GET", f"/v1/fusions/spam/items/{id_}")).json()
                assert (found["label"], found["excluded"]) == (one.label, not one.counts), number
            everything = (await api("POST", "/dashboard/fusions/spam/preview", {"ids": list(state)})).json()
            assert everything["actors"] == Counter(one.setter for one in state.values() if one.counts), number
        counting = [(votes, state[id_].label) for id_, votes, _ in TRIALS[: len(state)] if state[id_].counts]
        assert await api.digest() == digest_of(*counting)
        assert await asyncio.to_thread(replay.verify, api.service.database) == []

    run(story, tmp_path)


@pytest.mark.parametrize("earlier", [False, True])
def test_a_label_that_a_rollback_has_brought_back_is_excluded_by_who_has_set_it(
    tmp_path: Path, earlier: bool
) -> None:
    """Events of earlier versions do not say to which position a fusion was rolled back."""

    async def story(api: Api) -> None:
        await teach(api)
        tokens = await make_tokens(api)
        first, second = tokens
        position = await set_label(api, tokens[first], "3", "new", TRIALS[3][2])
        await set_label(api, tokens[second], "3", "other", "new")
        assert (await api("POST", ROLLBACK, {"position": position})).json()["events"] == 1
        if earlier:
            without = "CAST(json_remove(CAST(body AS TEXT), '$.to') AS BLOB)"
            await api.service.panels.submit([(f"UPDATE events SET body = {without} WHERE kind = 5", ())])
        preview = "/dashboard/fusions/spam/preview"
        assert (await api("POST", preview, {"ids": ["3"]})).json()["actors"] == {first: 1}
        assert (await api("POST", EXCLUDE, {"actor": second})).json()["events"] == 0
        assert await api.digest() == expected({"3": "new"})
        assert (await api("POST", EXCLUDE, {"actor": first})).json()["events"] == 1
        assert await api.digest() == expected({"3": None})

    run(story, tmp_path)


def test_a_rollback_restores_the_label_of_an_item_that_was_excluded_then(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)
        tokens = await make_tokens(api)
        headers = tokens[api.tokens[-1]]
        await set_label(api, headers, "3", "second", TRIALS[3][2])
        position = (await api("POST", EXCLUDE, {"ids": ["3"]})).json()["position"]
        await set_label(api, headers, "3", "third", "second")
        await api("POST", ROLLBACK, {"position": position})
        assert await api.digest() == expected({"3": None})
        found = (await api("GET", "/v1/fusions/spam/items/3")).json()
        assert (found["label"], found["excluded"]) == ("second", True)
        assert code(await api.label("3", "x", replaces="third")) == (409, "labelled_otherwise")
        assert (await api.label("3", "x", replaces="second")).status_code == 200
        await api("POST", ROLLBACK, {"position": position - 1})  # before the exclusion
        assert await api.digest() == expected({"3": "second"})

    run(story, tmp_path)
