"""What can be said without labels: Dawid and Skene's model, Krippendorff's alpha, and items to label."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from linmax import Fusion, Triplets
from linmax.evaluate.without_labels import (
    dawid_skene,
    estimate,
    krippendorff_alpha,
    next_to_label,
    vote_table,
)
from linmax.evaluate.without_labels.dependence import copied_experts, dispersion

N = None
ACCURACIES = (0.9, 0.8, 0.7, 0.6, 0.85)


def panel(
    items: int = 600, classes: int = 3, accuracies: Any = ACCURACIES, missing: float = 0.0, seed: int = 0
) -> tuple[Any, Any]:
    """Independent experts: votes, -1 if missing, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, items)
    shape = items, len(accuracies)
    wrong = (truth[:, None] + rng.integers(1, classes, shape)) % classes
    votes = np.where(rng.random(shape) < accuracies, truth[:, None], wrong)
    return np.where(rng.random(shape) < missing, -1, votes), truth


def slow_dawid_skene(votes: Any, classes: int, iterations: int, prior: float) -> tuple[Any, Any, list[float]]:
    """The same EM with plain loops over items, experts and classes."""
    items, experts, k = len(votes), len(votes[0]), classes
    p = [[0.0] * k for _ in range(items)]
    for i in range(items):
        cast = [v for v in votes[i] if v >= 0]
        for c in range(k):
            p[i][c] = cast.count(c) / len(cast)
    history = []
    for _ in range(iterations):
        shares = [prior + sum(p[i][c] for i in range(items)) for c in range(k)]
        shares = [one / sum(shares) for one in shares]
        confusion = [[[0.0] * k for _ in range(k)] for _ in range(experts)]
        for j in range(experts):
            for c in range(k):
                row = [prior * (0.5 * (c == v) + 0.5 / k) for v in range(k)]
                for i in range(items):
                    if votes[i][j] >= 0:
                        row[votes[i][j]] += p[i][c]
                confusion[j][c] = [one / sum(row) for one in row]
        objective = sum(prior * math.log(one) for one in shares)
        for j in range(experts):
            for c in range(k):
                for v in range(k):
                    objective += prior * (0.5 * (c == v) + 0.5 / k) * math.log(confusion[j][c][v])
        for i in range(items):
            joint = [shares[c] for c in range(k)]
            for j in range(experts):
                for c in range(k):
                    if votes[i][j] >= 0:
                        joint[c] *= confusion[j][c][votes[i][j]]
            p[i] = [one / sum(joint) for one in joint]
            objective += math.log(sum(joint))
        history.append(objective)
    return np.array(p), np.array(confusion), history


def slow_one_coin(votes: Any, classes: int, iterations: int, prior: float) -> Any:
    items, experts, k = len(votes), len(votes[0]), classes
    p = np.zeros((items, k))
    for i in range(items):
        cast = [v for v in votes[i] if v >= 0]
        for c in range(k):
            p[i, c] = cast.count(c) / len(cast)
    for _ in range(iterations):
        accuracy = []
        for j in range(experts):
            mine = [i for i in range(items) if votes[i][j] >= 0]
            right = prior * (0.5 + 0.5 / k) + sum(p[i, votes[i][j]] for i in mine)
            accuracy.append(right / (len(mine) + prior))
        for i in range(items):
            for c in range(k):
                p[i, c] = 1.0
                for j in range(experts):
                    if votes[i][j] >= 0:
                        p[i, c] *= accuracy[j] if votes[i][j] == c else (1 - accuracy[j]) / (k - 1)
            p[i] /= p[i].sum()
    return p


def test_the_confusion_model_equals_plain_loops() -> None:
    votes, _ = panel(60, missing=0.2)
    votes = votes[(votes >= 0).any(axis=1)]
    probabilities, confusion, history = slow_dawid_skene(votes.tolist(), 3, 8, prior=1.0)
    found = dawid_skene(votes, max_iterations=8, tolerance=0.0, model="confusion")
    np.testing.assert_allclose(found.probabilities, probabilities, atol=1e-10)
    np.testing.assert_allclose(found.confusion, confusion, atol=1e-10)
    np.testing.assert_allclose(found.log_likelihood, history, rtol=1e-10)


def test_the_one_coin_model_equals_plain_loops() -> None:
    votes, _ = panel(60, classes=4, missing=0.2)
    votes = votes[(votes >= 0).any(axis=1)]
    found = dawid_skene(votes, max_iterations=6, tolerance=0.0, model="one-coin")
    np.testing.assert_allclose(found.probabilities, slow_one_coin(votes.tolist(), 4, 6, 1.0), atol=1e-10)
    full = found.probabilities
    assert found.prediction_codes.tolist() == full.argmax(axis=1).tolist()
    np.testing.assert_allclose(found.confidence, full.max(axis=1))
    entropy = -(full * np.log2(np.maximum(full, 1e-300))).sum(axis=1)
    np.testing.assert_allclose(found.entropy, entropy, atol=1e-10)
    np.testing.assert_allclose(found.priors, full.mean(axis=0), atol=1e-10)


