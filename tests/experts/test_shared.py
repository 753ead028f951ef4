"""Hypotheses that classes share: the mixing algorithm of 2006, its sets, its statistics and its numbers."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import linmax
from linmax import Averaged, Fusion, Perceptron, Recycled, Winnow, parse
from linmax._jit.compilation import interpreted
from linmax.experts import Attributes, Kernel, Linear, Shared, Source, Thresholds
from linmax.problems import disjoint, penguin, shared
from tests.oracles.sharing import ALL, EACH, METHODS, MixingOracle, three_methods

PROBLEMS = (shared, disjoint, penguin)
SOURCES: dict[str, Source] = {
    "multi": Attributes(),
    "single": Shared("product"),
    "hybrid": Shared("product") + Attributes(),
}
KINDS = {"even": (0, 2, 4), "low": (0, 1), "last": (4,)}  # 3 is in none


@linmax.register("larger_for_tests")
def larger(x: float, p: float) -> float:
    return max(x, p)


def whole(count: int, seed: int = 0, k: int = 5, n: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, zeros among them, whose label depends on them and on chance; 4 comes late."""
    rng = np.random.default_rng(seed)
    xs = rng.integers(-2, 3, (count, n)).astype(float)
    ys = (xs[:, 0] + 2 * xs[:, 1] + rng.integers(0, 2, count)).astype(int) % k
    ys[:10] = np.minimum(ys[:10], k - 2)
    return xs, ys


def weights_of(oracle: MixingOracle, names: dict[Any, Any]) -> Iterator[tuple[Any, float]]:
    """What the oracle has learned, by the names of the library."""
    for (source, members), w in oracle.weights.items():
        for a, value in enumerate(w):
            yield names[source](members, a), float(value)


def assert_mixing(source: Source, slow: Any, names: Any, xs: Any, ys: Any) -> None:
    fusion, oracle = Fusion(Perceptron().on(source)), MixingOracle(slow, exact=True)
    guesses = fusion.learn(attributes=xs, labels=ys).guesses.tolist()
    assert guesses == oracle.run(xs.tolist(), ys.tolist())
    assert (fusion.mistakes, fusion.novel) == (oracle.mistakes, oracle.novel)
    assert oracle.mistakes > 20
    weights = {(key[0].split(" ")[0], *key[1:]): w for key, w in fusion.weights.items() if w}
    assert weights == {key: w for key, w in weights_of(oracle, names) if w}


# --- the mixing algorithm

PRODUCT = (ALL, "product"), lambda members, a: ("product", a)
OWN = (EACH, "plain"), lambda members, a: ("attribute", a, next(iter(members)))
SLOW = {"multi": [OWN], "single": [PRODUCT], "hybrid": [PRODUCT, OWN]}


@pytest.mark.parametrize("method", METHODS)
def test_single_multi_and_hybrid_are_the_mixing_algorithm(method: str) -> None:
    """Whole numbers: the same guesses and the same weights, to the bit."""
    for make in PROBLEMS:
        slow, names = zip(*SLOW[method], strict=True)
        assert_mixing(SOURCES[method], list(slow), dict(enumerate(names)), *make(150, seed=5))


@pytest.mark.parametrize("map_", ["plain", "product", "larger_for_tests"])
def test_general_mixing_is_the_mixing_algorithm(map_: str) -> None:
    sets = {frozenset(members): name for name, members in KINDS.items()}
    slow = (larger, "first") if map_ == "larger_for_tests" else map_
    names = {0: lambda members, a: (map_, sets[members], a), 1: OWN[1]}
    with interpreted():
        assert_mixing(
            Shared(map_, sets=KINDS, statistic="first") + Attributes(),
            [([set(members) for members in KINDS.values()], slow), (EACH, "plain")], names, *whole(80),
        )  # fmt: skip


@functools.cache
def tables() -> list[Any]:
    return [make(8000, seed=0) for make in PROBLEMS]


@functools.cache
def mistakes_of_the_oracle() -> dict[str, Any]:
    return three_methods([table.attributes for table in tables()], [table.labels for table in tables()])


