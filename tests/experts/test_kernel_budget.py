"""Kernels with a budget, what they refuse, who may combine them, and files that were tampered with."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save as bytes_of

from linmax import (
    Averaged,
    Combine,
    Cycle,
    Fusion,
    Logistic,
    Mixture,
    Perceptron,
    Recycled,
    Voted,
    WeightedMajority,
    Winnow,
    load,
    parse,
)
from linmax._jit.compilation import interpreted
from linmax.experts import (
    Gaussian,
    Kernel,
    Linear,
    Polynomial,
    Shared,
    Source,
    Thresholds,
    Votes,
    support_vectors,
)
from linmax.fusion.model_file import digest
from tests.experts.test_kernel import KINDS, cells, follow, memories, stream
from tests.helpers.covering import every_pair
from tests.helpers.sessions import different, same, unpack
from tests.oracles.kernels import Dual
from tests.oracles.sharing import ALL, EACH

GROUPS = [set(those) for those in KINDS.values()]
LIMITED: dict[str, tuple[Source, list[Any]]] = {
    "multi": (Kernel(Polynomial(2, 1.0), budget=4), [(EACH, "plain", ("polynomial", 2, 1.0))]),
    "single": (Kernel(Gaussian(0.5), "difference", budget=4), [(ALL, "difference", ("gaussian", 0.5))]),
    "sets": (Kernel(Linear(), "distance", sets=KINDS, budget=4), [(GROUPS, "distance", "linear")]),
}


def dropping(source: Any, drop: str) -> Any:
    import dataclasses

    return dataclasses.replace(source, drop=drop)


@every_pair(case=LIMITED, drop=["oldest", "smallest"], technique=["plain", "averaged", "recycled"], ids=str)
def test_a_budget_is_the_oracles(case: str, drop: str, technique: str) -> None:
    source, slow = LIMITED[case]
    wrap, options = {
        "plain": (lambda rule: rule, {}),
        "averaged": (Averaged, {"averaged": True}),
        "recycled": (lambda rule: Recycled(rule, size=3, updates=2), {"recycled": (3, 2)}),
    }[technique]
    dual = Dual(slow, budget=4, drop=drop, **options)
    with interpreted():
        fusion, dual = follow(wrap(Perceptron()).on(dropping(source, drop)), dual, stream(30, 2), least=8)
    assert max(dual.born) > 4  # some were dropped
    assert memories(fusion)[0].count <= 4


def test_there_is_room_for_all_supports_that_recycling_can_bring() -> None:
    """One by one, where a single trial may move on all it keeps, again and again."""
    rng = np.random.default_rng(0)
    for source, size, updates, k in (
        (Kernel(Gaussian(1.0), budget=1), 3, 20, 12),
        (Kernel(Gaussian(1.0), "difference", budget=2), 4, 9, 12),
        (Kernel(Gaussian(1000.0), "difference"), 1, 20, 22),
    ):
        xs = rng.normal(size=(k + 8, 2))
        ys = [*reversed(range(k)), *rng.integers(0, k, 8).tolist()]
        with interpreted():
            learner = Recycled(Perceptron(), size=size, updates=updates).on(source)
            whole, ones = Fusion(learner, classes=range(k)), Fusion(learner, classes=range(k))
            whole.learn(attributes=xs, labels=ys)
            for x, y in zip(xs, ys, strict=True):
                ones.learn(attributes=x[None], labels=[y])
        assert same(whole, ones), different(whole, ones)
        count = memories(ones)[0].count
        assert count == source.budget if source.budget else count > 20


def test_what_is_dropped_makes_room_also_between_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """More trials than are run at a time; never more supports than the budget at the end."""
    monkeypatch.setattr(support_vectors, "MAX_CHUNK", 64)
    rng = np.random.default_rng(1)
    xs, ys = rng.normal(size=(150, 2)), rng.integers(0, 3, 150)
    learner = Averaged(Perceptron()).on(Kernel(Gaussian(0.5), "difference", budget=7, drop="smallest"))
    with interpreted():
        whole, pieces = Fusion(learner), Fusion(learner)
        whole.learn(attributes=xs, labels=ys)
        for begin in range(0, 150, 29):
            pieces.learn(attributes=xs[begin : begin + 29], labels=ys[begin : begin + 29])
            assert memories(pieces)[0].count <= 7
    assert same(whole, pieces), different(whole, pieces)
    assert memories(whole)[0].count == 7
    assert len(memories(whole)[0].supports.norm) <= 256  # the room does not follow the trials


# --- names and refusals


def test_kernels_print_and_parse() -> None:
    for source in (
        Kernel(),
        Kernel(Gaussian(0.07), "difference", sets={"s": ("a", "b")}, budget=10, drop="smallest"),
        Kernel(Polynomial(3, 0.5), "product") + Kernel(Linear()) + Thresholds(),
        Kernel("cauchy_for_tests", "distance"),
    ):
        assert parse(repr(source)) == source
        learner = Averaged(Recycled(Perceptron(), size=3)).on(source)
        assert parse(repr(learner)) == learner


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"kernel": "no such"}, "function of two vectors"),
        ({"kernel": 0.5}, "function of two vectors"),
        ({"kernel": "product"}, "two vectors|compiled"),
        ({"budget": 0}, "budget"),
        ({"budget": True}, "budget"),
        ({"budget": 2.0}, "budget"),
        ({"drop": "newest"}, "drop"),
    ],
)
def test_nonsense_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        Kernel(**options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "make", [lambda: Gaussian(0.0), lambda: Gaussian(float("nan")), lambda: Gaussian(True)]
)
def test_a_width_is_positive(make: Any) -> None:
    with pytest.raises(ValueError, match="sigma"):
        make()


def test_only_a_perceptron_learns_on_a_kernel() -> None:
    source = Votes() + Kernel(Gaussian(1.0))
    for make in (
        lambda: Winnow(1.2).on(source),
        lambda: Averaged(Logistic(0.1)).on(source),
        lambda: Winnow(1.2, experts=source),
        lambda: parse(f"Winnow(1.2).on({source!r})"),
    ):
        with pytest.raises(ValueError, match=r"only Perceptron can learn on a Kernel \(got"):
            make()
    with pytest.raises(ValueError, match="rivals"):
        Perceptron(rivals=Cycle(2)).on(source)
    with pytest.raises(ValueError, match="limit on updates"):
        Fusion(Recycled(Perceptron(), size=5, updates=None).on(Kernel(budget=5)))


BANK = [
    Perceptron().on(Kernel(Gaussian(0.5), "difference")),
    Averaged(Perceptron()).on(Kernel(Gaussian(0.5))),
]


def test_hypotheses_on_kernels_are_not_saved_by_voters() -> None:
    for learner in (Combine(BANK), Voted(BANK[0]), Combine([*BANK, Perceptron().on(Shared())])):
        with pytest.raises(ValueError, match="WeightedMajority and Mixture") as caught:
            Fusion(learner)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [WeightedMajority, Mixture])
def test_majorities_take_kernels(kind: Any, tmp_path: Path) -> None:
    items = list(stream(30, 8))
    with interpreted():
        whole, part = (Fusion(kind(BANK), classes="abcd") for _ in range(2))
        whole.learn(attributes=[cells(x) for x, _ in items], labels=[y for _, y in items])
        for t, (x, y) in enumerate(items):
            part.learn_one(None, y, attributes=cells(x))
            if t == 11:
                part.save(tmp_path / "m")
                part = load(tmp_path / "m")
    assert same(whole, part)
    assert 0 < whole.mistakes < 30


def test_a_lambda_works_but_cannot_be_saved(tmp_path: Path) -> None:
    fusion = Fusion(Perceptron().on(Kernel(lambda u, v: 1.0 / (1.0 + abs(u[0] - v[0])))))
    with interpreted():
        for x, y in stream(10):
            fusion.learn_one(None, y, attributes=cells(x))
    with pytest.raises(ValueError, match="cannot be saved"):
        fusion.save(tmp_path / "m")


def test_a_kernel_that_counts_attributes_is_refused() -> None:
    """There is room for attributes to come, all zeros: what they are is nobody's business but ours."""
    for counting in (lambda u, v: float(len(u)), lambda u, v: u[0] * v[0] / len(u)):
        with pytest.raises(ValueError, match="Kernel"):
            Kernel(counting)


