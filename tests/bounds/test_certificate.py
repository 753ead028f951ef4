"""Certificates of runs: true ones pass a check without linmax, and changed ones do not."""

from __future__ import annotations

import csv
import functools
import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax import (
    AdaptiveWinnow,
    Alma,
    Averaged,
    BalancedWinnow,
    Cycle,
    Logistic,
    NaiveBayes,
    PassiveAggressive,
    Perceptron,
    PNorm,
    QuasiAdditive,
    Recycled,
    Romma,
    Winnow,
    recommended,
    vr_combine,
)
from linmax.bounds import certify, check_certificate
from linmax.bounds.certificate import Certificate, why_not
from linmax.bounds.check_certificate import PARAMETERS, check
from linmax.experts import PerClass, Thresholds, Votes
from linmax.problems import adversary, majority
from linmax.rules import Rule
from tests.helpers.committees import COMMITTEES
from tests.helpers.examples import rarely_compiled

NOISY = [
    Perceptron(),
    PNorm(4.5),
    Winnow(1.1),
    BalancedWinnow(1.1),
    AdaptiveWinnow(),
]
WITHOUT = [
    Logistic(),
    QuasiAdditive("identity"),
    Averaged(Winnow(1.1)),
    Recycled(Winnow(1.1)),
    NaiveBayes(),
    recommended(),
    vr_combine(),
    *COMMITTEES.values(),
]
SEPARABLE = [*NOISY, Romma(), Alma(2), Alma(5), Winnow(1.1).on(Votes())]