@pytest.mark.parametrize("method", ["multi", "single", pytest.param("hybrid", marks=pytest.mark.slow)])
def test_the_three_problems_cost_as_many_mistakes_as_they_should(method: str) -> None:
    """Means and deviations over many seeds; here is one, which is also the oracle's to the trial."""
    expected = {
        "shared": {"multi": (945, 14), "single": (63, 4), "hybrid": (118, 3)},
        "disjoint": {"multi": (881, 15), "single": (7291, 29), "hybrid": (1470, 25)},
        "penguin": {"multi": (1090, 13), "single": (1679, 60), "hybrid": (537, 12)},
    }
    for i, (make, table) in enumerate(zip(PROBLEMS, tables(), strict=True)):
        mean, deviation = expected[make.__name__][method]
        run = Fusion(Perceptron().on(SOURCES[method])).learn(**table._asdict())
        where = f"{make.__name__}, {method}: {run.mistakes}"
        assert abs(run.mistakes - mean) <= 4 * deviation, where
        assert (run.wrong == mistakes_of_the_oracle()[method][i]).all(), where


# --- sets


def learned(source: Source, xs: Any, ys: Any, wrap: Any = Averaged) -> Fusion:
    fusion = Fusion(wrap(Perceptron()).on(source))
    fusion.learn(attributes=xs, labels=ys)
    return fusion


def test_sets_are_a_dict_or_a_hierarchy_of_which_each_level_is_a_set() -> None:
    tree = {"animals": {"birds": {"owls": (0,), "others": (1, 2)}, "fish": (3,)}}
    flat = {"animals": (0, 1, 2, 3), "birds": (0, 1, 2), "owls": (0,), "others": (1, 2), "fish": (3,)}
    assert Shared("product", sets=tree) == Shared("product", sets=flat)
    assert repr(Shared("product", sets=tree)) == f"Shared('product', sets={flat})"
    assert Kernel(map="difference", sets=tree) == Kernel(map="difference", sets=flat)
    assert (
        Shared(sets={"a": [0, 1]}) == Shared(sets={"a": (0, 1)}) == Shared(sets={"a": np.arange(2).tolist()})
    )
    with interpreted():
        one, other = (learned(Shared("distance", sets=sets), *whole(40)) for sets in (tree, flat))
    assert one.weights == other.weights


def test_a_class_in_no_set_gets_nothing() -> None:
    with interpreted():
        fusion = learned(Shared("product", sets={"some": (0, 1, 2, 4)}), *whole(60))
        scores = fusion.scores(attributes=whole(20, seed=1)[0])
    none = fusion.classes.index(3)
    assert not scores[:, none].any()
    assert np.delete(scores, none, axis=1).any()


def test_sets_know_true_from_one_and_texts_from_numbers() -> None:
    with interpreted():
        fusion = learned(Shared("product", sets={"s": ("0", "1", True)}), *whole(30))
    assert not any(fusion.weights.values())


def test_a_set_of_all_classes_is_no_sets_and_sets_of_one_are_a_vector_each() -> None:
    xs, ys = whole(100)
    each = {f"class {c}": (c,) for c in range(5)}
    with interpreted():
        for wrap in (Averaged, lambda rule: rule):
            one, other = (learned(it, xs, ys, wrap) for it in (Shared("plain", sets=each), Attributes()))
            assert one.mistakes == other.mistakes > 20
            named = {("attribute", a, int(s[6:])): w for (_, s, a), w in one.weights.items()}
            assert named == other.weights
        one, other = (learned(it, xs, ys) for it in (Shared(sets={"s": range_of(5)}), Shared()))
    assert {("product", key[2]): w for key, w in one.weights.items()} == other.weights


def range_of(k: int) -> tuple[int, ...]:
    return tuple(range(k))


# --- statistics


@pytest.mark.parametrize("statistic", ["first", "mean"])
def test_a_portrait_takes_in_every_instance_right_wrong_and_novel(statistic: str) -> None:
    xs, ys = whole(60)
    fusion = Fusion(Perceptron().on(Shared("difference", statistic=statistic)))
    with interpreted():
        wrong = fusion.learn(attributes=xs, labels=ys).wrong
    assert 5 < wrong.sum() < 55
    memory = fusion.runner.sources[0].memories[0]
    for code, label in enumerate(fusion.classes):
        mine = xs[ys == label]
        assert memory.seen[code] == len(mine)
        told = mine[0] if statistic == "first" else mine.sum(axis=0)
        assert memory.total[: xs.shape[1], code].tolist() == told.tolist()