def test_crowd_kit_gives_the_same_probabilities() -> None:
    aggregation = pytest.importorskip(
        "crowdkit.aggregation", reason="crowd-kit is not installed: pip install crowd-kit to compare with it"
    )
    import pandas as pd

    votes, _ = panel(200, missing=0.3, seed=3)
    task, worker = np.nonzero(votes >= 0)
    frame = pd.DataFrame({"task": task, "worker": worker, "label": votes[task, worker]})
    reference = aggregation.DawidSkene(n_iter=15, tol=-1e9).fit_predict_proba(frame)
    found = dawid_skene(votes, prior=0.0, max_iterations=15, tolerance=0.0, model="confusion")
    reference = reference[sorted(reference.columns)]
    ours = found.probabilities[reference.index]
    assert (ours.argmax(axis=1) == reference.to_numpy().argmax(axis=1)).all()
    np.testing.assert_allclose(ours, reference.to_numpy(), atol=1e-4)


@pytest.mark.parametrize("model", ["confusion", "one-coin"])
@pytest.mark.parametrize("prior", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_log_likelihood_never_decreases(model: str, prior: float, seed: int) -> None:
    votes, _ = panel(150, classes=2 + seed, accuracies=(0.9, 0.5, 0.3, 0.6), missing=0.4, seed=seed)
    found = dawid_skene(votes, model=model, prior=prior, max_iterations=60, tolerance=0.0)
    assert np.diff(found.log_likelihood).min(initial=0.0) > -1e-8 * abs(found.log_likelihood[-1])


@pytest.mark.parametrize("model", ["confusion", "one-coin"])
def test_the_accuracies_of_independent_experts_are_found(model: str) -> None:
    votes, truth = panel(2000, seed=1)
    found = dawid_skene(votes, model=model)
    true = (votes == truth[:, None]).mean(axis=0)
    assert found.converged
    np.testing.assert_allclose(found.accuracy, true, atol=0.02)
    assert (found.accuracy_low < true).all()
    assert (true < found.accuracy_high).all()
    plurality = np.array([np.bincount(row, minlength=3).argmax() for row in votes])
    assert (found.predictions == truth).mean() > (plurality == truth).mean()


def test_intervals_cover_the_truth_where_the_model_holds() -> None:
    inside = []
    for seed in range(20):
        votes, _ = panel(300, seed=seed)
        found = dawid_skene(votes)
        inside += list((found.accuracy_low < ACCURACIES) & (found.accuracy_high > ACCURACIES))
    assert 0.85 < np.mean(inside) <= 1.0


def test_all_forms_of_votes_give_the_same_estimate() -> None:
    votes, _ = panel(80, missing=0.2)
    item, expert = np.nonzero(votes >= 0)
    triplets = Triplets(item, expert, votes[item, expert], items=80)
    dicts = [{j: int(v) for j, v in enumerate(row) if v >= 0} for row in votes]
    scores = (votes[:, :, None] == np.arange(3)) * 0.7 + (votes[:, :, None] >= 0) * 0.1
    fusion = Fusion(classes=[0, 1, 2], experts=[0, 1, 2, 3, 4])
    batch = vote_table(fusion.read(votes), classes=fusion.classes, experts=fusion.experts)
    expected = dawid_skene(votes)
    for form in (triplets, dicts, scores, batch):
        found = dawid_skene(form)
        order = [found.table.experts.index(j) for j in range(5)]
        np.testing.assert_allclose(found.accuracy[order], expected.accuracy)
        np.testing.assert_allclose(found.probabilities, expected.probabilities)


def test_the_order_of_experts_and_names_of_classes_do_not_matter() -> None:
    votes, _ = panel(100)
    named = np.array(["c", "a", "b"])[votes][:, ::-1]
    one, other = dawid_skene(votes), dawid_skene(named)
    np.testing.assert_allclose(one.accuracy, other.accuracy[::-1])
    np.testing.assert_allclose(one.probabilities, other.probabilities[:, [2, 0, 1]])


def test_a_batch_needs_the_names_of_its_classes() -> None:
    batch = Fusion(classes=["a", "b"]).read([["a", "b"]])
    with pytest.raises(ValueError, match=r"pass classes=fusion\.classes"):
        dawid_skene(batch)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": -1}, r"prior >= 0 \(got -1\)"),
        ({"tolerance": -1.0}, r"tolerance >= 0 \(got -1\.0\)"),
        ({"max_iterations": 0}, r"max_iterations >= 1 \(got 0\)"),
        ({"model": "two-coin"}, "got 'two-coin'"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dawid_skene([["a"]], **options)


def test_many_classes_and_experts_are_estimated_in_bounded_memory() -> None:
    votes, truth = panel(400, classes=700, accuracies=[0.6] * 45)
    found = dawid_skene(votes)
    assert found.model == "one-coin"
    assert "45 experts and 700 classes" in found.reason
    assert (found.predictions == truth).mean() > 0.99
    np.testing.assert_allclose(found.accuracy, 0.6, atol=0.1)
    with pytest.raises(ValueError, match="too many for one array; use accuracy"):
        _ = found.confusion
    with pytest.raises(ValueError, match='use model="one-coin"'):
        dawid_skene(votes, model="confusion")


def test_items_without_votes_have_no_prediction() -> None:
    for model in ("confusion", "one-coin"):
        found = dawid_skene([["a", "a"], [N, N], ["b", "a"]], model=model)
        assert found.predictions[1] is None
        assert found.probabilities[1].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("votes", [[], [[N, N]], [["a"]], [["a", "a"], ["a", "a"]]])
def test_degenerate_votes_are_no_error(votes: Any) -> None:
    for model in ("auto", "confusion", "one-coin"):
        found = dawid_skene(votes, model=model)
        assert np.isfinite(found.log_likelihood).all()
    assert not estimate(votes).available
    assert math.isnan(krippendorff_alpha(votes).alpha)
    json.dumps(estimate(votes).as_json(), allow_nan=False)


# Krippendorff (2011), section C: four observers, twelve units
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]
# three coders, fifteen units
THREE_CODERS = [
    [N, N, N, N, N, 3, 4, 1, 2, 1, 1, 3, 3, N, 3],
    [1, N, 2, 1, 3, 3, 4, 3, N, N, N, N, N, N, N],
    [N, N, 2, 1, 3, 4, 4, N, 2, 1, 1, 3, 3, N, 4],
]


@pytest.mark.parametrize(
    ("rows", "level", "alpha"),
    [
        (PUBLISHED, "nominal", 0.743),
        (PUBLISHED, "ordinal", 0.815),
        (PUBLISHED, "interval", 0.849),
        (THREE_CODERS, "nominal", 0.691),
        (THREE_CODERS, "interval", 0.811),
        ([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], "nominal", 0.095),
    ],
)
def test_alpha_equals_published_examples(rows: Any, level: str, alpha: float) -> None:
    found = krippendorff_alpha([list(column) for column in zip(*rows, strict=True)], level=level)
    assert found.alpha == pytest.approx(alpha, abs=5e-4)
    assert found.low <= found.alpha <= found.high


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_equals_the_sum_over_all_pairs_of_votes(level: str) -> None:
    votes, _ = panel(20, classes=4, missing=0.3)
    rows = [[v for v in row if v >= 0] for row in votes.tolist()]
    rows = [row for row in rows if len(row) > 1]
    pooled = [v for row in rows for v in row]

    def distance(a: int, b: int) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return float(a - b) ** 2
        low, high = min(a, b), max(a, b)
        between = sum(low <= v <= high for v in pooled)
        return (between - (pooled.count(a) + pooled.count(b)) / 2) ** 2

    observed = sum(sum(distance(a, b) for a in row for b in row) / (len(row) - 1) for row in rows)
    expected = sum(distance(a, b) for a in pooled for b in pooled) / (len(pooled) - 1)
    assert krippendorff_alpha(votes, level=level).alpha == pytest.approx(1 - observed / expected)


def test_perfect_agreement_is_1_and_random_votes_are_0() -> None:
    assert krippendorff_alpha([["a", "a"], ["b", "b"]]).alpha == 1.0
    random = krippendorff_alpha(np.random.default_rng(0).integers(0, 3, (3000, 4)))
    assert random.low < 0.0 < random.high
    assert random.high - random.low < 0.05


def test_interval_classes_must_be_numbers() -> None:
    with pytest.raises(ValueError, match=r"classes that are numbers \(got 'a'\)"):
        krippendorff_alpha([["a", "b"]], level="interval")
    assert krippendorff_alpha([["1", "2"], ["2.5", "2.5"]], level="interval").items == 2


def test_uncertain_items_come_first_and_random_ones_are_drawn_from_all() -> None:
    votes, _ = panel(500)
    fit = dawid_skene(votes)
    found = next_to_label(fit, uncertain=7, random=5, seed=1)
    assert [one.kind for one in found] == ["uncertain"] * 7 + ["random"] * 5
    assert len({one.item for one in found}) == 12
    drawn = {one.item for one in found[7:]}
    rest = [e for i, e in enumerate(fit.entropy.tolist()) if i not in drawn]
    assert min(fit.entropy[one.item] for one in found[:7]) >= sorted(rest)[-7] - 0.01
    assert drawn == {one.item for one in next_to_label(fit, uncertain=0, random=5, seed=1)}


def test_unanimous_items_are_not_uncertain() -> None:
    votes = [["a"] * 5, ["b"] * 5] * 50
    assert next_to_label(votes, uncertain=5, random=0) == []


def test_copies_are_found_and_counted_once() -> None:
    votes, _ = panel(400, accuracies=(0.8, 0.75, 0.7, 0.65))
    with_copies = np.column_stack([votes, votes[:, 3], votes[:, 3], votes[:, 3]])
    assert copied_experts(vote_table(with_copies)).tolist() == [0, 1, 2, 3, 3, 3, 3]
    found = estimate(with_copies)
    assert [one.code for one in found.warnings] == ["copied-votes"]
    alone = {one.name: one.accuracy for one in estimate(votes).experts}
    for one in found.experts:
        assert one.accuracy == alone[min(one.name, 3)]
        assert one.copy_of == (3 if one.name > 3 else None)


def test_good_experts_are_not_taken_for_copies() -> None:
    votes, _ = panel(400, accuracies=(0.95, 0.95, 0.95, 0.6, 0.5))
    assert copied_experts(vote_table(votes)).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("seed", range(5))
def test_independent_errors_are_not_reported_as_dependent(seed: int) -> None:
    votes, _ = panel(300, seed=seed)
    assert not dispersion(dawid_skene(votes)).dependent


def test_difficult_items_make_the_estimate_an_upper_limit() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 800)
    hard = rng.random((800, 1)) < 0.4
    right = rng.random((800, 7)) < np.where(hard, 0.5, 0.95)
    votes = np.where(right, truth[:, None], 1 - truth[:, None])
    found = estimate(votes)
    assert found.upper_limit
    assert found.warnings[0].code == "dependent-errors"
    assert found.plurality is not None
    assert found.plurality > ((votes.mean(axis=1) > 0.5) == truth).mean()