def test_supports_of_two_kernels_have_different_names() -> None:
    source = Kernel(Gaussian(0.5), "difference") + Kernel(Polynomial(2, 1.0), "difference")
    with interpreted():
        fusion = Fusion(Perceptron().on(source))
        for x, y in stream(20):
            fusion.learn_one(None, y, attributes=cells(x))
    assert len(fusion.weights) == sum(memory.count for memory in memories(fusion))


@pytest.mark.parametrize("source", [Kernel(Gaussian(0.5)) + Kernel(Gaussian(0.5), "difference"), Kernel(
    Polynomial(2, 1.0), "distance", sets=KINDS, budget=5)], ids=["hybrid", "sets"])  # fmt: skip
def test_contributions_add_up_to_the_scores(source: Source) -> None:
    items = list(stream(30, 9))
    with interpreted():
        fusion = Fusion(Averaged(Perceptron()).on(source))
        for x, y in items:
            fusion.learn_one(None, y, attributes=cells(x))
        for x, _ in items[:5]:
            told = fusion.explain_one(attributes=cells(x), new_experts="vote")
            scores = fusion.scores(attributes=[cells(x)], new_experts="vote")[0]
            assert np.allclose(list(told.scores.values()), scores, rtol=1e-9, atol=1e-12)
            for label, score in told.scores.items():
                parts = [row.get(label, 0.0) for row in told.contributions.values()]
                assert np.isclose(sum(parts), score, rtol=1e-9, atol=1e-12)
    assert any(told.scores.values())