def test_what_is_only_guessed_is_not_remembered() -> None:
    with interpreted():
        fusion = learned(Shared("distance"), *whole(20))
        before = fusion.state()
        fusion.predict(attributes=whole(9, seed=3)[0])
        fusion.learn(attributes=whole(3, seed=3)[0], labels=[None] * 3)
    assert all(np.array_equal(before[name], array) for name, array in fusion.state().items())


# --- names and manners


def test_sources_print_and_parse_with_sets_statistics_and_registered_maps() -> None:
    for source in (
        Shared("distance", sets={"it's": ("a", 'b"'), "x": ("c",)}),
        Shared("product", statistic="mean"),
        Shared("larger_for_tests", sets={"s": (1, -2)}, statistic="first") + Thresholds(),
    ):
        learner = Averaged(Recycled(Winnow(1.2), size=3)).on(source)
        assert parse(repr(source)) == source
        assert parse(repr(learner)) == learner
        assert hash(parse(repr(source))) == hash(source)


def test_a_function_is_the_map_of_its_name() -> None:
    """A file holds the name, so the name must mean the same: its statistic, too."""
    from linmax.kernels.forms.shared import product

    for given, name in ((larger, "larger_for_tests"), (product, "product")):
        assert repr(Shared(given)) == f"Shared({name!r})"
        assert Shared(given).new_memory().first == Shared(name).new_memory().first


def test_sub_experts_of_different_sources_have_different_names() -> None:
    xs, ys = whole(30)
    for source in (
        Shared("product") + Shared("product", statistic="mean"),
        Shared("product") + Shared("product", sets={"product": (0, 1)}),
    ):
        with interpreted():
            fusion = learned(source, xs, ys)
        assert len(fusion.weights) == 8, f"two of {source!r} go by the same name"
    with pytest.raises(ValueError, match="would both be called 'product in sets'"):
        Shared("product", sets={"s": (0, 1)}) + Shared("product", sets={"s": (2, 3)})
    with pytest.raises(ValueError, match=r"would both be called 'Linear\(\) of plain'"):
        Kernel(Linear()) + Kernel(Linear(), budget=5)


def test_a_lambda_works_but_cannot_be_saved(tmp_path: Any) -> None:
    fusion = Fusion(Perceptron().on(Shared(lambda x, p: x * p, statistic="first")))
    with interpreted():
        fusion.learn(attributes=whole(40)[0], labels=whole(40)[1])
        assert fusion.mistakes == learned(Shared(), *whole(40), wrap=lambda rule: rule).mistakes
    with pytest.raises(ValueError, match=r"cannot be saved; give what it uses a name with @linmax.register"):
        fusion.save(tmp_path / "m")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"map": "no such map"}, "there is no map 'no such map'"),
        ({"map": "Winnow"}, "there is no map 'Winnow'"),
        ({"map": 5}, "name of a map"),
        ({"map": lambda x, p: 1.0}, "0 at"),
        ({"map": lambda x, p: 1 / p}, "division"),
        ({"map": lambda x: x}, "two numbers"),
        ({"statistic": "median"}, "statistic"),
        ({"sets": {}}, "sets"),
        ({"sets": ["a"]}, "sets"),
        ({"sets": {"s": "abc"}}, "'s'"),
        ({"sets": {"s": ()}}, "'s'"),
        ({"sets": {1: ("a",)}}, "names"),
        ({"sets": {"s": ("a", "a")}}, "twice"),
        ({"sets": {"s": {"s": ("a",)}}}, "two sets called 's'"),
        ({"sets": {"s": (1.5,)}}, "'s'"),
        ({"sets": {"": ("a",)}}, "name"),
    ],
)
def test_nonsense_is_refused_in_a_sentence_that_names_it(options: dict[str, Any], why: str) -> None:
    for make in (Shared, Kernel) if "statistic" not in options else (Shared,):
        with pytest.raises(ValueError, match=why) as caught:
            make(**options)
        assert "\n" not in str(caught.value)
