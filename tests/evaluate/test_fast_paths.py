"""Fast paths give the results of slow ones, bit for bit: columns, labels, counts and background work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from linmax import Fusion
from linmax.evaluate import metrics
from linmax.evaluate.audit import sample, trial_counter
from linmax.evaluate.audit.checkpoint import LearnedPrefix, RestoredAudit, audit_state
from linmax.evaluate.audit.counts import CountHistory, MistakeCounts
from linmax.evaluate.audit.resumable_run import EncodedChunk, ResumableRun, encode_ahead
from linmax.evaluate.audit.sample import Sample
from linmax.evaluate.metrics import ClassCounts
from linmax.inputs import encode as laying
from linmax.inputs import read
from linmax.inputs.batch import plurality
from linmax.inputs.encode import CodedArray
from linmax.inputs.names import Names
from linmax.kernels.averaging import MeanWeights
from linmax.kernels.forms import ConstantVotes, Hard, LastWeights, Sum
from linmax.runtime import concurrency
from linmax.streams import StreamError, open_stream
from linmax.streams.chunk import concat_chunks
from linmax.streams.readers.arrow import validate_array
from linmax.streams.stream import ReadAhead

NAMES = np.array(["ham", "spam", "news", "late", "later", "never"], object)
ROWS = 40_000
EXPERTS = 4


@pytest.fixture(scope="module")
def panel() -> tuple[Any, Any]:
    """Votes and labels as codes, -1 for none; classes appear by and by, one of them as a label first."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, ROWS)
    votes = np.where(rng.random((ROWS, EXPERTS)) < 0.6, truth[:, None], rng.integers(0, 3, (ROWS, EXPERTS)))
    votes[20_000:, 0] = np.where(rng.random(ROWS - 20_000) < 0.2, 3, votes[20_000:, 0])
    truth[30_000::7] = 4  # novel at first
    votes[rng.random(votes.shape) < 0.1] = -1
    truth[rng.random(ROWS) < 0.1] = -1
    votes[25_000, 1], truth[25_000] = 5, -1  # a class that only an item without a label knows
    return votes, truth


def as_texts(codes: Any, empty: Any = None) -> pa.Array:
    table = np.append(NAMES, empty)
    return pa.array(table[codes].tolist(), pa.string())


def columns(panel: tuple[Any, Any], kind: str) -> dict[str, pa.Array]:
    votes, truth = panel
    one = {
        "text": as_texts,
        "empty": lambda codes: as_texts(codes, ""),
        "dictionary": lambda codes: as_texts(codes).dictionary_encode(),
        "large": lambda codes: as_texts(codes).cast(pa.large_string()),
        "small": lambda codes: pa.array(codes.astype(np.int8), mask=codes < 0),
        "wide": lambda codes: pa.array(codes.astype(np.int64), mask=codes < 0),
    }[kind]
    return {f"m{i}": one(votes[:, i]) for i in range(EXPERTS)} | {"truth": one(truth)}


def run_file(path: Path, *, chunk: int, ahead: bool) -> tuple[ResumableRun, list[Any]]:
    fusion = Fusion("Averaged(Winnow(1.2))")
    stream = open_stream(path, chunk_size=chunk, label="truth")
    chunks: Any = encode_ahead(fusion, stream) if ahead else stream
    done = ResumableRun(fusion, chunks)
    return done, list(done)


def found(run: ResumableRun, learned: list[Any]) -> list[Any]:
    """All results of a run, with class names as codes."""
    code = {name: i for i, name in enumerate(run.fusion.classes)}
    audit = audit_state(run.audit)
    for top in ("hardest", "doubtful"):
        for item in audit[top]:
            item[4:6] = [code.get(one, one) for one in item[4:6]]
            item[7] = [(expert, code.get(vote, -1)) for expert, vote in item[7]]
    audit["milestones"] = [
        [one[0], code.get(one[1]), code.get(one[2]), *one[3:]] for one in audit["milestones"]
    ]
    audit["confusion"] = sorted(audit["confusion"])
    for name in ("distances", "expert_distances"):  # only numbers have them
        del audit["classes"][name]
    state = {name: array.tolist() for name, array in run.fusion.state().items()}
    margins = np.concatenate([one.margins for one in learned]).tobytes()
    guesses = [code.get(name, -1) for one in learned for name in one.guesses.tolist()]
    return [audit, state, margins, guesses]