# --- files and checks


@pytest.mark.parametrize("name", ["z", "alpha", "norm", "length", "born", "numbers", "total", "seen"])
def test_a_doctored_file_is_refused(name: str, tmp_path: Path) -> None:
    items = list(stream(20))
    with interpreted():
        fusion = Fusion(Perceptron().on(Kernel(Gaussian(0.5), "difference", budget=9)))
        fusion.learn(attributes=[cells(x) for x, _ in items], labels=[y for _, y in items])
    fusion.save(tmp_path / "m")
    facts, arrays = unpack((tmp_path / "m").read_bytes())
    good = arrays[f"memory.0.{name}"]
    bad = np.full_like(good, np.nan) if good.dtype == np.float64 else good - 10**6
    for array in (good[:-1], np.repeat(good, 2, axis=0), good.reshape(-1)[:0], bad, good.astype(np.float32)):
        doctored = {**arrays, f"memory.0.{name}": np.ascontiguousarray(array)}
        facts["digest"] = digest(doctored, facts)
        (tmp_path / "m").write_bytes(bytes_of(doctored, metadata={"linmax": json.dumps(facts)}))
        with pytest.raises(ValueError, match="cannot be loaded") as caught:
            load(tmp_path / "m")
        assert "\n" not in str(caught.value)


def test_many_updates_of_recycled_instances_take_smaller_chunks_not_more_room() -> None:
    xs, ys = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 4
    learner = Recycled(Perceptron(), size=100, updates=100_000).on(Kernel(Gaussian(1.0), "difference"))
    with interpreted():
        fusion = Fusion(learner)
        fusion.learn(attributes=xs, labels=ys)
    (memory,) = fusion.runner.sources[0].stateful
    assert memory.chunk_size(4) < 256
    assert memory.supports.z.shape[1] <= 1 << 15
