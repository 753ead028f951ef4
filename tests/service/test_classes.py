"""Classes that are numbers or truth values, names that are not allowed, and bodies that are not JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linmax import Fusion
from linmax.fusion.model_file import fingerprint
from tests.service.api import LEARNER, Api, code
from tests.service.test_items import run


@pytest.mark.parametrize("names", [[1, 2, -3], [True, False]])
@pytest.mark.parametrize("given", [True, False])
def test_scores_for_numbers_and_truth_values_have_keys_of_json(
    tmp_path: Path, names: list[Any], given: bool
) -> None:
    keys = [json.dumps(name) for name in names]
    fusion = Fusion(LEARNER, classes=names if given else None)

    async def story(api: Api) -> None:
        await api.create(classes=names if given else None)
        for number in range(12):
            scores = {key: (number * i) % 5 / 5 for i, key in enumerate(keys, 1)}
            votes = {"ann": scores, "bob": names[number % 2]}
            typed = {"ann": dict(zip(names, scores.values(), strict=True)), "bob": names[number % 2]}
            label = names[number % len(names)]
            if number % 2:
                answer = await api.predict(str(number), **votes)
                assert set(answer.json()["probabilities"]) <= set(keys)
                answer = await api.label(str(number), label)
            else:
                answer = await api.learn(str(number), label, **votes)
            assert answer.status_code == 200, answer.text
            fusion.learn_one(typed, label)
        assert await api.digest() == fingerprint(fusion)
        explained = (await api("GET", "/v1/fusions/spam/items/11?explain=now")).json()["explanation"]
        assert set(explained["scores"]) == set(keys)
        history = (await api("GET", "/v1/fusions/spam/history")).json()
        assert history["experts"]["ann"] < 12
        other = await api.learn("text", names[0], ann={"other": 1.0})
        assert code(other) == (422, "bad_item")

    async def later(api: Api) -> None:
        assert await api.digest() == fingerprint(fusion)

    run(story, tmp_path)
    run(later, tmp_path)


def test_new_labels_are_mistakes(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        answers = [(await api.learn(str(i), label, ann="x")).json() for i, label in enumerate("xyzx")]
        wrong = sum(not answer["right"] for answer in answers)
        assert wrong >= 2
        assert (await api.describe())["mistakes"] == wrong
        assert f'linmax_mistakes{{fusion="spam"}} {wrong}.0' in (await api("GET", "/metrics")).text

    run(story, tmp_path)


def test_names_without_characters_or_with_control_characters_are_refused(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        assert (await api("PUT", "/v1/fusions/spam%0A", {})).status_code == 422
        for id_ in ("", "a\x00", "a\n", "\x7f", "x" * 201):
            assert code(await api.predict(id_, ann="x")) == (422, "bad_request")
        for expert in ("", "a\x00b", "\t", "x" * 201):
            found = await api.predict("a", **{expert: "x"})
            assert code(found) == (422, "bad_request")
            assert code(await api.learn("a", "x", **{expert: "x"})) == (422, "bad_request")
        for name in ("a\x00", "\x1b[31m"):
            found = await api("POST", "/v1/tokens", {"name": name, "scopes": ["read"]})
            assert code(found) == (422, "bad_request")
            assert "text without control characters" in found.json()["detail"]
        mixed = [([True, 1], "true and 1"), (["a", 1], '"a" and 1')]
        for classes, shown in mixed:
            found = await api("PUT", "/v1/fusions/other", {"classes": classes})
            assert code(found) == (422, "bad_settings")
            assert shown in found.json()["detail"]

    run(story, tmp_path)


def test_the_answer_about_a_new_token_has_its_number_and_names_are_given_once(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        made = (await api("POST", "/v1/tokens", {"name": "ann", "scopes": ["read"]})).json()
        assert made["token"].startswith("lmx_")
        listed = (await api("GET", "/v1/tokens")).json()["tokens"]
        assert [one["token"] for one in listed if one["name"] == "ann"] == [made["number"]]
        again = await api("POST", "/v1/tokens", {"name": "ann", "scopes": ["read"]})
        assert code(again) == (409, "name_in_use")
        await api("DELETE", f"/v1/tokens/{made['number']}")
        assert (await api("POST", "/v1/tokens", {"name": "ann", "scopes": ["read"]})).status_code == 201

    run(story, tmp_path)


def test_a_body_that_is_not_json_is_named(tmp_path: Path) -> None:
    cases = {
        b"": "it is empty", b'{"votes": {': "it ends too early", b'{"id": "\\ud800"}': "pair of surrogates",
        b'{"votes": {}} x': "trailing characters",
    }  # fmt: skip

    async def story(api: Api) -> None:
        await api.create()
        for body, why in cases.items():
            answer = await api("POST", "/v1/fusions/spam/predict", content=body)
            assert code(answer) == (400, "bad_json")
            assert why in answer.json()["detail"]

    run(story, tmp_path)


def test_amendments_that_change_nothing_are_not_events(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        for i in range(4):
            await api.learn(str(i), "xy"[i % 2], ann="x", bob="y")
        path = "/v1/fusions/spam/exclude"
        assert (await api("POST", path, {"ids": ["1", "2"]})).json()["events"] == 2
        before = await api.describe()
        for choice in ({"ids": ["1", "2"]}, {"ids": ["nobody"]}, {"actor": "nobody"}):
            answer = (await api("POST", path, choice)).json()
            assert answer == {"position": before["position"], "events": 0}
        assert (await api("POST", path, {"ids": ["2", "3"]})).json()["events"] == 1
        rolled = (await api("POST", "/v1/fusions/spam/rollback", {"position": 3})).json()
        assert rolled["events"] == 1  # the exclusion of the second item is taken back, others are excluded
        again = (await api("POST", "/v1/fusions/spam/rollback", {"position": 3})).json()
        assert again == {"position": rolled["position"], "events": 0}

    run(story, tmp_path)


def test_a_relabelling_that_comes_again_late_is_refused(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.learn("a", "x", ann="x", bob="y")
        first = (await api.describe())["position"]
        changed = await api.label("a", "y", replaces="x", after=first)
        again = await api.label("a", "y", replaces="x", after=first)
        assert changed.json() == again.json()
        assert (await api.label("a", "x", replaces="y", after=changed.json()["position"])).status_code == 200
        before = await api.describe()
        assert code(await api.label("a", "y", replaces="x", after=first)) == (409, "labelled_since")
        assert await api.describe() == before
        assert (await api.label("a", "y", replaces="x", after=before["position"])).status_code == 200

    run(story, tmp_path)
