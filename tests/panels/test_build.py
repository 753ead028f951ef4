"""Items made of tables: the same votes and labels whatever the shape of the file."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax import Fusion, Triplets
from linmax.panels.build import vote_codes
from linmax.panels.panel import read_panel
from linmax.panels.roles.column_role import PanelOptions
from tests.helpers.examples import examples
from tests.panels.small_tables import (
    as_csv,
    draw_labels,
    labels_of,
    panel_columns,
    read_columns,
    vote,
    votes_of,
)

ITEMS = 60
IDS = [f"T{i:03d}" for i in range(ITEMS)]
EXPERTS = ("ann", "bob", "eve")


def read_parquet(columns, **options):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return read_panel([io.BytesIO(file.getvalue())], PanelOptions(**options))


@st.composite
def panels(draw):
    """Draw labels, and votes of three experts, some of them missing."""
    k = draw(st.integers(2, 4))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    labels = [*range(k), *rng.integers(0, k, ITEMS - k).tolist()]
    table = {}
    for name in EXPERTS:
        right, silent = rng.random(ITEMS) < 0.8, rng.random(ITEMS) < 0.2
        others = rng.integers(0, k, ITEMS)
        table[name] = [
            None if silent[i] else (labels[i] if right[i] else int(others[i])) for i in range(ITEMS)
        ]
        table[name][0] = labels[0]
    return k, labels, table, rng


@given(panels())
@examples(5)
def test_a_panel_is_the_same_in_every_shape(drawn):
    k, labels, table, rng = drawn
    wide = {"id": IDS, **table, "label": labels}
    truth = {"id": IDS, "label": labels}
    expected = [
        {name: str(table[name][i]) for name in EXPERTS if table[name][i] is not None} for i in range(ITEMS)
    ]
    shuffled = rng.permutation(ITEMS).tolist()
    floats = {name: [None if one is None else float(one) for one in column] for name, column in table.items()}
    rows = [(IDS[i], name, table[name][i], labels[i]) for i in range(ITEMS) for name in EXPERTS]
    rows = [rows[i] for i in rng.permutation(len(rows))]
    long = dict(zip(("task", "worker", "answer", "gold"), map(list, zip(*rows, strict=True)), strict=True))
    hot = {
        f"{name}:{c}": [None if one is None else 0.75 if one == c else 0.25 / (k - 1) for one in table[name]]
        for name in EXPERTS
        for c in range(k)
    }
    joined = [
        io.BytesIO(as_csv({"id": IDS, **table})),
        {n: [v[i] for i in shuffled] for n, v in truth.items()},
    ]
    joined[1] = io.BytesIO(as_csv(joined[1]))
    found = [
        read_columns(wide),
        read_columns({"id": IDS, **floats, "label": labels}),
        read_parquet(wide),
        read_columns(long),
        read_columns({"id": IDS, **hot, "label": labels}),
        read_panel(joined),
    ]
    for panel in found:
        assert votes_of(panel) == expected
        assert labels_of(panel) == [str(one) for one in labels]


def test_integers_stay_integers_and_are_learned_as_they_are():
    columns = panel_columns(80, (0, 1, 2))
    chunk = read_parquet(columns).chunk
    assert {str(kind) for kind in chunk.votes.schema.types} == {"int64"}
    assert chunk.raw_labels.dtype == np.int64
    fusion = Fusion()
    fusion.learn(chunk.votes, chunk.raw_labels)
    assert sorted(fusion.classes) == [0, 1, 2]
    assert chunk.votes["m0"].to_pylist() == columns["m0"]


def test_booleans_of_parquet_are_classes_true_and_false():
    labels = draw_labels(80, (False, True))
    columns = {"ann": vote(labels, 0.8, 1), "bob": vote(labels, 0.8, 2), "label": labels}
    panel = read_parquet(columns)
    assert set(panel.classes.names) == {"True", "False"}
    assert not panel.warnings
    assert votes_of(panel)[0]["ann"] == str(columns["ann"][0])


def test_integer_votes_name_classes_that_are_texts():
    labels = draw_labels(80, (0, 1, 2))
    panel = read_parquet({"ann": vote(labels, 0.8, 1), "label": [str(one) for one in labels]})
    assert set(panel.chunk.votes["ann"].to_pylist()) == {"0", "1", "2"}


def test_floats_with_missing_values_are_integers_with_missing_values():
    labels = draw_labels(80, (0, 1))
    votes = [None if i == 0 else float(one) for i, one in enumerate(vote(labels, 0.8, 1))]
    chunk = read_parquet({"ann": votes, "label": labels}).chunk
    assert chunk.votes["ann"].to_pylist()[:2] == [None, int(votes[1])]


def test_dictionary_columns_are_read_like_texts():
    columns = panel_columns()
    encoded = {name: pa.array(values).dictionary_encode() for name, values in columns.items()}
    assert votes_of(read_parquet(encoded)) == votes_of(read_parquet(columns))


def test_a_complement_is_added_to_the_probability_of_one_of_two_classes():
    labels = draw_labels(80, (0, 1))
    p = [0.9 if one else 0.2 for one in labels]
    panel = read_columns({"prob_nn": [*p[:-1], None], "label": labels})
    votes = panel.chunk.vote_dicts()
    assert votes[0]["nn"] == pytest.approx({"0": 1.0 - p[0], "1": p[0]})
    assert votes[-1] == {}


@pytest.mark.parametrize("scored", [False, True])
def test_vote_codes_have_the_preferred_class_of_every_expert_however_many_there_are(scored):
    experts = np.array([f"w{i % 3000}" for i in range(6000)], object)
    item = np.repeat(np.arange(2), 3000)
    label = np.array(["a", "b"], object)[item]
    votes = Triplets(item, experts, label, None, 2)
    if scored:  # two scores each: the larger one counts
        other = np.array(["b", "a"], object)[item]
        votes = Triplets(
            np.concatenate([item, item]), np.concatenate([experts, experts]), np.concatenate([label, other]),
            np.repeat([0.7, 0.3], 6000), 2,
        )  # fmt: skip
    found = vote_codes(votes, ["a", "b"])
    assert len(found) == 3000
    assert {(*items, *codes) for items, codes in found.values()} == {(0, 1, 0, 1)}


def test_vote_codes_of_a_table_leave_out_abstentions():
    votes = pa.table({"ann": ["a", None, "b"], "bob": [None, None, None]})
    found = vote_codes(votes, ["a", "b"])
    assert [one.tolist() for one in found["ann"]] == [[0, 2], [0, 1]]
    assert len(found["bob"][0]) == 0
