"""The audit of a stream compared with loops that count the same things in the obvious way."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import numpy as np
import pytest

from linmax import Fusion, Winnow
from linmax.evaluate.audit import counts
from linmax.evaluate.audit.audit import Audit
from linmax.evaluate.audit.checkpoint import LearnedPrefix, RestoredAudit, StreamFingerprint, audit_state
from linmax.evaluate.audit.counts import SNAPSHOTS, MistakeCounts
from linmax.evaluate.audit.resumable_run import ResumableRun
from linmax.evaluate.audit.sample import Sample, SampleRows, row_keys
from linmax.evaluate.experts import ablate_each, drop_expert
from linmax.evaluate.findings.findings import Findings
from linmax.evaluate.findings.summary import _coverage, summarize
from linmax.evaluate.losses import MIN_PROBABILITY, ProbabilityLosses
from linmax.inputs import Dense, Hard, Sparse
from linmax.inputs.batch import Batch
from linmax.inputs.classes import no_unknown_classes
from linmax.streams import Chunk, open_stream
from tests.helpers.examples import EVERYTHING
from tests.oracles.audit import counted

ROLES: dict[str, Any] = {"label": "truth", "id": "id"}
NAMES = ["ham", "spam", "news", "todo"]


def panel(items: int = 700, seed: int = 0, unlabelled: float = 0.1) -> tuple[list[dict[str, str]], list[Any]]:
    """Four experts that sometimes abstain; some items have no label, and one has a novel label."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for t in range(items):
        truth = NAMES[int(rng.integers(4))]
        row = {
            name: truth if rng.random() < worth else NAMES[int(rng.integers(4))]
            for name, worth in zip("abcd", (0.9, 0.6, 0.3, 0.0), strict=True)
            if rng.random() < 0.9
        }
        rows.append(row or {"a": truth})
        labels.append(None if rng.random() < unlabelled and t else truth)
    labels[items // 2] = "never said"
    return rows, labels


def text(rows: list[dict[str, str]], labels: list[Any]) -> bytes:
    lines = ["id,a,b,c,d,truth"]
    lines += [
        ",".join([f"i{t}", *(row.get(name, "") for name in "abcd"), label or ""])
        for t, (row, label) in enumerate(zip(rows, labels, strict=True))
    ]
    return "\n".join(lines).encode()


def learn(data: bytes, chunk: int = 64, **options: Any) -> tuple[ResumableRun, list[Any]]:
    run = ResumableRun(
        Fusion(Winnow(1.3)), open_stream(io.BytesIO(data), chunk_size=chunk, **ROLES), **options
    )
    return run, [guess for outcome in run for guess in outcome.guesses.tolist()]


def known_before(rows: list[dict[str, str]], labels: list[Any]) -> list[set[Any]]:
    """A class is known once it was voted for on a labelled item, or was the label of one."""
    met: set[Any] = set()
    known = []
    for row, label in zip(rows, labels, strict=True):
        if label is not None:
            met |= set(row.values())
        known.append(met | set(row.values()))
        if label is not None:
            met.add(label)
    return known


@pytest.fixture(scope="module")
def whole() -> tuple[ResumableRun, list[Any], dict[str, Any]]:
    rows, labels = panel()
    run, guesses = learn(text(rows, labels))
    return run, guesses, counted(guesses, rows, labels, known_before(rows, labels), run.fusion.classes)


def test_an_audit_counts_what_loops_over_the_items_count(whole: Any) -> None:
    run, _, slow = whole
    audit = run.audit
    columns = ["linmax", "frequent", "last", "plurality", *run.fusion.experts]
    assert audit.counts.trials == slow["trials"]
    assert audit.counts.correct.tolist() == [slow["right"][name] for name in columns]
    assert audit.counts.both_correct.tolist() == [slow["both"][name] for name in columns]
    assert audit.counts.voted.tolist() == [slow["spoke"][name] for name in run.fusion.experts]
    assert audit.counts.heard.tolist() == [slow["heard"][name] for name in run.fusion.experts]
    assert np.allclose(audit.counts.shared, slow["shared"], rtol=1e-12)
    classes = run.fusion.classes
    assert {(classes[a], classes[b]): n for (a, b), n in audit.confusion.items()} == dict(slow["confusion"])
    assert (audit.items, audit.novel) == (700, 1)
    assert audit.unlabelled == 700 - audit.novel - slow["trials"]


def test_curves_and_milestones_are_the_counts_at_their_items(whole: Any) -> None:
    run, _, slow = whole
    assert [one.items for one in run.audit.milestones] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    for one in run.audit.milestones:
        trials, right, shared, spoke = slow["history"][one.items - 1]
        assert one.linmax == trials - right["linmax"]
        assert one.plurality == round(trials - shared)
        assert one.best in [spoke[name] - right[name] for name in "abcd"]
        if one.items >= 64:  # "a" is clearly the best by then, where it votes
            assert one.best == spoke["a"] - right["a"]
    assert len(run.audit.history.snapshots) <= SNAPSHOTS
    for at, then in run.audit.history.snapshots:
        trials, right, shared, _ = slow["history"][at - 1]
        assert (then.trials, then.correct[0]) == (trials, right["linmax"])
        assert math.isclose(then.shared[0], shared, abs_tol=1e-9)


def test_an_audit_does_not_depend_on_the_size_of_the_chunks(whole: Any) -> None:
    run, guesses, _ = whole
    rows, labels = panel()
    for chunk, every in ((700, 0), (97, 50)):
        other, predicted = learn(text(rows, labels), chunk, every=every)
        assert predicted == guesses
        assert audit_state(other.audit) == audit_state(run.audit)


def test_an_audit_of_single_rows_is_that_of_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "SNAPSHOTS", 50)
    rows, labels = panel(80)
    one, guesses = learn(text(rows, labels), 64)
    other, predicted = learn(text(rows, labels), 1)
    assert predicted == guesses
    assert len(one.audit.history.snapshots) <= 50
    assert audit_state(other.audit) == audit_state(one.audit)


