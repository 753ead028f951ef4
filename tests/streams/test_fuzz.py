"""Any bytes are read or refused with one sentence, and files written by other programs are read back."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from linmax.streams import StreamError, open_stream
from tests.helpers.examples import examples
from tests.streams.test_streams import FILES, LONG

HOSTILE = Path(__file__).parent / "hostile_files"


def array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([[1, 2, 1], [0, -1, 0]] * 5, np.int8))
    return file.getvalue()


SVM = {"a.svm": b"1 1:0.5 3:2\n-1 2:1e3 # x\n" * 20}
SCORES = {"scores.csv": b"ann:a,ann:b,truth\n.5,.5,a\n,1,b\n" * 5}
GOOD = {**FILES, **SVM, **SCORES, "votes.npy": array()}
ROLES: list[dict[str, Any]] = [{}, {"label": ""}, {"label": "truth"}, LONG]
SEEDS = [GOOD[name] for name in GOOD] + [path.read_bytes()[:4000] for path in sorted(HOSTILE.iterdir())]


def read(data: bytes, name: str | None, **options: Any) -> int:
    """Return the number of rows of a file, or -1 if it is refused with one sentence."""
    file = io.BytesIO(data)
    if name is not None:
        file.name = name
    try:
        return count_rows(file, **options)
    except StreamError as error:
        sentence = str(error)
    assert "\n" not in sentence
    assert len(sentence) < 500
    return -1


def count_rows(file: io.BytesIO, **options: Any) -> int:
    rows = 0
    stream = open_stream(file, **options)
    for chunk in stream:
        assert chunk.first == rows
        assert chunk.labels is None or len(chunk.labels) == chunk.items
        assert chunk.ids is None or len(chunk.ids) == chunk.items
        rows += chunk.items
    return rows


@given(data=st.binary(max_size=300), name=st.sampled_from([None, *GOOD]))
@examples(20, times=16)
def test_any_bytes_are_read_or_refused(data: bytes, name: str | None) -> None:
    read(data, name, chunk_size=3, label="")


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """A good file with some bytes changed, removed, repeated or cut off."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        how = draw(st.sampled_from(["change", "remove", "repeat", "cut", "insert"]))
        size = draw(st.integers(1, 16))
        if how == "change":
            data = data[:at] + draw(st.binary(min_size=1, max_size=8)) + data[at + size :]
        elif how == "remove":
            data = data[:at] + data[at + size :]
        elif how == "repeat":
            data = data[: at + size] + data[at:]
        elif how == "cut":
            data = data[:at]
        else:
            data = (
                data[:at]
                + draw(st.sampled_from([b'"', b"\n", b"\r", b",", b"\0", b":", b"{", b"\xff"]))
                + data[at:]
            )
    return data


@pytest.mark.parametrize("name", GOOD)
def test_a_damaged_file_is_read_or_refused(name: str) -> None:
    @given(data=damaged(GOOD[name]))
    @examples(6, times=14)
    def attempt(data: bytes) -> None:
        for roles in (LONG,) if name == "long.csv" else ROLES[:3]:
            read(data, name, chunk_size=50, **roles)

    attempt()


@given(
    seed=st.sampled_from(SEEDS),
    name=st.sampled_from([None, *GOOD]),
    roles=st.sampled_from(ROLES),
    ignore_case=st.booleans(),
)
@examples(15, times=16)
def test_a_file_with_a_wrong_name_is_read_or_refused(
    seed: bytes, name: str | None, roles: dict[str, Any], ignore_case: bool
) -> None:
    read(seed, name, ignore_case=ignore_case, **roles)


# a small file with several control characters is taken for binary data
LETTERS = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t\x85"), max_size=5)


@given(
    rows=st.lists(st.lists(LETTERS | st.just('"a,\n""'), min_size=3, max_size=3), max_size=12),
    sign=st.sampled_from([",", ";", "\t"]),
    size=st.integers(1, 40),
)
@example(rows=[["a", 'b"', "c"], ['d"\n', "", '"']], sign=",", size=1)
@examples(20, times=16)
def test_csv_files_are_read_back_with_their_lines_in_blocks_of_any_size(
    rows: list[list[str]], sign: str, size: int
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=sign, lineterminator="\n")
    writer.writerow(["ann", "bob", "truth"])
    writer.writerows(rows)
    file = io.BytesIO(text.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linmax.streams.files.source.BLOCK_SIZE", size)
        found: list[list[str]] = []
        lines: list[int] = []
        for chunk in open_stream(file, label="truth", chunk_size=5):
            votes = chunk.votes.to_pydict()
            cells = zip(votes["ann"], votes["bob"], chunk.labels.tolist(), strict=True)
            found += [[cell or "" for cell in row] for row in cells]
            lines += chunk.lines.tolist()
    assert found == rows
    at = 2
    for line, row in zip(lines, rows, strict=True):
        assert line == at
        at += 1 + sum(cell.count("\n") for cell in row)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from("ab"), st.sampled_from(["x", "y", ""])), max_size=20
    )
)
@examples(15, times=16)
def test_long_files_are_read_if_sorted_by_item_and_refused_otherwise(
    rows: list[tuple[int, str, str]],
) -> None:
    data = "item,expert,vote\n" + "".join(f"{i},{who},{vote}\n" for i, who, vote in rows)
    runs = [item for k, (item, _, _) in enumerate(rows) if k == 0 or rows[k - 1][0] != item]
    votes_cast = [(item, who) for item, who, vote in rows if vote]
    good = len(set(runs)) == len(runs) and len(set(votes_cast)) == len(votes_cast)
    for chunk in (1, 2, 100):
        assert read(data.encode(), "votes.csv", chunk_size=chunk, **LONG | {"label": ""}) == (
            len(runs) if good else -1
        )
