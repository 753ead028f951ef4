"""Classes that are numbers or truth values, names that are not allowed, and bodies that are not JSON."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from linmax import Fusion
from linmax.fusion.model_file import fingerprint
from tests.service.api import LEARNER, Api, code
from tests.service.test_items import run

NDJSON = {"content-type": "application/x-ndjson"}


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


@pytest.mark.parametrize(("label", "other"), [(1, 2), (True, False), (10**18, -(10**18))])
def test_predictions_before_the_kind_of_classes_is_known_may_be_right(
    tmp_path: Path, label: Any, other: Any
) -> None:
    key, scores = json.dumps(label), {json.dumps(label): 0.9, json.dumps(other): 0.1}

    async def story(api: Api) -> None:
        await api.create()
        for id_ in "abc":
            assert (await api.predict(id_, ann=scores)).json()["prediction"] == key
        lines = "\n".join(json.dumps({"id": id_, "label": label}) for id_ in "bc").encode()
        answers = [(await api.label("a", label)).json()]
        several = await api("POST", "/v1/fusions/spam/labels", content=lines, headers=NDJSON)
        answers += map(json.loads, several.text.splitlines())
        assert [answer["right"] for answer in answers] == [True] * 3
        assert (await api("GET", "/v1/fusions/spam/items/a")).json()["right"]
        assert (await api("GET", "/v1/fusions/spam/history")).json()["points"]["linmax"][-1] == 0
        assert (await api.predict("e", ann=scores)).json()["prediction"] == label

    run(story, tmp_path)


def test_votes_that_are_classes_tell_what_the_keys_of_scores_mean(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        answer = await api.predict("a", ann=1, bob={"1": 0.9, "2": 0.1})
        assert answer.json()["prediction"] == 1

    run(story, tmp_path)


@pytest.mark.parametrize("large", [2**64, -(2**63) - 1, 10**29])
def test_classes_of_more_than_64_bits_are_refused(tmp_path: Path, large: int) -> None:
    async def story(api: Api) -> None:
        assert code(await api.create(classes=[1, large])) == (422, "bad_settings")
        assert code(await api.create(abstain=large)) == (422, "bad_settings")
        await api.create()
        await api.predict("waits", ann=2**64 - 1)
        await api.learn("taught", -(2**63), ann=1)
        before = api.service.database.last_position()
        for answer in (
            await api.predict("a", ann=large),
            await api.learn("b", large, ann=1),
            await api.learn("c", 1, ann=large),
            await api.learn("d", 1, ann={f"{large}": 1.0}),
            await api.label("waits", large),
            await api.label("taught", large, replaces=-(2**63)),
        ):
            assert answer.status_code == 422, answer.text
        assert (
            f"the class {large} has more than 64 bits" in (await api.label("waits", large)).json()["detail"]
        )
        lines = b'{"votes":{"ann":%d},"label":1}\n{"votes":{"ann":1},"label":1}' % large
        both = await api("POST", "/v1/fusions/spam/learn", content=lines, headers=NDJSON)
        assert ["error" in line for line in both.text.splitlines()] == [True, False]
        assert api.service.database.last_position() == before + 1
        assert (await api("GET", "/v1/fusions/spam/history")).status_code == 200
        await asyncio.to_thread(api.service.histories.store_at, await api.service.panels.open("spam"), before)

    run(story, tmp_path)


def test_an_item_with_empty_attributes_can_be_relabelled(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        body = {"id": "a", "votes": {"ann": "x"}, "attributes": {}, "label": "x"}
        assert (await api("POST", "/v1/fusions/spam/learn", body)).status_code == 200
        answer = await api.label("a", "y", replaces="x")
        assert answer.status_code == 200, answer.text

    run(story, tmp_path)


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
        repeated = await api.label("a", "y")
        assert repeated.json()["position"] == changed.json()["position"]
        assert (await api.label("a", "x", replaces="y", after=changed.json()["position"])).status_code == 200
        before = await api.describe()
        assert code(await api.label("a", "y", replaces="x", after=first)) == (409, "labelled_since")
        assert await api.describe() == before
        assert (await api.label("a", "y", replaces="x", after=before["position"])).status_code == 200

    run(story, tmp_path)


def test_equal_settings_may_be_written_differently(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        assert (await api.create(learner="Winnow(1.2)")).status_code == 201
        for given in ({"learner": "Winnow( alpha=1.2 )"}, {"learner": "Winnow(1.2)", "classes": []}):
            assert (await api.create(**given)).status_code == 200
        assert code(await api.create(learner="Winnow(1.3)")) == (409, "fusion_exists")

    run(story, tmp_path)


def test_a_wrong_choice_and_a_wrong_method_are_named(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        answer = await api.create(on_new_class="ignore")
        assert answer.json()["error"]["message"] == (
            "the request is not as expected: Invalid enum value 'ignore' - at `$.on_new_class`"
        )
        answer = await api("PUT", "/v1/fusions/-", {})
        assert answer.json()["error"]["message"].endswith("with a letter or digit first")
        assert (await api("PATCH", "/v1/fusions/spam/learn", {})).headers["allow"] == "POST"

    run(story, tmp_path)
