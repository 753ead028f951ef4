"""Parameters: refused with their value when out of range; options have names."""

import inspect
import pickle
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import linmax
from linmax import Averaged, Fusion, Logistic, Perceptron, Recycled, Winnow
from linmax.cli import app
from linmax.experts import Attributes, Pairs, Split, Votes
from linmax.problems import majority
from linmax.spec import Learner, registered

VOTES, LABELS = majority(200, noise=0.1)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Fusion("Winow(1.2)"), "did you mean 'Winnow'"),
        (lambda: Fusion(3), "needs a learner"),
        (lambda: Fusion(on_new_class="maybe"), "on_new_class"),
        (lambda: Fusion(on_new_class="error"), "pass classes="),
        (lambda: Fusion(classes=["a", "a"]), "named twice"),
        (lambda: Fusion(classes=["a", 1]), "one kind"),
        (lambda: Fusion(experts=["x", "x"]), "named twice"),
        (lambda: Winnow(0.9), r"Winnow requires alpha > 1 \(got 0.9\)"),
        (lambda: Winnow("2"), "alpha"),
        (lambda: Winnow(1.2, slack=-1), "slack >= 0"),
        (lambda: Perceptron(rivals="all"), "rivals"),
        (lambda: Perceptron(start="high"), "start"),
        (lambda: linmax.Cycle(0), "rounds >= 1"),
        (lambda: linmax.Romma(aggressive=2.0), "aggressive"),
        (lambda: linmax.AdaptiveWinnow(0.0), "0 < rate <= 10"),
        (lambda: linmax.AdaptiveWinnow(11.0), "typical values are 0.5 to 1.5"),
        (lambda: linmax.Alma(1.5), "2 <= p"),
        (lambda: linmax.Alma(2, alpha=0.0), "alpha"),
        (lambda: linmax.PNorm(float("nan")), "2 <= p"),
        (lambda: linmax.PassiveAggressive(0), "C > 0"),
        (lambda: linmax.PassiveAggressive(1, kind="PA-3"), "kind"),
        (lambda: Logistic(-1), "eta > 0"),
        (lambda: Logistic(rivals=linmax.Cycle()), "would never end"),
        (lambda: linmax.QuasiAdditive("nothing"), "no link"),
        (lambda: linmax.QuasiAdditive(lambda theta: theta + 1), "odd"),
        (lambda: Recycled(Winnow(1.2), size=0), "size"),
        (lambda: Recycled(Winnow(1.2), updates=0), "updates"),
        (lambda: Averaged(Averaged(Winnow(1.2))), "once is enough"),
        (lambda: Averaged(3), "a learner inside"),
        (lambda: Votes(as_="loud"), "as_"),
        (lambda: Pairs(memory=0), "memory"),
        (lambda: Votes() + Votes(), "twice"),
        (lambda: Split(classes="spam"), "tuple"),
        (lambda: linmax.register("not a name"), "identifier"),
        (lambda: linmax.register("class"), "identifier"),
        (lambda: linmax.register("five")(5), "class or a function"),
        (lambda: Winnow(10**400), "alpha > 1"),
        (lambda: Winnow.from_eta(1e9), "eta"),
        (lambda: Perceptron(slack=10**400), "slack"),
        (lambda: Perceptron(ties=2), "ties"),
        (lambda: linmax.Romma(rivals="softmax"), "one rival"),
        (lambda: linmax.QuasiAdditive(np.sinh), "plain Python function"),
        (lambda: linmax.QuasiAdditive(lambda a, b: a), "a number to a number"),
        (lambda: Split(classes=()), "tuple of classes"),
        (lambda: Split(classes=("a", "a")), "each class once"),
        (lambda: Attributes(complement="x"), "complement"),
        (lambda: Fusion(seed="x"), "seed"),
        (lambda: Fusion(classes=5), "classes"),
        (lambda: Fusion(abstain=[1]), "abstain"),
        (lambda: Fusion(""), "not a learner"),
        (lambda: linmax.parse("Winnow"), r"brackets: write Winnow\(\)"),
        (lambda: linmax.parse("Winnow(alpha=1.2, alpha=1.3)"), "twice"),
        (lambda: linmax.parse("\ud800"), "not a learner"),
        (lambda: linmax.parse(5), "as text"),
        (lambda: setattr(Fusion().tickets, "limit", -1), "limit"),
    ],
)
def test_a_parameter_out_of_range_is_named_with_its_value(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


LEARNERS = [
    thing for thing in registered().values() if isinstance(thing, type) and issubclass(thing, Learner)
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.__name__)
def test_all_parameters_but_the_main_one_are_keyword_only(learner: Any) -> None:
    parameters = inspect.signature(learner).parameters.values()
    assert sum(one.kind is not one.KEYWORD_ONLY for one in parameters) <= 1


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Alma(2.5, 1.0)", linmax.Alma(2.5)),
        ("Alma(2.5, 0.9)", linmax.Alma(2.5, alpha=0.9)),
        ("PassiveAggressive(0.5, 'PA-I')", linmax.PassiveAggressive(0.5)),
        (
            "PassiveAggressive(0.5, 'PA-II', start='equal')",
            linmax.PassiveAggressive(0.5, kind="PA-II", start="equal"),
        ),
    ],
)
def test_texts_of_earlier_versions_may_give_options_by_position(text: str, rule: Any) -> None:
    assert linmax.parse(text) == rule == linmax.parse(repr(rule))


