"""The verdict: never better while a grave warning stands, and only if better than every alternative."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest

from linmax import Fusion, Winnow
from linmax.evaluate import ResumableRun, summarize
from linmax.evaluate.audit.counts import MistakeCounts
from linmax.evaluate.findings.findings import Findings
from linmax.evaluate.findings.verdict import (
    DROP_MARGIN,
    MIN_ITEMS,
    Baseline,
    can_be_dropped,
    judge,
    paired_baseline,
)
from linmax.evaluate.metrics import Metrics
from linmax.evaluate.significance import gain
from linmax.streams import open_stream
from linmax.validation import DataWarning
from tests.helpers.examples import EVERYTHING

CLASSES = ["ham", "spam"]


def baseline(name: str, better: float, worse: float, trials: int = 600, coverage: float = 1.0) -> Baseline:
    """A baseline that is right on 400 items, and linmax is right on `better` more and `worse` fewer."""
    both = 400 - worse
    return paired_baseline(
        name, "gpt4" if name == "best expert" else "", trials=trials, all_trials=round(trials / coverage),
        correct=400, linmax_correct=int(both + better), both_correct=both, metrics=Metrics(400 / trials),
    )  # fmt: skip


def verdict(*baselines: Baseline, **options: Any) -> str:
    return judge(baselines, **{"trials": 600, "classes": CLASSES, **options}).verdict


WEAK, EVEN, STRONG = (44, 12), (21, 19), (12, 44)


def test_linmax_is_better_only_if_it_is_better_than_each_alternative() -> None:
    plurality = baseline("plurality", *WEAK)
    assert verdict(plurality) == "better"
    assert verdict(plurality, baseline("last label", *WEAK)) == "better"
    assert verdict(plurality, baseline("last label", *EVEN)) == "no significant difference"
    assert verdict(plurality, baseline("best expert", *EVEN)) == "no significant difference"
    assert verdict(plurality, baseline("last label", *STRONG)) == "worse"
    assert verdict(baseline("most frequent class", *STRONG)) == "worse"


@pytest.mark.parametrize(
    "code", ["labels-never-voted", "repeated-ids", "possible-leak", "sorted-by-label", "unmatched-labels"]
)
@pytest.mark.parametrize("counts", [WEAK, EVEN, STRONG])
def test_with_a_grave_warning_there_is_no_verdict(code: str, counts: tuple[int, int]) -> None:
    grave = DataWarning(code, "grave", "something is wrong; do this")
    found = judge([baseline("plurality", *counts)], [grave], trials=600, classes=CLASSES)
    assert found == ("not judged", "Not judged: something is wrong; do this.")
    several = judge([baseline("plurality", *counts)], [grave] * 3, trials=600, classes=CLASSES)
    assert several.decision.endswith("(and 2 more grave warnings).")


def test_notes_do_not_forbid_a_verdict() -> None:
    note = DataWarning("shuffled", "note", "rows were shuffled")
    assert verdict(baseline("plurality", *WEAK), warnings=[note]) == "better"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"trials": 0, "unlabelled": 5}, "no item has a label"),
        ({"trials": 0}, "no item has a label of a known class"),
        ({"classes": ["ham"]}, "all labels are 'ham'"),
        ({"trials": MIN_ITEMS - 1}, "29 labelled items are too few, at least 30 are needed"),
    ],
)
def test_where_nothing_can_be_said_the_sentence_says_why(options: dict[str, Any], reason: str) -> None:
    found = judge([baseline("plurality", *WEAK)], **{"trials": 600, "classes": CLASSES, **options})
    assert found == ("not judged", f"Not judged: {reason}.")
    assert judge([], trials=600, classes=CLASSES).verdict == "not judged"


def test_an_expert_that_seldom_votes_is_no_alternative() -> None:
    rare = baseline("best expert", *EVEN, coverage=0.3)
    assert verdict(baseline("plurality", *WEAK), rare) == "better"
    assert verdict(baseline("plurality", *WEAK), rare._replace(coverage=0.5)) == "no significant difference"


@pytest.mark.parametrize(
    ("counts", "decision"),
    [
        (
            WEAK,
            "Use it: linmax avoids 32 of the 200 errors that the best alternative, the best expert (gpt4),"
            " makes on the 600 items it votes on.",
        ),
        (
            STRONG,
            "Do not use it: linmax makes 32 more errors than the best alternative, the best expert (gpt4), on"
            " the 600 items it votes on (232 instead of 200).",
        ),
        (
            EVEN,
            "Do not switch yet: linmax makes 198 errors and the best alternative, the best expert (gpt4), 200"
            " on the 600 items it votes on, which may be chance.",
        ),
    ],
)
def test_the_decision_is_a_sentence_with_the_numbers(counts: tuple[int, int], decision: str) -> None:
    best = baseline("best expert", *counts, coverage=0.75)
    assert judge([best], trials=800, classes=CLASSES).decision == decision


def test_a_verdict_of_worse_names_an_alternative_that_is_significantly_better() -> None:
    small = baseline("best expert", 400 - 396, 8, trials=600, coverage=0.6)
    found = judge([baseline("plurality", *STRONG), small], trials=1000, classes=CLASSES)
    assert found.verdict == "worse"
    assert "plurality" in found.decision


def test_an_expert_can_be_dropped_only_if_the_interval_of_the_loss_says_so() -> None:
    assert can_be_dropped(gain(5000, 10, 10))
    assert not can_be_dropped(gain(100, 0, 0))  # nothing changed, but 100 items prove little
    assert not can_be_dropped(gain(600, 20, 21))
    for better in range(0, 40, 3):
        for worse in range(0, 40, 3):
            found = gain(2000, better, worse)
            assert can_be_dropped(found) == (found.ci_high < DROP_MARGIN)


def test_the_best_expert_is_judged_where_it_votes() -> None:
    counts = MistakeCounts()
    counts.trials = 100
    counts.correct = np.array([0, 0, 80, 66, 45, 3])
    counts.both_correct, counts.voted = np.zeros(6, np.int64), np.array([100, 70, 45, 3])
    assert counts.best_where_it_votes(0.5) == 1  # 94 % of 70 items
    assert counts.best_where_it_votes(0.4) == 2  # always right on 45 items
    assert counts.best_where_it_votes(0.0) == 2  # three votes prove little
    assert counts.best_where_it_votes(1.1) == 2
    assert MistakeCounts().best_where_it_votes(0.5) is None


def run(lines: list[str], **options: Any) -> Findings:
    stream = open_stream(io.BytesIO("\n".join(lines).encode()), label="truth")
    one = ResumableRun(Fusion(Winnow(1.3)), stream)
    for _ in one:
        pass
    return summarize(one.audit, one.fusion, **options)


def lines(rows: int = 200, seed: int = 0, rates: tuple[float, ...] = (0.75, 0.75, 0.75)) -> list[str]:
    rng = np.random.default_rng(seed)
    found = ["a,b,c,truth"]
    for _ in range(rows):
        y = rng.integers(3)
        found.append(",".join(str(y if rng.random() < p else rng.integers(3)) for p in (*rates, 1.0)))
    return found


def test_findings_carry_verdict_warnings_schema_and_baselines_as_json() -> None:
    note = DataWarning("shuffled", "note", "rows were shuffled")
    grave = DataWarning("possible-leak", "grave", "column a is the label")
    found = run(lines(), warnings=[note, grave], schema={"a": "expert"})
    values = json.loads(json.dumps(found.as_json()))
    assert values["verdict"] == "not judged"
    assert values["warnings"] == [grave._asdict(), note._asdict()]  # grave ones first
    assert values["schema"] == {"a": "expert"}
    assert values["items"] == 200
    assert values["accuracy"] == found.results[0].accuracy
    names = ["plurality", "best expert", "most frequent class", "last label"]
    assert [one["name"] for one in values["baselines"]] == names
    assert [one.name for one in found.results] == ["linmax", *names, "best fixed weights"]
    assert {one["gain"]["trials"] for one in values["baselines"]} == {found.trials}
    assert set(values["calibration"]) == {"linmax", "plurality"}
    assert values["metrics"]["mean_absolute_error"] > 0
    assert any("0 < 1 < 2" in one for one in values["notes"])


def test_learning_the_same_items_again_is_a_grave_warning() -> None:
    found = run(lines(), repeated=True)
    assert (found.verdict, [one.code for one in found.warnings]) == ("not judged", ["learned-before"])


def test_few_items_and_a_single_class_are_noted() -> None:
    assert [one.code for one in run(lines(20)).warnings] == ["few-items"]
    single = run(["a,truth", *["x,x"] * 50])
    assert [one.code for one in single.warnings] == ["single-class"]
    assert single.decision == "Not judged: all labels are 'x'."
    empty = run(["a,truth"])
    assert (empty.verdict, empty.baselines, empty.accuracy) == ("not judged", [], None)
    assert json.dumps(empty.as_json())


def test_on_noise_linmax_is_hardly_ever_better() -> None:
    found = [
        run(lines(120, seed, (0.0, 0.0, 0.0)), ablation=False).verdict
        for seed in range(15 if EVERYTHING else 6)
    ]
    assert found.count("better") == 0


def test_a_stream_in_which_labels_repeat_is_compared_with_the_last_label() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.integers(3, size=40), 15)
    votes = np.where(rng.random((600, 3)) < 0.5, labels[:, None], rng.integers(3, size=(600, 3)))
    found = run(["a,b,c,truth", *(",".join(map(str, (*v, y))) for v, y in zip(votes, labels, strict=True))])
    last = found.baselines[-1]
    assert last.accuracy > 0.9
    assert found.verdict == "worse"
    assert "repeating the last label" in found.decision