@pytest.fixture(scope="module")
def slow(panel: tuple[Any, Any], tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What is found in small chunks of text, where every short cut is off."""
    path = tmp_path_factory.mktemp("plain") / "panel.parquet"
    pa.parquet.write_table(pa.table(columns(panel, "text")), path, use_dictionary=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(laying, "NUMPY_SIZE", 1 << 62)
        patch.setattr(sample, "TABLE_CELLS", 0)
        patch.setattr(concurrency, "thread_count", lambda: 1)
        return found(*run_file(path, chunk=3000, ahead=False))


KINDS = ["text", "empty", "dictionary", "large", "small", "wide"]


@pytest.mark.parametrize(
    ("kind", "chunk", "ahead"),
    [
        pytest.param(kind, chunk, ahead, marks=() if (i % 2 == 0) == ahead else pytest.mark.slow)
        for i, kind in enumerate(KINDS)
        for chunk, ahead in ((65_536, False), (17_001, True))
    ],
)
def test_every_kind_of_column_in_any_pieces_is_found_the_same(
    panel: tuple[Any, Any], slow: list[Any], tmp_path: Path, kind: str, chunk: int, ahead: bool
) -> None:
    path = tmp_path / "panel.parquet"
    pa.parquet.write_table(pa.table(columns(panel, kind)), path, row_group_size=15_000)
    same = found(*run_file(path, chunk=chunk, ahead=ahead)) == slow
    assert same


def test_a_run_that_stops_resumes_to_the_same_results(
    panel: tuple[Any, Any], slow: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "panel.parquet"
    pa.parquet.write_table(pa.table(columns(panel, "text")), path)
    fusion = Fusion("Averaged(Winnow(1.2))")
    with ReadAhead(encode_ahead(fusion, open_stream(path, label="truth"))) as chunks:
        first = ResumableRun(fusion, chunks, every=35_000)
        outcomes = []
        for outcome in first:
            outcomes.append(outcome)
            if first.audit.items == 35_000:
                break
    first.audit.wait()
    assert fusion.trials == first.audit.counts.trials + first.audit.novel  # nothing is learned ahead
    before, recalled = (
        LearnedPrefix(35_000, first.fingerprint.digest),
        RestoredAudit(audit_state(first.audit)),
    )
    again = ResumableRun(
        fusion, encode_ahead(fusion, open_stream(path, label="truth")), prefix=before, restored=recalled
    )
    outcomes += list(again)
    same = found(again, outcomes) == slow
    assert same  # votes so, as their difference would take minutes to print


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint16])
@pytest.mark.parametrize("width", [1, 4, 6])
def test_columns_are_laid_out_alike_by_numpy_and_by_machine_code(
    kind: type, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(width)
    low = 0 if kind is np.uint16 else -1
    votes = [
        CodedArray(rng.integers(low, 5, 999).astype(kind), low, [None] * (5 - low), ()) for _ in range(width)
    ]
    tables = [rng.integers(-1, 9, 5 - low).tolist() for _ in votes]
    seats = rng.permutation(width + 1)[:width].tolist()
    one, other = np.full((2, 999, width + 1), -7, np.int32)
    laying.write_columns(votes, tables, seats, one)
    monkeypatch.setattr(laying, "NUMPY_SIZE", 0)
    laying.write_columns(votes, tables, seats, other)
    assert np.array_equal(one, other)


def test_a_code_outside_of_its_table_is_an_error_in_machine_code_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laying, "NUMPY_SIZE", 0)
    for code in (5, -2, 2**31 - 1):
        votes = [CodedArray(np.array([0, code], np.int32), -1, [None, "a"], ())]
        with pytest.raises(IndexError, match="row 1 of 2"):
            laying.write_columns(votes, [[-1, 0]], [0], np.empty((2, 1), np.int32))


def test_a_part_of_a_familiar_batch_is_what_reading_that_part_gives() -> None:
    rolls = Names()
    rolls.classes.extend(["a", "b"])
    rolls.experts.extend([0, 1])
    votes, labels = [["a", "b"], ["b", None], ["b", "b"]], ["a", None, "b"]
    whole, alone = read(votes, labels, None, rolls), read(votes[1:], labels[1:], None, rolls)
    part = whole.slice(1, 3)
    assert whole.sliceable
    assert part.trials == 2
    assert part.votes.codes.tolist() == alone.votes.codes.tolist()
    assert (part.labels.tolist(), part.known.tolist()) == (alone.labels.tolist(), alone.known.tolist())
    assert not read([["a", "c"]], ["a"], None, rolls).sliceable
    assert not read([["a", "c"]], [None], None, rolls).sliceable  # c is a stranger
    assert not read([{0: {"a": 0.5}}], ["a"], None, rolls).sliceable


def test_a_chunk_encoded_ahead_is_discarded_when_a_new_class_appears(tmp_path: Path) -> None:
    path = tmp_path / "panel.csv"
    path.write_text("ann,truth\n" + "a,b\n" * 4 + "b,c\n")
    fusion = Fusion("Perceptron()", classes=["a", "b"], experts=["ann"])
    first, second, last = encode_ahead(fusion, open_stream(path, chunk_size=2, label="truth"))
    assert isinstance(first, EncodedChunk)
    assert first.batch_for(fusion) is first.batch
    assert not isinstance(last, EncodedChunk)
    fusion.learn(last.votes, last.labels)
    assert isinstance(second, EncodedChunk)
    assert second.batch_for(fusion) is None


def test_texts_of_labels_become_an_array_when_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "panel.csv"
    path.write_text("ann,truth\na,b\na,\na,c\n")
    (chunk,) = open_stream(path, label="truth")
    assert isinstance(chunk.raw_labels, pa.DictionaryArray)
    assert chunk.labels.tolist() == ["b", None, "c"]
    assert chunk.labels.dtype == object
    assert chunk.slice(1, 3).labels.tolist() == [None, "c"]
    assert chunk.take(np.array([2, 0])).labels.tolist() == ["c", "b"]
    assert concat_chunks([chunk, chunk.slice(2, 3)]).labels.tolist() == ["b", None, "c", "c"]
    assert chunk.with_labels(np.array(["x", "y", "z"])).labels.tolist() == ["x", "y", "z"]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.int64()])
def test_codes_that_point_outside_of_their_dictionary_are_refused(kind: Any) -> None:
    names = pa.array(["a", "b"])

    def column(codes: list[Any]) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(codes, kind), names, safe=False)

    for fine in ([0, 1, None], [], [None]):
        validate_array(column(fine))
    for damaged in ([0, 2], [None, 100], [-1] if str(kind).startswith("i") else [2]):
        with pytest.raises((ValueError, pa.ArrowException)):
            validate_array(column(damaged))
    torn = pa.DictionaryArray.from_arrays(
        pa.array([0], pa.int8()), pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    )
    with pytest.raises(pa.ArrowException):
        validate_array(torn)


def test_a_damaged_dictionary_in_a_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "panel.arrow"
    column = pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int32()), pa.array(["a", "b"]), safe=False)
    table = pa.table({"ann": column, "truth": pa.array(["a", "b"])})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(StreamError, match="not a valid Arrow file"):
        next(open_stream(path, label="truth"))


@pytest.mark.parametrize("classes", [3, 40])
def test_counts_are_what_numpy_counts(classes: int) -> None:
    rng = np.random.default_rng(classes)
    votes = rng.integers(-1, classes, (500, 6)).astype(np.int32)
    votes[::9] = -1
    truth, guess = rng.integers(-1, classes, (2, 500)).astype(np.int32)
    known = np.full(500, classes - 1, np.int32)
    counts = MistakeCounts()
    for begin in range(0, 500, 130):
        rows = slice(begin, begin + 130)
        counts.add(votes[rows], truth[rows], known[rows], guess[rows], classes)
    there = (truth >= 0) & (truth < known)
    y = truth[there]
    right = np.column_stack(
        (guess[there] == y, plurality(votes[there], classes) == y, votes[there] == y[:, None])
    )
    assert counts.trials == there.sum()
    assert counts.correct.tolist() == right.sum(axis=0).tolist()
    assert counts.both_correct.tolist() == (right & right[:, :1]).sum(axis=0).tolist()
    assert counts.voted.tolist() == (votes[there] >= 0).sum(axis=0).tolist()


@pytest.mark.parametrize("cells", [0, 1 << 12])
def test_rows_are_selected_as_by_hand(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "TABLE_CELLS", cells)
    rng = np.random.default_rng(0)
    rolls = Names()
    rolls.classes.extend(range(4))
    votes = rng.integers(0, 4, (300, 2))
    labels = [None if y == 4 else int(y) for y in rng.integers(0, 5, 300)]
    batch = read(votes, labels, None, rolls)
    batch.known[:] = 3
    guess = rng.integers(0, 3, 300).astype(np.int32)
    margin = np.where(rng.random(300) < 0.1, np.nan, rng.random(300))
    marks = np.empty(300, np.uint8)
    limit = 1 << 62
    found_rows = sample.select_rows(
        1000, batch, guess, margin, sample.SelectionThresholds(limit, 0.5, -0.2), marks
    )
    y, lead = batch.labels, np.nan_to_num(margin, nan=0.0)
    counted = (y >= 0) & (y < 3)
    assert (found_rows.unlabelled, found_rows.novel) == ((y < 0).sum(), (y == 3).sum())
    pairs = list(zip(y[counted].tolist(), guess[counted].tolist(), strict=True))
    assert found_rows.pairs == [(pair, pairs.count(pair)) for pair in sorted(set(pairs))]
    sampled = counted & Sample(limit=limit).selects(1000, 300)
    assert np.array_equal((marks & sample.SAMPLED) > 0, sampled)
    assert np.array_equal((marks & sample.CONFIDENT_MISTAKE) > 0, counted & (guess != y) & (lead > 0.5))
    assert np.array_equal((marks & sample.UNCERTAIN) > 0, (y < 0) & (-lead > -0.2))


def test_two_hypotheses_are_tallied_at_a_time_as_one_after_the_other() -> None:
    rng = np.random.default_rng(1)
    form = Sum(Hard(rng.integers(-1, 3, (5, 7)).astype(np.int32)), ConstantVotes(3), 7)
    w, past, since = rng.random((3, 10))
    last, mean = LastWeights(w), MeanWeights(w, past, since, 3.0, 0.1)
    for t in range(5):
        one, other, first, second = np.zeros((4, 4))
        form.add_scores(t, 3, last, 0, one)
        form.add_scores(t, 3, mean, 0, other)
        form.add_both_scores(t, 3, last, mean, 0, first, second)
        assert np.array_equal(one, first)
        assert np.array_equal(other, second)


def coded_panel(classes: int, experts: int = 5, rows: int = 2000) -> tuple[Any, ...]:
    """Votes, labels, known classes and three predictions as codes; with ties and novel labels."""
    rng = np.random.default_rng(classes)
    truth = rng.integers(-1, classes, rows).astype(np.int32)
    votes = np.where(
        rng.random((rows, experts)) < 0.4, truth[:, None], rng.integers(-1, classes, (rows, experts))
    )
    votes[::50] = -1
    known = np.minimum(2 + np.arange(rows) // 100, classes).astype(np.int32)
    predictions = np.where(rng.random((3, rows)) < 0.7, truth, 0).clip(0).astype(np.int32)
    return votes.astype(np.int32), truth, known, predictions


def counted_in_parts(panel: tuple[Any, ...], names: list[str], cuts: list[int]) -> list[Any]:
    """All counts of a panel that comes in parts."""
    votes, truth, known, predictions = panel
    by_class, history = ClassCounts(), CountHistory(3)
    for begin, end in zip([0, *cuts], [*cuts, len(truth)], strict=True):
        part = slice(begin, end)
        by_class.add(votes[part], truth[part], known[part], predictions[0, part], names)
        history.add(votes[part], truth[part], known[part], predictions[:, part], len(names))
    snapshots = [(items, counts.state()) for items, counts in history.snapshots]
    return [by_class.state(), history.counts.state(), history.step, snapshots]


@pytest.mark.parametrize(
    "names",
    [["a", "b"], ["1", "2", "b", "7"], ["0", "1", "5", "7", "8", "9"], ["0.1", "0.7", "2", "b"],
     [str(c) for c in range(8)], [f"c{c}" for c in range(9)], [f"{c}.3" for c in range(30)]],
)  # fmt: skip
def test_counts_in_tables_and_packed_counts_are_those_of_plain_loops(
    monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    panel = coded_panel(len(names))
    fast = [counted_in_parts(panel, names, cuts) for cuts in ([], [1, 32, 700, 1500])]
    monkeypatch.setattr(metrics, "PAIR_CELLS", 0)
    monkeypatch.setattr(trial_counter, "MAX_CLASSES", 0)
    slow = counted_in_parts(panel, names, [10, 900])
    assert fast == [slow, slow]


def test_packed_counts_have_room_for_the_votes_of_all_experts() -> None:
    for experts in (255, 256):
        votes = np.ones((3, experts), np.int32)
        counts, truth, known = MistakeCounts(), np.array([0, 1, 1], np.int32), np.full(3, 8, np.int32)
        counts.add(votes, truth, known, truth, 8)
        assert counts.correct[: counts.first_expert].tolist() == [3, 2]
        assert counts.shared.tolist() == [2.0, 2.0]