def test_a_run_that_stops_anywhere_resumes_to_the_same_findings() -> None:
    items = 700 if EVERYTHING else 140
    data = text(*panel(items))
    run, _ = learn(data)
    want = summarize(run.audit, run.fusion).as_json()
    for cut in (0, 1, 63, 64, 65, items // 2, items - 1, items) if EVERYTHING else (0, 1, 64, 65, items):
        fusion = Fusion(Winnow(1.3))
        part = ResumableRun(fusion, open_stream(io.BytesIO(data), chunk_size=64, **ROLES), every=max(cut, 1))
        for _ in part if cut else ():
            if part.audit.items == cut:
                break
        notes = json.loads(json.dumps(audit_state(part.audit)))
        again = ResumableRun(
            fusion,
            open_stream(io.BytesIO(data), chunk_size=50, **ROLES),
            prefix=LearnedPrefix(cut, part.fingerprint.digest),
            restored=RestoredAudit(notes),
        )
        for _ in again:
            pass
        assert summarize(again.audit, fusion).as_json() == want, cut


def test_a_run_does_not_resume_on_another_file() -> None:
    rows, labels = panel(100)
    run, _ = learn(text(rows, labels))
    before = LearnedPrefix(100, run.fingerprint.digest)
    for other in (text(rows[:50], labels[:50]), text([*rows[:70], {"a": "ham"}, *rows[71:]], labels)):
        with pytest.raises(ValueError, match="not the file of which 100 rows"):
            list(ResumableRun(run.fusion, open_stream(io.BytesIO(other), **ROLES), prefix=before))


def test_only_the_new_rows_of_a_file_that_has_grown_are_learned() -> None:
    rows, labels = panel(300)
    run, _ = learn(text(rows[:200], labels[:200]))
    more = ResumableRun(
        run.fusion,
        open_stream(io.BytesIO(text(rows, labels)), chunk_size=64, **ROLES),
        prefix=LearnedPrefix(200, run.fingerprint.digest),
    )
    guesses = [guess for outcome in more for guess in outcome.guesses.tolist()]
    whole, predicted = learn(text(rows, labels))
    assert guesses == predicted[200:]
    assert (more.audit.items, more.fingerprint.digest) == (100, whole.fingerprint.digest)
    assert all(
        np.array_equal(array, whole.fusion.state()[name]) for name, array in more.fusion.state().items()
    )


def test_a_fingerprint_covers_the_first_rows_and_some_of_the_others() -> None:
    lines = [f"{'xy'[t % 2]},x" for t in range(10_000)]
    prints = []
    for change in (None, 3, 255, 4096, 8192):
        some = [f"z{line[1:]}" if t == change else line for t, line in enumerate(lines)]
        mark = StreamFingerprint()
        for chunk in open_stream(
            io.BytesIO("\n".join(["a,truth", *some]).encode()), chunk_size=3000, label="truth"
        ):
            mark.add(chunk)
        prints.append(mark.digest)
    assert len(set(prints)) == 5


def test_ties_of_margins_are_not_broken_by_the_order_of_the_file() -> None:
    truth = np.array([0] * 10, np.int32)
    guess = np.array([1] * 5 + [0] * 5, np.int32)
    rows = rows_of(0, 10)
    rows.truth, rows.guess, rows.margin = truth, guess, np.ones(10)
    assert {round(one.accuracy, 9) for one in _coverage(rows)} == {0.5}


def test_a_damaged_audit_state_is_refused_in_one_sentence() -> None:
    rows, labels = panel(50)
    run, _ = learn(text(rows, labels))
    good = audit_state(run.audit)
    for name in good:
        for bad in ("nonsense", None, [["x"]], -1.5):
            with pytest.raises(ValueError, match="damaged"):
                RestoredAudit({**good, name: bad})
        with pytest.raises(ValueError, match="damaged"):
            RestoredAudit({other: value for other, value in good.items() if other != name})


def test_findings_add_up(whole: Any) -> None:
    run, _, slow = whole
    rows, labels = panel()
    found = summarize(run.audit, run.fusion)
    assert found.results[0].mistakes == slow["trials"] - slow["right"]["linmax"]
    assert found.results[2].detail == "a"
    assert math.isclose(sum(one.trust for one in found.experts), 1.0)
    assert sum(map(sum, found.confusion.table)) + found.confusion.omitted == found.trials
    assert found.coverage[0].answered == 1.0
    assert math.isclose(found.coverage[0].accuracy, found.results[0].accuracy)
    pairs = [
        (row["a"], row["b"])
        for row, label in zip(rows, labels, strict=True)
        if label in NAMES and {"a", "b"} <= set(row)
    ]
    a, b = found.agreement.experts.index("a"), found.agreement.experts.index("b")
    assert math.isclose(found.agreement.table[a][b] or 0.0, sum(x == y for x, y in pairs) / len(pairs))
    assert [one.id for one in found.next_labels if labels[int(one.id[1:])] is not None] == []
    assert all(one.guess != one.truth and labels[int(one.id[1:])] == one.truth for one in found.hardest)
    assert found.curves.linmax[-1] == found.results[0].mistakes
    half = next(
        one for one in found.comparisons if one.part == "last half" and one.baseline == "plurality"
    ).gain
    at = max(at for at, _ in run.audit.history.snapshots if 2 * at <= 700)
    assert half.trials == slow["trials"] - slow["history"][at - 1][0]
    json.dumps(found.as_json(), allow_nan=False)


def test_the_ablation_of_an_expert_equals_a_run_without_its_column(whole: Any) -> None:
    run, _, _ = whole
    rows = run.audit.sample.rows()
    items, found = ablate_each(run.fusion, rows)
    assert items == len(rows.row)
    assert found[0].expert == "a"
    labels = [run.fusion.classes[code] for code in rows.truth]
    votes = [
        {name: vote for name, vote in rows.chunk.vote_dict(t).items() if name != "a"} for t in range(items)
    ]
    fresh = Fusion(Winnow(1.3), classes=run.fusion.classes, experts=run.fusion.experts)
    assert math.isclose(found[0].accuracy, fresh.learn(votes, labels).accuracy)


def test_dropping_an_expert_is_the_same_in_every_form_of_votes() -> None:
    hard = np.array([[0, 1], [1, -1]], np.int32)
    dense = np.zeros((2, 2, 2))
    dense[0, 0, 0] = dense[0, 1, 1] = dense[1, 0, 1] = 1.0
    sparse = Sparse(np.array([0, 2, 3]), *(np.array(x, np.int32) for x in ([0, 1, 0], [0, 1, 1])), np.ones(3))
    assert drop_expert(Hard(hard), 0).codes.tolist() == [[-1, 1], [-1, -1]]
    assert drop_expert(Dense(dense), 0).values.sum() == 1.0
    quiet = drop_expert(sparse, 0)
    assert (quiet.indptr.tolist(), quiet.expert.tolist(), quiet.label.tolist()) == ([0, 1, 1], [1], [1])
    assert hard[0, 0] == 0
    assert dense.sum() == 3.0


# --- the sample


def rows_of(first: int, items: int) -> SampleRows:
    at = np.arange(first, first + items)
    zeros = np.zeros(items, np.int32)
    return SampleRows(
        at,
        zeros,
        zeros,
        np.zeros(items),
        np.zeros((items, 1), np.int32),
        Chunk(first, at, None, None, None, None),
    )


def fill(sizes: list[int], most: int) -> Sample:
    sample, first = Sample(most), 0
    for size in sizes:
        wanted = np.flatnonzero(sample.selects(first, size))
        sample.add(rows_of(first, size).take(wanted))
        first += size
    return sample


def test_a_small_stream_is_sampled_completely() -> None:
    sample = fill([10, 20, 70], 100)
    assert sample.rows().row.tolist() == list(range(100))  # type: ignore[union-attr]


def test_a_sample_does_not_depend_on_the_size_of_the_chunks() -> None:
    one, other = fill([10_000], 300), fill([7] * 1428 + [4], 300)
    assert one.rows().row.tolist() == other.rows().row.tolist()  # type: ignore[union-attr]
    assert 100 < one.count <= 300
    assert one.rows().chunk.lines.tolist() == one.rows().row.tolist()  # type: ignore[union-attr]


def test_the_rows_of_a_sample_are_evenly_spread() -> None:
    row = fill([100_000], 2000).rows().row  # type: ignore[union-attr]
    parts = np.histogram(row, bins=10, range=(0, 100_000))[0]
    expected = len(row) / 10
    assert np.all(abs(parts - expected) < 5 * math.sqrt(expected))
    assert len(set(row_keys(np.arange(1000)).tolist())) == 1000


# --- losses of probability votes


def batch_of(votes: Any, labels: list[int]) -> Batch:
    truth = np.array(labels, np.int32)
    known = np.full(len(truth), 3, np.int32)
    return Batch(len(truth), votes, None, None, truth, known, [], [], [], [], no_unknown_classes(), 0, 3, 2)


def test_probability_votes_have_square_and_log_losses_in_both_forms() -> None:
    p = np.array([[[0.7, 0.2, 0.1], [0.0, 1.0, 0.0]], [[0.1, 0.1, 0.8], [0.5, 0.5, 0.0]]])
    y = [0, 1]
    square = np.mean([np.sum((p[t, 0] - np.eye(3)[y[t]]) ** 2) for t in range(2)])
    log = np.mean([-math.log(p[t, 0, y[t]]) for t in range(2)])
    dense = ProbabilityLosses()
    dense.add(batch_of(Dense(p), y), np.array([True, True]))
    where = np.nonzero(p)
    indptr = np.array([0, *np.cumsum([np.count_nonzero(p[t]) for t in range(2)])])
    sparse = ProbabilityLosses()
    sparse.add(
        batch_of(Sparse(indptr, where[1].astype(np.int32), where[2].astype(np.int32), p[where]), y),
        np.array([True, True]),
    )
    assert dense.means(0) == pytest.approx((square, log))
    assert sparse.means(0) == pytest.approx((square, log))
    impossible = (-math.log(MIN_PROBABILITY) - math.log(0.5)) / 2
    assert dense.means(1) == pytest.approx(((2 + 0.5) / 2, impossible))
    assert sparse.means(1) == pytest.approx(((2 + 0.5) / 2, impossible))


def test_scores_that_are_not_probabilities_have_no_losses() -> None:
    losses = ProbabilityLosses()
    losses.add(batch_of(Dense(np.array([[[3.0, 1.0, 0.0], [0.0, 1.0, 0.0]]])), [0]), np.array([True]))
    assert losses.means(0) is None  # they do not add up to 1
    assert losses.means(1) is None  # a plain vote
    assert losses.means(7) is None


def test_counts_of_later_experts_begin_with_zeros() -> None:
    made = MistakeCounts()
    one = np.array([0], np.int32)
    made.add(np.array([[0]], np.int32), one, one + 1, one, 1)
    made.add(np.array([[0, 0]], np.int32), one, one + 1, one, 1)
    assert (made.voted.tolist(), made.correct.tolist()) == ([2, 1], [2, 2, 2, 1])
    assert made.since(MistakeCounts()).correct.tolist() == [2, 2, 2, 1]


def test_a_stream_without_experts_or_labels_still_has_findings() -> None:
    run, _ = learn(b"id,a,truth\n1,x,\n2,y,\n")
    found = summarize(run.audit, run.fusion)
    assert isinstance(found, Findings)
    assert (found.trials, found.unlabelled) == (0, 2)
    empty = Audit()
    assert summarize(empty, Fusion(Winnow(1.2))).items == 0


def test_curves_of_experts_count_mistakes_where_they_vote_as_the_table_does() -> None:
    rows, labels = panel()
    rows = [
        {**row, "a": "ham"} if t % 3 else {k: v for k, v in row.items() if k != "b"}
        for t, row in enumerate(rows)
    ]
    run, _ = learn(text(rows, labels))
    found = summarize(run.audit, run.fusion, ablation=False)
    best = next(one for one in found.results if one.name == "best expert")
    assert best.trials < found.trials
    assert found.curves.best[-1] == best.mistakes
    for one, curve in zip(found.experts, found.curves.experts, strict=True):
        votes = round(one.vote_rate * found.trials)
        assert curve[-1] == round((1.0 - one.accuracy) * votes)
