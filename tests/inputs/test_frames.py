"""Text columns of every library and type are encoded alike, with pyarrow and without it."""

import subprocess
import sys
from enum import StrEnum

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from linmax.inputs import frames, read
from tests.oracles.inputs import fresh

VOTES = ["spam", None, "ham", "spam", "", "eggs"]
CATEGORIES = ["unused", "eggs", "ham", "spam", ""]

COLUMNS = {
    "pandas str": lambda: pd.DataFrame({"ann": pd.Series(VOTES, dtype="str")}),
    "pandas object": lambda: pd.DataFrame({"ann": pd.Series(VOTES, dtype=object)}),
    "pandas string[python]": lambda: pd.DataFrame({"ann": pd.Series(VOTES, dtype=pd.StringDtype("python"))}),
    "pandas category": lambda: pd.DataFrame({"ann": pd.Categorical(VOTES, CATEGORIES)}),
    "polars text": lambda: pl.DataFrame({"ann": VOTES}),
    "polars categorical": lambda: pl.DataFrame({"ann": pl.Series(VOTES, dtype=pl.Categorical)}),
    "polars enum": lambda: pl.DataFrame({"ann": pl.Series(VOTES, dtype=pl.Enum(CATEGORIES))}),
    "arrow text": lambda: pa.table({"ann": pa.array(VOTES)}),
    "arrow large text": lambda: pa.table({"ann": pa.array(VOTES, pa.large_string())}),
    "arrow text view": lambda: pa.table({"ann": pa.array(VOTES).cast(pa.string_view())}),
    "arrow dictionary": lambda: pa.table({"ann": pa.array(VOTES).dictionary_encode()}),
    "arrow chunks": lambda: pa.table({"ann": pa.chunked_array([VOTES[:2], [], VOTES[2:]], pa.string())}),
    "arrow chunks of dictionaries": lambda: pa.table(
        {"ann": pa.chunked_array([pa.array(some).dictionary_encode() for some in (VOTES[:3], VOTES[3:])])}
    ),
}


def check(frame):
    batch = read(frame, ["ham"] * 6, None, fresh())
    assert batch.votes.codes.tolist() == [[0], [-1], [1], [0], [-1], [2]]
    assert batch.new_classes == ["spam", "ham", "eggs"]
    assert read(frame, None, None, fresh(["eggs", "ham", "spam"])).votes.codes.tolist() == [
        [2], [-1], [1], [2], [-1], [0],
    ]  # fmt: skip


@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
def test_text_columns_of_every_type_are_encoded_alike(make):
    check(make())


@pytest.mark.parametrize("name", [name for name in COLUMNS if not name.startswith("arrow")])
def test_text_columns_are_encoded_without_pyarrow(name, monkeypatch):
    monkeypatch.setattr(frames, "_has_pyarrow", lambda: False)
    check(COLUMNS[name]())


def test_columns_without_any_text_abstain(monkeypatch):
    for has_pyarrow in (True, False):
        monkeypatch.setattr(frames, "_has_pyarrow", lambda has_pyarrow=has_pyarrow: has_pyarrow)
        for frame in (pl.DataFrame({"ann": pl.Series([None, None], dtype=pl.String)}),):
            assert read(frame, None, None, fresh("a")).votes.codes.tolist() == [[-1], [-1]]
    frame = pa.table({"ann": pa.array([None, None], pa.string())})
    assert read(frame, None, None, fresh("a")).votes.codes.tolist() == [[-1], [-1]]


def test_an_arrow_dictionary_may_hold_numbers_and_missing_values():
    numbers = pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 1]), pa.array([5, None, 3]))
    batch = read(pa.table({"ann": numbers}), [3] * 4, None, fresh())
    assert batch.votes.codes.tolist() == [[0], [1], [-1], [-1]]
    assert batch.new_classes == [3, 5]


def test_objects_that_are_one_label_get_one_code():
    class Answer(StrEnum):
        HAM = "ham"

    frame = pd.DataFrame({"ann": pd.Series([Answer.HAM, "spam", "ham"], dtype=object)})
    assert read(frame, None, None, fresh(["ham", "spam"])).votes.codes.tolist() == [[0], [1], [0]]


def test_long_text_columns_are_encoded_as_short_ones():
    votes = np.array(["a", "b", "c"])[np.random.default_rng(0).integers(0, 3, 40_000)]
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        frame = make({"ann": votes.tolist(), "bob": votes[::-1].tolist(), "cid": ["c"] * len(votes)})
        codes = read(frame, None, None, fresh("abc")).votes.codes
        assert (np.array(["a", "b", "c"])[codes[:, 0]] == votes).all()
        assert (codes[:, 1] == codes[::-1, 0]).all()


def test_pandas_and_polars_are_read_where_pyarrow_cannot_be_imported():
    program = (
        "import sys\n"
        "sys.modules['pyarrow'] = None\n"  # importing it raises ImportError
        "import importlib.util as util\n"
        "found = util.find_spec\n"
        "util.find_spec = lambda name, package=None: None if name == 'pyarrow' else found(name, package)\n"
        "import polars as pl\n"
        "from linmax.inputs import Names, read\n"
        "for kind in (pl.String, pl.Categorical):\n"
        "    frame = pl.DataFrame({'ann': pl.Series(['x', None, 'y'], dtype=kind)})\n"
        "    assert read(frame, ['x'] * 3, None, Names()).votes.codes.tolist() == [[0], [-1], [1]]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