@pytest.mark.parametrize("source", [3, "Votes()", Winnow(1.2), Votes, [Votes(), Split()]], ids=repr)
@pytest.mark.parametrize(
    "learner",
    [
        Winnow(1.2),
        Averaged(Recycled(Winnow(1.2))),
        linmax.Mixture([Winnow(1.2), Perceptron()]),
        linmax.NaiveBayes(),
        linmax.WeightedMajority(),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_a_learner_is_put_on_a_source_only(learner: Any, source: Any) -> None:
    with pytest.raises(ValueError, match=r"requires a source in \.on\(\.\.\.\), such as Votes\(\) .*\(got"):
        learner.on(source)


@pytest.mark.parametrize(
    "text", ["Winnow(1.2).on(3)", "Winnow(1.2).on(Winnow(1.2))", "Winnow(1.2, experts=3)"]
)
def test_a_text_with_a_wrong_source_is_refused_when_it_is_parsed(text: str) -> None:
    with pytest.raises(ValueError, match="requires a source"):
        linmax.parse(text)


def test_equal_learners_have_equal_hashes_and_a_pickle_has_none() -> None:
    """Text hashes differently in another process, so a stored hash would be wrong there."""
    one, other = linmax.recommended(), linmax.parse(repr(linmax.recommended()))
    assert (one, hash(one)) == (other, hash(other))
    assert hash(one) != hash(one.on(Votes()))
    assert "_hash" in vars(one)
    assert "_hash" not in vars(pickle.loads(pickle.dumps(one)))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "an empty text is not a learner; write it like Averaged(Winnow(1.2))"),
        (" \n", "an empty text is not a learner; write it like Averaged(Winnow(1.2))"),
        ("WINNOW(1.2)", "there is no 'WINNOW'; did you mean 'Winnow'?"),
        ("Averaged(PNORM)", "there is no 'PNORM'; did you mean 'PNorm'?"),
        ("Winnow(**{})", "** does not belong in a learner (got Winnow(**{})); write name=value"),
        ("Recycled()", "Recycled requires inner; write Recycled(inner, ...)"),
        ("Winnow(1, 3)", "Winnow takes only alpha by position (got 2); name the others: slack, rivals, ties"),
        ("Averaged(Winnow(), 3)", "Averaged takes only inner by position (got 2)"),
        (
            "recommended(3)",
            "recommended takes no parameter by position (got 1);"
            " name the others: votes, attributes, readings",
        ),
        ("Winnow(1.2, alpha=2)", "Winnow is given alpha twice, by position and by name"),
        ("Alma(2.0, 0.5, alpha=0.5)", "Alma is given alpha twice, by position and by name"),
        ("Winnow().on()", ".on(...) takes one source, such as Votes() + PerClass() (got Winnow().on())"),
        ("Votes().on(Votes())", "Votes() is not a learner, so it has no .on(...)"),
        ("{[1]: 2}", "{[1]: 2} does not belong in a learner; write it like Averaged(Winnow(1.2))"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_learner_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        linmax.parse(text)


@pytest.mark.parametrize("text", ["Winnow().on(3)", "Winnow().on(Winnow())", "WINNOW(1.2)"])
def test_the_command_line_exits_with_2_on_a_text_that_is_no_learner(text: str, tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("ann,bob,label\na,b,a\nb,b,b\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["fuse", str(votes), "--learner", text])
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output


def test_a_long_text_parses_back_unless_it_is_beyond_the_limit() -> None:
    learner = linmax.Mixture([Winnow(1.0 + i / 2048) for i in range(1, 2048)])
    assert len(repr(learner)) > 40_000
    assert linmax.parse(repr(learner)) == learner
    with pytest.raises(ValueError, match=r"at most 1,000,000 characters \(got 1,000,001\)"):
        linmax.parse("x" * 1_000_001)
    with pytest.raises(ValueError, match=r"with presets has at most 20,000 characters \(got 2"):
        linmax.parse(f"Mixture([{'recommended(), ' * 1500}])")


def test_a_sum_of_many_sources_is_parsed_in_linear_time() -> None:
    text = " + ".join(f"Split(classes=({i},))" for i in range(600))
    begin = time.process_time()
    assert len(linmax.parse(text).parts) == 600
    assert time.process_time() - begin < 3.0  # with a comparison of all pairs at each sign: 9 s
