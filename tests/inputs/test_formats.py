"""Whatever votes look like, they are read by the same rules."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax.inputs import Hard, Triplets, decode_classes, read
from tests.oracles.inputs import Expected, commit, fresh, seen, well_made
from tests.oracles.inputs import read as read_slowly

ALPHABETS = {
    "small": [0, 1, 2, 3, 4, 7],
    "negative": [-5, -4, -2, 3],
    "large": [7, 10**6, -(10**9), 2**62],
    "text": ["ham", "spam", "eggs", "a rather long name", "ü"],
    "truth": [False, True],
}
EXPERTS = ["ann", "bob", "cid", "dan"]


@st.composite
def panels(draw, experts=EXPERTS):
    """(rows of votes with None for silence, labels, known classes, known experts, a rule for new classes)."""
    alphabet = draw(st.sampled_from(list(ALPHABETS.values())))
    n = draw(st.integers(0, len(experts)))
    t = draw(st.integers(0, 7))
    vote = st.none() | st.sampled_from(alphabet)
    rows = draw(st.lists(st.lists(vote, min_size=n, max_size=n), min_size=t, max_size=t))
    labels = draw(st.none() | st.lists(vote, min_size=t, max_size=t))
    classes = draw(st.lists(st.sampled_from(alphabet), unique=True))
    rule = draw(st.sampled_from(["add", "add", "ignore"]))
    return rows, labels, classes, rule


def expected(names, rows, labels, classes, experts, rule) -> Expected:
    items = [
        [(name, {} if v is None else {v: 1}) for name, v in zip(names, row, strict=True)] for row in rows
    ]
    return read_slowly(items, labels, classes, experts, rule)


def as_array(rows, n):
    array = np.empty((len(rows), n), dtype=object)
    for t, row in enumerate(rows):
        array[t] = row
    return array


def best_type(array):
    """The same votes as numpy would rather have them; None if it has no type for them."""
    said = [v for v in array.ravel() if v is not None]
    silent = len(said) < array.size
    if not said or (silent and isinstance(said[0], bool)):
        return None
    if isinstance(said[0], str):
        return np.where(array == None, "", array).astype(str)  # noqa: E711
    return array.astype(type(said[0])) if not silent else np.where(array == None, -1, array).astype(int)  # noqa: E711


@given(panels(), st.booleans())
def test_arrays_are_read_by_the_rules(panel, named):
    rows, labels, classes, rule = panel
    n = len(rows[0]) if rows else 0
    names = EXPERTS[:n] if named else list(range(n))
    experts = names if named else []
    want = expected(names, rows, labels, classes, experts, rule)
    array = as_array(rows, n)
    forms = [array, np.asfortranarray(array), rows]
    typed = best_type(array)
    if typed is not None:
        forms += [typed, np.asfortranarray(typed), np.ma.masked_array(typed, mask=array == None)]  # noqa: E711
    if typed is not None and typed.dtype == int:
        holes = array.astype(float)
        forms += [holes] if (np.abs(typed) < 2**53).all() else []
    for form in forms:
        batch = read(form, labels, None, fresh(classes, experts), on_new_class=rule)
        well_made(batch)
        assert isinstance(batch.votes, Hard)
        assert seen(batch) == want


@given(panels(), st.permutations(EXPERTS), st.lists(st.sampled_from([*EXPERTS, "eve"]), unique=True))
def test_frames_are_read_by_the_rules_in_any_order_of_columns(panel, order, experts):
    rows, labels, classes, rule = panel
    names = order[: len(rows[0]) if rows else 0]
    want = expected(names, rows, labels, classes, experts, rule)
    columns = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    pandas = pd.DataFrame(columns, index=pd.RangeIndex(len(rows)))
    frames = [pandas, pandas.convert_dtypes(), pandas.astype("category"), pandas.astype(object)]
    if names:
        polars, arrow = pl.DataFrame(columns, strict=False), pa.table(columns)
        frames += [polars, arrow]
        if any(isinstance(v, str) for row in rows for v in row):
            frames += [polars.with_columns(pl.all().cast(pl.String).cast(pl.Categorical))]
        frames += [pa.table({name: pa.array(c).dictionary_encode() for name, c in columns.items()})]
    if any(isinstance(v, int) and abs(v) > 2**53 for row in rows for v in row):
        frames = frames[-3:] if names else []  # pandas keeps numbers beside None as floats
    for frame in frames:
        batch = read(frame, labels, None, fresh(classes, experts), on_new_class=rule)
        well_made(batch)
        assert seen(batch) == want


@given(panels(), st.randoms(use_true_random=False), st.lists(st.sampled_from(EXPERTS), unique=True))
def test_triplets_are_read_by_the_rules_in_any_order_of_items(panel, random, experts):
    rows, labels, classes, rule = panel
    entries = [(t, i, v) for t, row in enumerate(rows) for i, v in enumerate(row)]
    want = expected(EXPERTS[: len(rows[0]) if rows else 0], rows, labels, classes, experts, rule)
    by_item = list(range(len(rows)))
    random.shuffle(by_item)
    entries.sort(key=lambda entry: by_item[entry[0]])
    item, expert = [t for t, _, _ in entries], [EXPERTS[i] for _, i, _ in entries]
    label = [v for _, _, v in entries]
    for lists in ((item, expert, label), (np.array(item, int), np.array(expert, str), pl.Series(label))):
        if isinstance(lists[2], pl.Series) and lists[2].dtype == pl.Null:
            continue
        batch = read(
            Triplets(*lists, items=len(rows)), labels, None, fresh(classes, experts), on_new_class=rule
        )
        well_made(batch)
        assert seen(batch) == want


@st.composite
def scored(draw):
    """DictRows in which an expert names a class, scores some, or says nothing."""
    alphabet = draw(st.sampled_from(list(ALPHABETS.values())))
    label = st.sampled_from(alphabet)
    score = st.sampled_from([0, 0.0, 1, 1.0, 0.5, -2.5])
    vote = st.none() | label | st.dictionaries(label, score, max_size=3)
    items = draw(st.lists(st.dictionaries(st.sampled_from(EXPERTS), vote), max_size=6))
    labels = draw(st.none() | st.lists(st.none() | label, min_size=len(items), max_size=len(items)))
    classes = draw(st.lists(label, unique=True))
    experts = draw(st.lists(st.sampled_from(EXPERTS), unique=True))
    return items, labels, classes, experts, draw(st.sampled_from(["add", "add", "ignore"]))


def spelled_out(items):
    return [
        [(e, v if isinstance(v, dict) else {} if v is None else {v: 1}) for e, v in item.items()]
        for item in items
    ]


@given(scored())
def test_dicts_are_read_by_the_rules(panel):
    items, labels, classes, experts, rule = panel
    want = read_slowly(spelled_out(items), labels, classes, experts, rule)
    for truth in (labels, None if labels is None else np.array(labels, object)):
        batch = read(items, truth, None, fresh(classes, experts), on_new_class=rule)
        well_made(batch)
        assert seen(batch) == want


@given(scored())
def test_triplets_with_values_are_dicts_of_scores(panel):
    items, labels, classes, experts, rule = panel
    cells = [
        (t, e, c, x) for t, item in enumerate(spelled_out(items)) for e, said in item for c, x in said.items()
    ]
    items = [
        [
            (e, {c: x for _, f, c, x in cells if (_, f) == (t, e)})
            for e in dict.fromkeys(f for s, f, _, _ in cells if s == t)
        ]
        for t in range(len(items))
    ]
    want = read_slowly(items, labels, classes, experts, rule)
    columns = [list(column) for column in zip(*cells, strict=True)] or [[], [], [], []]
    batch = read(
        Triplets(*columns, items=len(items)), labels, None, fresh(classes, experts), on_new_class=rule
    )
    well_made(batch)
    assert seen(batch) == want


@given(panels(), st.data())
def test_pieces_are_read_as_the_whole(panel, data):
    rows, labels, classes, rule = panel
    dicts = [{name: v for name, v in zip(EXPERTS, row, strict=False)} for row in rows]
    cut = data.draw(st.integers(0, len(rows)))
    for votes in (as_array(rows, len(rows[0]) if rows else 0), dicts):
        whole = read(votes, labels, None, fresh(classes), on_new_class=rule)
        met = fresh(classes)
        known, names, codes = [], [], []
        for piece in (slice(0, cut), slice(cut, None)):
            part = read(votes[piece], None if labels is None else labels[piece], None, met, on_new_class=rule)
            if labels is not None:
                commit(met, part)
            known += part.known.tolist()
            codes += seen(part).votes
            guesses = part.known - 1  # the class met last, an unknown one if there is one
            names += decode_classes(guesses, met.classes, part.unknown_classes).tolist()
        once = fresh(classes)
        if labels is not None:
            commit(once, whole)
            assert met.classes.names == once.classes.names
        assert known == whole.known.tolist()
        assert codes == seen(whole).votes
        assert names == decode_classes(whole.known - 1, once.classes, whole.unknown_classes).tolist()


@pytest.mark.parametrize("kind", ["small", "large", "text"])
@pytest.mark.parametrize("labelled", [pytest.param(1.0, marks=pytest.mark.slow), 0.7, 0.0])
def test_long_arrays_are_read_as_short_ones(kind, labelled):
    rng = np.random.default_rng(0)
    names = np.array(ALPHABETS[kind])
    drift = np.minimum(np.arange(1200) // 200, len(names) - 1)  # classes appear late
    code = rng.integers(0, drift[:, None] + 1, size=(1200, 7))
    truth = names[rng.integers(0, drift + 1)].tolist()
    truth = [y if rng.random() < labelled else None for y in truth]
    rows = names[code]
    items = [[(i, {v: 1}) for i, v in enumerate(row)] for row in rows.tolist()]
    want = read_slowly(items, truth, [], [])
    for array in (rows, np.asfortranarray(rows), rows.astype(object)):
        batch = read(array, truth, None, fresh())
        well_made(batch)
        assert seen(batch) == want


@pytest.mark.parametrize("distinct", [3, pytest.param(300, marks=pytest.mark.slow), 30_000])
@pytest.mark.parametrize("kind", [np.int64, np.uint64, str])
def test_very_many_cells_and_classes_keep_their_names(distinct, kind):
    names = (np.arange(distinct) * 10**12 + 5).astype(kind)
    code = np.random.default_rng(1).integers(0, distinct, size=(50_000, 3))
    votes = names[code]
    batch = read(votes, np.full(50_000, names[0]), None, fresh())
    assert (np.array(batch.new_classes)[batch.votes.codes] == votes).all()
    firsts = dict.fromkeys(np.column_stack((votes, np.full(50_000, names[0]))).ravel().tolist())
    assert batch.new_classes == list(firsts)