def written(path: Path, votes: Any, labels: Any, silence: float = 0.0) -> Path:
    """A CSV file of votes with names of classes, in which some cells of irrelevant experts are empty."""
    rng = np.random.default_rng(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow([*(f"e{i}" for i in range(votes.shape[1])), "truth"])
        for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
            quiet = rng.random(len(row)) < silence
            cells = ["" if quiet[i] and i > 2 else "abcdef"[vote] for i, vote in enumerate(row)]
            table.writerow([*cells, "abcdef"[label]])
    return path


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = majority(300, relevant=3, experts=6, classes=3, noise=0.05)
    return written(tmp_path_factory.mktemp("noisy") / "votes.csv", *data, silence=0.2)


@pytest.fixture(scope="module")
def certified(noisy: Path) -> Callable[[Rule], Certificate]:
    """The certificate of a rule on the noisy votes."""
    return functools.cache(lambda rule: certify(rule, noisy, "truth"))


@pytest.fixture(scope="module")
def certificate(certified: Callable[[Rule], Certificate]) -> dict[str, Any]:
    return asdict(certified(Winnow(1.1)))


@pytest.mark.parametrize("rule", NOISY, ids=repr)
def test_a_run_with_noise_is_certified(
    rule: Rule, noisy: Path, certified: Callable[[Rule], Certificate]
) -> None:
    found = certified(rule)
    assert found.noise > 0
    assert 0 < len(found.mistakes) <= found.bound
    assert found.trivial == (found.bound >= 300)
    assert check(json.loads(json.dumps(asdict(found))), str(noisy))


@pytest.mark.parametrize("rule", SEPARABLE, ids=repr)
def test_a_run_without_noise_is_certified(rule: Rule, tmp_path: Path) -> None:
    votes, labels = majority(100, relevant=3, experts=6, classes=2, noise=0.0)
    with rarely_compiled() if rule.experts == Votes() else nullcontext():
        found = certify(rule, written(tmp_path / "votes.csv", votes, labels), "truth", C=100)
    assert 0 < len(found.mistakes) <= found.bound < math.inf


@pytest.mark.parametrize(
    "rule", [Perceptron(), PNorm(4), Winnow(1.2), BalancedWinnow(1.2), AdaptiveWinnow()], ids=repr
)
def test_a_run_with_a_mistake_on_every_adversarial_item_is_certified(rule: Rule, tmp_path: Path) -> None:
    rule = rule.on(Votes())
    votes, labels = adversary(rule, 1000, experts=12)
    file = written(
        tmp_path / "votes.csv",
        np.vstack((np.zeros((1, 12), dtype=int), votes)),  # the adversary assumes that ties go to class 0
        np.append(0, labels),
    )
    with rarely_compiled():
        found = certify(rule, file, "truth", C=100)
    assert len(found.mistakes) == len(labels)
    assert len(labels) <= found.bound * (1 + 1e-9)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("margin", lambda delta: delta * 1.001, "noise"),
        ("margin", math.nan, "malformed"),
        ("margin", -0.1, "malformed"),
        ("noise", lambda noise: noise * 0.999, "noise"),
        ("noise", math.nan, "noise"),
        ("bound", lambda bound: bound - 0.01, "the bound is"),
        ("bound", lambda bound: bound + 0.01, "the bound is"),
        ("bound", math.nan, "the bound is"),
        ("comparator", lambda u: [*u[1:], u[0]], "noise|bound"),
        ("comparator", lambda u: [0.9 * one if one == max(u) else one for one in u], "noise|bound"),
        ("comparator", lambda u: u[1:], "malformed"),
        ("comparator", lambda u: u[:6], "predicted|noise"),  # without the thresholds
        ("mistakes", lambda wrong: wrong[1:], "is not predicted"),
        ("mistakes", lambda wrong: wrong[:-1], "is not predicted"),
        ("mistakes", lambda wrong: [*wrong, wrong[0]], "mistakes or trials"),
        ("mistakes", lambda wrong: [*wrong, [10**6, "a"]], "mistakes or trials"),
        (
            "mistakes",
            lambda wrong: [[at, "abc"["bca".index(one)]] for at, one in wrong],
            "predicted|mistakes",
        ),
        ("parameters", {"alpha": 1.2}, "predicted"),
        ("parameters", {"alpha": 5.0}, "predicted|too small"),
        ("parameters", {"alpha": 1.1, "p": 4.0}, "the parameters of Winnow are"),
        ("rule", "BalancedWinnow", "predicted"),
        ("rule", "AdaptiveWinnow", "the parameters of AdaptiveWinnow are"),
        ("rule", "Majority", "Majority"),
        ("sha256", "0" * 64, "SHA-256"),
        ("items", 301, "items"),
        ("items", 299, "mistakes or trials"),
        ("trials", 299, "mistakes or trials"),
        ("version", 1, "version 1 is not 2; certify again"),
        ("classes", lambda names: names[1:], "malformed"),
        ("classes", lambda names: [*names[1:], "z"], "is not in list"),
        ("abstentions", lambda cells: [*cells, "a"], "predicted|noise|bound"),
        ("experts", lambda names: names[::-1], "predicted|noise|bound"),
        ("experts", lambda names: [*names[1:], "truth"], "the items or the label"),
    ],
)
def test_a_changed_certificate_is_refused(
    certificate: dict[str, Any], noisy: Path, key: str, value: Any, reason: str
) -> None:
    changed = certificate | {key: value(certificate[key]) if callable(value) else value}
    with pytest.raises((ValueError, LookupError), match=reason):
        check(changed, str(noisy))


def test_changed_data_are_refused_even_with_their_own_hash(
    certificate: dict[str, Any], noisy: Path, tmp_path: Path
) -> None:
    lines = noisy.read_text(encoding="utf-8").splitlines()
    lines[20] = lines[20][:-1] + ("a" if lines[20][-1] != "a" else "b")
    other = tmp_path / "votes.csv"
    other.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="SHA-256"):
        check(certificate, str(other))
    digest = hashlib.sha256(other.read_bytes()).hexdigest()
    with pytest.raises(ValueError, match=r"predicted|noise|mistakes"):
        check(certificate | {"sha256": digest}, str(other))


RUN_EACH = """
import contextlib, io, json, runpy, sys
sys.modules["linmax"] = None
ended = []
for sys.argv in json.loads(sys.argv[1]):
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as stop:
            if isinstance(stop.code, str):
                print(stop.code, file=sys.stderr)
            code = 1 if isinstance(stop.code, str) else stop.code or 0
    ended.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(ended))
"""


