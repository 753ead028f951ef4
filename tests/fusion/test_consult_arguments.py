"""Arguments and answers of consultations that cannot be used are named."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from linmax import Fusion, Perceptron, WinnowSearch
from linmax.experts import Votes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"risk": 1.0}, "risk must be 0, or at least 1e-09 and below 1"),
        ({"risk": 1e-300}, "risk must be 0, or at least 1e-09"),
        ({"risk": "no"}, "risk must be 0"),
        ({"risk": 0.1, "confidence": 2.0}, "confidence must be"),
        ({"risk": 0.1, "confidence": 0.0}, "confidence must be above 0"),
        ({"prices": [1, 2]}, "prices must be"),
        ({"prices": {"a": 1}}, "no price of the expert 'b'"),
        ({"prices": {"a": 1, "b": -1}}, "the price of 'b' must be"),
        ({"prices": {"a": 1, "b": True}}, "the price of 'b' must be a number"),
        ({"prices": {"a": 1, "b": "3"}}, "the price of 'b' must be a number"),
        ({"prices": {"a": 1, "b": 1e308}}, r"from 0 to 1e\+12"),
        ({"score_range": 5}, "score_range must be"),
        ({"score_range": (1, 0)}, "score_range must be"),
        ({"experts": "ab"}, "experts= must be a list"),
        ({"experts": ["a", "a"]}, "each expert once"),
    ],
)
def test_errors_name_the_value_and_the_fix(options: dict[str, Any], message: str) -> None:
    fusion = Fusion(Perceptron(start="equal"), classes=["x", "y"])
    given = {"experts": ["a", "b"]} | options
    with pytest.raises(ValueError, match=message):
        fusion.consult(lambda _: "x", **given)
    with pytest.raises(ValueError, match=message):
        fusion.next_expert({}, **given)


def test_a_consultation_needs_experts_and_whole_batches() -> None:
    fusion = Fusion(Perceptron(), classes=["x", "y"])
    with pytest.raises(ValueError, match="batch must be a whole number"):
        fusion.consult(lambda _: "x", experts=["a", "b"], batch=0)
    with pytest.raises(ValueError, match="pass experts="):
        fusion.consult(lambda _: "x", experts=[])


def test_votes_of_one_item_are_a_dict() -> None:
    with pytest.raises(ValueError, match="as a dict"):
        Fusion(Perceptron(), classes=["x", "y"], experts=["a", "b"]).next_expert([1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ({"a": ["x"]}, "votes must be"),
        ({"a": {"x": float("nan")}}, "scores must be finite"),
        ({"a": {"x": "1"}}, "scores must be numbers"),
        ({"a": "z"}, "class 'z' is not among the classes"),
        ({"a": {"z": 1.0}}, "class 'z' is not among the classes"),
    ],
)
def test_answers_that_cannot_be_read_are_refused_at_once(votes: Any, message: str) -> None:
    fusion = Fusion(Perceptron(start="equal"), classes=["x", "y"], experts=["a", "b"], on_new_class="error")
    with pytest.raises(ValueError, match=message):
        fusion.next_expert(votes)
    asked = []

    def ask(expert: str) -> Any:
        asked.append(expert)
        return votes["a"]

    with pytest.raises(ValueError, match=message):
        fusion.consult(ask)
    assert len(asked) == 1


@pytest.mark.parametrize(("ask", "message"), [({"ann": "x"}, "; pass its method get$"), (7, r"\(got 7\)$")])
def test_what_asks_is_a_function(ask: Any, message: str) -> None:
    fusion = Fusion(classes=["x", "y"], experts=["ann", "bob"])
    with pytest.raises(ValueError, match="^ask must be a function from an expert to its vote .*" + message):
        fusion.consult(ask)
    with pytest.raises(ValueError, match=r"^ask must be a function"):
        asyncio.run(fusion.consult_async(ask))


def test_a_function_of_the_wrong_kind_is_named() -> None:
    fusion = Fusion(Perceptron(start="equal"), classes=["x", "y"], experts=["a", "b"])

    async def ask(expert: str) -> str:
        return "x"

    with pytest.raises(ValueError, match="ask is asynchronous; call await"):
        fusion.consult(ask)
    with pytest.raises(ValueError, match=r"needs an asynchronous ask \(got 'x' from it\); call consult"):
        asyncio.run(fusion.consult_async(lambda _: "x"))  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    "experts", [[["ann"]], [None], ["ann", {}], [("ann", ["bob"])]], ids=["list", "none", "dict", "tuple"]
)
def test_experts_that_are_no_names_are_refused_in_one_sentence(experts: Any) -> None:
    fusion = Fusion(Perceptron(start="equal"), classes=["a", "b"], experts=["ann", "bob"])
    with pytest.raises(ValueError, match="experts= must be a list of texts or numbers"):
        fusion.next_expert({}, experts=experts)
    with pytest.raises(ValueError, match="experts= must be a list of texts or numbers"):
        fusion.consult(dict.get, experts=experts)


def test_an_empty_list_of_experts_is_refused() -> None:
    fusion = Fusion(Perceptron(start="equal"), classes=["a", "b"], experts=["ann", "bob"])
    for call in (lambda: fusion.next_expert({}, experts=[]), lambda: fusion.consult(dict.get, experts=[])):
        with pytest.raises(ValueError, match="pass experts= with at least one"):
            call()
    assert Fusion(Perceptron()).next_expert({}) is None  # nobody is known yet


@pytest.mark.parametrize("price", [10**400, complex(1, 1), -1, "3"], ids=str)
def test_prices_that_are_no_numbers_in_range_are_refused(price: Any) -> None:
    fusion = Fusion(Perceptron(start="equal"), classes=["a", "b"], experts=["ann"])
    with pytest.raises(ValueError, match="the price of 'ann' must be a number from 0 to 1e\\+12"):
        fusion.next_expert({}, prices={"ann": price})


def test_a_new_session_without_classes_asks_the_experts_that_it_is_given() -> None:
    found = Fusion().consult({"ann": "a", "bob": "b"}.get, experts=["ann", "bob"])
    assert sorted(found.asked) == ["ann", "bob"]
    assert found.prediction in ("a", "b")


def test_if_an_asynchronous_expert_fails_the_others_of_the_batch_are_cancelled() -> None:
    ended: list[str] = []

    async def ask(expert: str) -> str:
        try:
            await asyncio.sleep(0.01 if expert == "b" else 60)
        finally:
            ended.append(expert)
        raise ConnectionError("no answer")

    async def consult() -> None:
        fusion = Fusion(Perceptron(start="equal"), experts=["a", "b", "c"], classes=["x", "y"])
        with pytest.raises(ConnectionError, match="no answer"):
            await fusion.consult_async(ask, batch=3)
        assert sorted(ended) == ["a", "b", "c"]  # now, and not when the loop is closed

    asyncio.run(consult())


@pytest.mark.filterwarnings("error")
def test_answers_that_were_not_awaited_yet_are_closed_if_another_cannot_be_asked() -> None:
    async def answer() -> str:
        return "x"

    def ask(expert: str) -> Any:
        if expert == "b":
            raise ConnectionError("no line")
        return answer()

    fusion = Fusion(Perceptron(start="equal"), experts=["a", "b"], classes=["x", "y"])
    with pytest.raises(ConnectionError, match="no line"):
        asyncio.run(fusion.consult_async(ask, batch=2))


def test_a_score_outside_of_the_range_is_told_from_a_range_that_is_missing() -> None:
    fusion = Fusion(Perceptron(start="equal").on(Votes()), experts=["a", "b"], classes=["x", "y"])
    fusion.exploration = 0
    found = fusion.consult(lambda expert: {"x": 5.0, "y": 0.0}, score_range=(0, 1))
    assert "a score is outside of score_range" in found.reason


@pytest.mark.parametrize("policy", ["add", "ignore"])
def test_another_policy_for_new_classes_is_suggested_only_where_it_may_help(policy: str) -> None:
    fusion = Fusion(WinnowSearch(), experts=["a", "b"], classes=["x", "y"], on_new_class=policy)
    fusion.exploration = 0
    reason = fusion.consult(lambda expert: "x").reason
    assert "no bound is known" in reason
    assert ("on_new_class" in reason) == (policy == "add")