@pytest.mark.parametrize(
    ("votes", "code"),
    [
        (panel(300)[0][:, :2], "few-experts"),
        (np.repeat(panel(300)[0][:, :2], [1, 3], axis=1), "few-experts"),
        ([["a", N, N], [N, "b", N], [N, N, "a"]] * 30, "no-overlap"),
        ([["a", "b", "c"], ["b", "c", "a"]] * 60, "no-agreement"),
        ([["a", "a", "a"]] * 60, "single-class"),
        ([["a", N, N, "a"], [N, "b", N, "b"], [N, "b", "c", N], ["a", "b", N, N]] * 30, "one-class-experts"),
        ([], "no-votes"),
    ],
)
def test_no_figure_is_given_where_votes_cannot_support_it(votes: Any, code: str) -> None:
    found = estimate(votes)
    assert found.warnings[0].code == code
    assert found.warnings[0].severity == "grave"
    assert found.plurality is None
    assert all(one.accuracy is None for one in found.experts)
    assert all(one.share is None for one in found.classes)
    assert all(one.kind == "random" and one.prediction is None for one in found.next_items)


def test_few_items_have_classes_but_no_accuracies() -> None:
    found = estimate(panel(12)[0])
    assert found.available
    assert found.plurality is None
    assert {one.accuracy for one in found.experts} == {None}
    assert found.warnings[0].code == "few-items"


def test_experts_with_few_votes_have_no_accuracy() -> None:
    votes, _ = panel(200)
    votes[9:, 4] = -1
    assert {one.name for one in estimate(votes).experts if one.accuracy is None} == {4}


def test_the_items_of_a_chunk_keep_their_ids_and_lines() -> None:
    import io

    from linmax.streams import open_stream

    rows = "".join(f"t{i},{'ab'[i % 2]},{'ab'[i % 2]},{'ab'[i % 3 == 0]}\n" for i in range(60))
    (chunk,) = open_stream(io.BytesIO(f"id,ann,bob,eve\n{rows}".encode()), id="id", label="")
    found = estimate(chunk, file="votes.csv")
    assert found.next_items
    assert all(one.id == f"t{one.item}" and one.line == one.item + 2 for one in found.next_items)


def test_equal_votes_give_equal_estimates_that_json_can_hold() -> None:
    votes, _ = panel(200, missing=0.2)
    one, other = (json.dumps(estimate(votes).as_json(), allow_nan=False) for _ in range(2))
    assert one == other
    assert json.loads(one)["kind"] == "estimate"