def run_checker(*commands: list[str]) -> list[tuple[int, str, str]]:
    """Run copies of the file where linmax cannot be imported; exit code, output and errors of each."""
    words = [sys.executable, "-I", "-c", RUN_EACH, json.dumps(commands)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [tuple(one) for one in json.loads(done.stdout)]


def test_the_checker_runs_where_linmax_is_not_installed(
    certificate: dict[str, Any], noisy: Path, tmp_path: Path
) -> None:
    script = tmp_path / "check_certificate.py"
    script.write_bytes(Path(check_certificate.__file__).read_bytes())
    contents = certificate, certificate | {"bound": 1.0}, []
    paths = [tmp_path / f"{name}.json" for name in ("true", "false", "malformed")]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(json.dumps(content), encoding="utf-8")
    true, false, malformed, absent, none = run_checker(
        *([str(script), str(path), str(noisy)] for path in [*paths, tmp_path / "no.json"]), [str(script)]
    )
    assert true[1].startswith("certified: Winnow made ")
    assert true[0] == 0
    assert false[2].startswith("refused: the bound is")
    assert malformed[2].startswith("refused: TypeError")
    assert false[0] == malformed[0] == 1
    assert absent[2] == f"refused: [Errno 2] No such file or directory: '{tmp_path / 'no.json'}'\n"
    assert none[2].startswith("refused: IndexError")


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        (Recycled(Perceptron(), updates=1), "this is a technique"),
        (PassiveAggressive(0.1), "lists mistakes only"),
        (Winnow(1.1, rivals="violators"), 'use rivals="top"'),
        (Perceptron(rivals=Cycle()), 'use rivals="top"'),
        (Perceptron(rivals="softmax"), "softmax"),
        (Perceptron(ties=True), "lists mistakes only"),
        (Romma(aggressive=0.5), "lists mistakes only"),
        (Alma(3, alpha=0.7), "lists mistakes only"),
        (Perceptron(start="equal"), "start at 0"),
        (Winnow(1.1).on(Votes() + PerClass()), "reads votes only"),
        (Winnow(1.1).on(Thresholds()), "reads votes only"),
        (Winnow(1.1).on(Votes(as_="softmax")), "reads votes only"),
    ],
)
def test_what_cannot_be_certified_is_refused_with_the_reason(learner: Any, reason: str, noisy: Path) -> None:
    with pytest.raises(ValueError, match=f"has no certificate: .*{reason}"):
        certify(learner, noisy, "truth")


def test_every_kind_of_learner_is_certified_or_has_a_reason_of_one_sentence() -> None:
    for learner in SEPARABLE:
        assert why_not(learner) == ""
    assert {type(learner).__name__ for learner in SEPARABLE} == set(PARAMETERS)
    for learner in WITHOUT:
        reason = why_not(learner)
        assert len(reason) > 20, learner
        assert "\n" not in reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ann,bob\na,b\n", "has no column 'truth'"),
        ("ann,truth\na\n", "does not have 2 cells"),
        ("ann,ann,truth\na,b,a\n", "two columns of the same name"),
        ("ann,truth\na,a\n", "only one class"),
        ("ann,truth\na,\n", "no labels"),
        ("", "is empty"),
        ("ann,truth\n\udce9,a\n", "is not in UTF-8"),
        ("ann,truth\n" + "a" * 140_000 + ",a\n", "field larger than field limit"),
    ],
)
def test_a_file_that_is_not_understood_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(ValueError, match=reason):
        certify(Perceptron(), tmp_path / "votes.csv", "truth")


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        (PNorm(4.5), {"p": 1.3}),
        (PNorm(4.5), {"p": math.inf}),
        (Winnow(1.1), {"alpha": 1.0}),
        (Winnow(1.1), {"alpha": 0.9}),
        (AdaptiveWinnow(), {"rate": -0.9}),
        (AdaptiveWinnow(), {"rate": 11.0}),
    ],
)
def test_parameters_without_a_theorem_are_refused(
    rule: Rule, options: dict[str, Any], noisy: Path, certified: Callable[[Rule], Certificate]
) -> None:
    found = certified(rule)
    u, L = np.array(found.comparator) / found.margin, found.noise / found.margin
    name = type(rule).__name__
    assert check_certificate.bound(name, u, L, 8.0, found.parameters) > 0
    with pytest.raises(ValueError, match="no theorem"):
        check_certificate.bound(name, u, L, 8.0, options)
    with pytest.raises(ValueError, match=r"no theorem|predicted|domain"):
        check(asdict(found) | {"parameters": options}, str(noisy))


@pytest.mark.parametrize("rule", [Winnow(1.1), AdaptiveWinnow()])
def test_negative_weights_are_refused_where_the_theorem_has_none(
    rule: Rule, certified: Callable[[Rule], Certificate]
) -> None:
    found = certified(rule)
    u = np.array(found.comparator) / found.margin
    u[0] = -u[0]
    with pytest.raises(ValueError, match="u >= 0"):
        check_certificate.bound(type(rule).__name__, u, 1.0, 8.0, found.parameters)


@pytest.mark.parametrize("rule", [Romma(), Alma(3)])
def test_noise_is_refused_where_the_theorem_has_none(rule: Rule) -> None:
    options = {name: getattr(rule, name) for name in PARAMETERS[type(rule).__name__]}
    with pytest.raises(ValueError, match="without noise"):
        check_certificate.bound(type(rule).__name__, np.ones(3), 0.1, 8.0, options)


def test_a_bound_that_the_checker_does_not_sum_has_no_certificate(noisy: Path) -> None:
    with pytest.raises(ValueError, match="is above 131072, up to which the checker computes it"):
        certify(AdaptiveWinnow(0.001), noisy, "truth")


def test_noise_cannot_be_hidden_in_the_tolerance_by_a_small_comparator(
    noisy: Path, certified: Callable[[Rule], Certificate]
) -> None:
    found = asdict(certified(Perceptron()))
    small = found | {
        "comparator": [1e-13 * one for one in found["comparator"]],
        "margin": 1e-13 * found["margin"],
    }
    assert check(small | {"noise": 1e-13 * found["noise"]}, str(noisy)) == check(found, str(noisy))
    with pytest.raises(ValueError, match="the noise differs"):
        check(small | {"noise": 0.0}, str(noisy))


def test_a_mistake_by_an_expert_of_small_weight_cannot_be_hidden(tmp_path: Path) -> None:
    start = ["a,a,a,,a", "b,b,b,,b", "b,a,a,,b"]  # now e0 has theta = 2
    rows = [*start, *["a,,,,a", "b,,,,b"] * 10, ",,,b,b", ",,,b,a"]  # and e3 has theta = 1 in the last row
    file = tmp_path / "votes.csv"
    file.write_text("\n".join(["e0,e1,e2,e3,truth", *rows]) + "\n", encoding="utf-8")
    with rarely_compiled():
        found = asdict(certify(PNorm(40.0).on(Votes()), file, "truth"))
    assert found["mistakes"] == [[1, "a"], [2, "a"], [23, "a"], [24, "b"]]
    with pytest.raises(ValueError, match="item 24 is not predicted 'a'"):
        check(found | {"mistakes": found["mistakes"][:3]}, str(file))


@pytest.mark.parametrize("items", [-5, 0, 2.5])
def test_a_number_of_items_below_1_is_refused(items: Any, noisy: Path) -> None:
    with pytest.raises(ValueError, match=f"items must be a whole number from 1 on .got {items}."):
        certify(Perceptron(), noisy, "truth", items=items)


def test_the_label_is_no_expert(noisy: Path) -> None:
    with pytest.raises(ValueError, match="'truth' has the labels"):
        certify(Perceptron(), noisy, "truth", ["e0", "truth"])


def test_a_multiplier_close_to_1_is_certified(noisy: Path) -> None:
    found = certify(Winnow(1 + 1e-9), noisy, "truth")
    assert found.trivial


def test_a_rule_may_be_given_as_its_text(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("ann,bob,truth\n" + "a,b,a\nb,a,b\n" * 20)
    assert certify("Winnow(1.5)", file, "truth") == certify(Winnow(1.5), file, "truth")
    with pytest.raises(ValueError, match=r"Averaged\(Winnow\(1.5\)\) has no certificate"):
        certify("Averaged(Winnow(1.5))", file, "truth")


def test_cells_are_taken_as_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("ann,y,truth\n" + "2.0,2,2\n1,1,1\n" * 20)
    found = certify(Winnow(1.5), file, "truth")
    assert (found.experts, set(found.classes)) == (["ann", "y"], {"1", "2", "2.0"})
