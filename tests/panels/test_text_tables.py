"""CSV and TSV files: separators, headers, decimal commas, encodings and bad rows."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from linmax.panels.table import RawTable, load_table
from linmax.streams import StreamError, open_stream


def load(text: str | bytes, name: str = "votes.csv", **options: object) -> RawTable:
    file = io.BytesIO(text.encode() if isinstance(text, str) else text)
    file.name = name
    return load_table(file, **options)  # type: ignore[arg-type]


ROWS = [{"ann": "ham", "y": "1"}, {"ann": "spam", "y": "2"}]


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_the_separator_is_found(sign: str) -> None:
    table = load("ann,y\nham,1\nspam,2\n".replace(",", sign))
    assert table.data.to_pylist() == ROWS
    assert table.lines.tolist() == [2, 3]


@pytest.mark.parametrize("line", ["sep=;", "SEP=;", '"sep=;"'])
def test_a_first_line_names_the_separator(line: str) -> None:
    table = load(f"{line}\nann;y\nham;1\nspam;2\n")
    assert table.data.to_pylist() == ROWS
    assert table.lines.tolist() == [3, 4]
    (chunk,) = open_stream(io.BytesIO(f"{line}\nann;truth\nham;1\n".encode()), label="truth")
    assert chunk.labels.tolist() == ["1"]


def test_a_comma_in_a_quoted_name_does_not_separate() -> None:
    assert load('id;"one, two, three, four";y\n1;a;b\n').data.column_names == [
        "id",
        "one, two, three, four",
        "y",
    ]


def test_decimal_commas_do_not_separate_and_become_points() -> None:
    table = load("0,12;0,33;-1,5E-3\n0,5;NA;2\n1.234,5;1;3\n", header=False)
    assert table.data.column_names == ["column 1", "column 2", "column 3"]
    assert table.data["column 1"].to_pylist() == ["0.12", "0.5", "1234.5"]
    assert table.data["column 2"].to_pylist() == ["0.33", "NA", "1"]
    assert table.data["column 3"].to_pylist() == ["-1.5E-3", "2", "3"]
    assert "decimal commas are read as points in column 1, column 2, column 3" in table.notes


def test_lists_and_texts_with_commas_stay_as_they_are() -> None:
    table = load("a;b;c\n1,2,3;x, y;1,5\n1,2;z;v1,0\n")
    assert table.data.to_pylist()[0] == {"a": "1,2,3", "b": "x, y", "c": "1,5"}
    assert table.notes == ()


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"]
)
def test_encodings_are_detected(encoding: str) -> None:
    text = "ann,Überschrift\ncafé,1\n" + "thé,2\n" * 50
    data = text.encode(encoding)
    table = load(data)
    assert table.data.column_names == ["ann", "Überschrift"]
    assert table.data["ann"].to_pylist()[:2] == ["café", "thé"]
    assert (table.notes == ()) == (encoding in ("utf-8", "utf-8-sig"))
    chunks = list(open_stream(io.BytesIO(data), label="Überschrift", chunk_size=7))
    assert sum(chunk.items for chunk in chunks) == 51
    assert chunks[0].vote_dict(0) == {"ann": "café"}


def test_windows_signs_are_read() -> None:
    table = load(b"ann,y\n5 \x80,\x93quoted\x94\n")
    assert table.data.to_pylist() == [{"ann": "5 €", "y": "“quoted”"}]
    assert "is read as Windows-1252" in table.notes[0]


def test_a_windows_letter_far_below_the_head_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.streams.files.source.BLOCK_SIZE", 1 << 12)
    table = load(b"ann,y\n" + b"the,1\n" * 20_000 + b"th\xe9,2\n" + b"th\xe9,3\n" * 2000)
    assert table.data["ann"].to_pylist()[-1] == "thé"
    assert len(table.data) == 22_001


def test_a_utf16_letter_may_cross_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.streams.files.source.BLOCK_SIZE", 1001)
    text = "ann,y\n" + "".join(f"😀{i},é\n" for i in range(20_000))
    table = load(text.encode("utf-16"))
    assert table.data["ann"].to_pylist() == [f"😀{i}" for i in range(20_000)]


def test_line_breaks_in_quotes_count_as_lines() -> None:
    table = load('text,y\n"one\ntwo",1\n\n"three ""3""",2\n')
    assert table.data["text"].to_pylist() == ["one\ntwo", 'three "3"']
    assert table.lines.tolist() == [2, 5]


def test_empty_names_are_numbered() -> None:
    assert load(",ann,,y\n0,a,b,c\n").data.column_names == ["column 1", "ann", "column 3", "y"]


def test_repeated_names_are_numbered_with_a_note() -> None:
    table = load("vote,vote,y,vote\na,b,c,d\n")
    assert table.data.column_names == ["vote", "vote.2", "y", "vote.3"]
    assert table.notes == ("several columns are named vote: the second is vote.2",)


def test_a_header_that_repeats_and_looks_like_data_is_refused() -> None:
    with pytest.raises(StreamError, match=r"first row repeats 'bug' and looks like data.*--no-header"):
        load("bug,bug,fix\nbug,fix,fix\nbug,bug,bug\n")
    with pytest.raises(StreamError, match="first row repeats 'bug' and looks like data"):
        load("x0,bug,bug,bug\nx1,bug,fix,fix\nx2,bug,bug,bug\n")  # the names bug.2 and bug.3 are not in it
    table = load("bug,bug,fix\nbug,fix,fix\n", header=False)
    assert len(table.data) == 2
    assert table.lines.tolist() == [1, 2]


def test_a_header_that_looks_like_data_is_noted() -> None:
    assert "may be data" in load("1,0,bug\n1,0,fix\n0,1,bug\n").notes[0]
    assert load("a,b\n1,0\n0,1\n").notes == ()


def test_annotators_of_mace_are_columns_without_names() -> None:
    table = load("1,,0\n,1,1\n0,0,\n", header=False)
    assert table.data.column_names == ["column 1", "column 2", "column 3"]
    assert table.data["column 2"].to_pylist() == [None, "1", "0"]


def test_a_ragged_row_is_reported_with_its_line() -> None:
    with pytest.raises(StreamError, match=r"votes.csv, line 4: 3 cells where the header has 2; fix the row"):
        load('a,b\n"x\ny",2\n1,2,3\n')
    with pytest.raises(StreamError, match=r"line 2: 1 cell where the first row has 2"):
        load("1,2\n3\n", header=False)


def test_beyond_the_limit_only_the_head_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("linmax.panels.whole_files.text_tables.HEAD_ROWS", 1000)
    monkeypatch.setattr("linmax.panels.whole_files.limits.HEAD_ROWS", 1000)
    path = tmp_path / "votes.csv"
    path.write_text("ann,y\n" + "a,b\n" * 5000, encoding="utf-8")
    assert load_table(path).complete
    table = load_table(path, limit_bytes=10_000)
    assert (len(table.data), len(table.lines), table.complete) == (1000, 1000, False)


def test_of_standard_input_only_the_head_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.panels.whole_files.text_tables.HEAD_ROWS", 10)
    monkeypatch.setattr("linmax.panels.whole_files.limits.HEAD_ROWS", 10)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"ann,y\n" + b"a,b\n" * 50)))
    table = load_table("-")
    assert (table.file, len(table.data), table.complete) == ("standard input", 10, False)


def test_a_short_standard_input_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"ann,y\na,b\n")))
    assert load_table("-").complete


def test_a_text_file_may_have_one_column() -> None:
    assert load("truth\nham\nspam\n", "labels.txt").data.to_pydict() == {"truth": ["ham", "spam"]}


def test_blanks_separate_numbers_only() -> None:
    table = load("1.0e+00 0\n0.5 1\n", "L.txt", header=False)
    assert table.data.to_pydict() == {"column 1": ["1.0e+00", "0.5"], "column 2": ["0", "1"]}
    assert load("full name\nann smith\n", "names.txt").data.column_names == ["full name"]


def test_a_header_alone_is_a_table_without_rows() -> None:
    assert load("ann,y\n").data.num_rows == 0


MARKDOWN = "| id | ann | truth |\n|---:|:----|:-----:|\n| 1 | ham | spam |\n| 2 | spam | spam |\n"


def test_a_table_of_markdown_is_read_without_its_lines() -> None:
    table = load_table(io.BytesIO(MARKDOWN.encode()))
    assert table.data.column_names == ["id", "ann", "truth"]
    assert [cell.strip() for cell in table.data["ann"].to_pylist()] == ["ham", "spam"]
    assert table.lines.tolist() == [3, 4]
    assert table.notes == ("this is a table of Markdown",)


@pytest.mark.parametrize(
    "text",
    [
        " id | ann | truth \n----+-----+-------\n 1 | ham | spam\n(1 row)\n",
        "+----+-----+\n| id | ann |\n+----+-----+\n|  1 | ham |\n+----+-----+\n",
    ],
)
def test_tables_as_databases_print_them_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "votes.txt"
    path.write_text(text)
    with pytest.raises(StreamError, match="export it as CSV"):
        load_table(path)


RUSSIAN = "id,анна,метка\n" + "1,спам,хорошо\n2,хорошо,спам\n" * 3


def test_an_encoding_can_be_named() -> None:
    table = load(RUSSIAN.encode("cp1251"), encoding="cp1251")
    assert table.data.column_names == ["id", "анна", "метка"]
    assert table.data["метка"].to_pylist()[:2] == ["хорошо", "спам"]
    assert table.notes == ()


def test_letters_that_look_wrong_are_noted_with_the_option_to_type() -> None:
    (note,) = load(RUSSIAN.encode("cp1251")).notes
    assert note.endswith("looks wrong as Windows-1252; name its encoding with --encoding, such as cp1251")


def test_windows_1252_is_noted() -> None:
    (note,) = load("id,été,y\n1,café,à\n".encode("latin-1")).notes
    assert note == "the text is not UTF-8, and is read as Windows-1252; --encoding names another encoding"


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(StreamError, match="there is no encoding 'cp9'; usual ones are"):
        load("a,b\n1,2\n", encoding="cp9")


def test_text_that_has_another_encoding_than_named_is_refused() -> None:
    with pytest.raises(StreamError, match="damaged utf-8 text"):
        load(RUSSIAN.encode("cp1251"), encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [
        '"rater1" "rater2" "truth"\n' + '"7" "not spam" "ham" "ham"\n' * 9,  # write.table in R
        "    gpt4  bert  truth\n" + "0    bug   bug    fix\n" * 9,  # to_string in pandas
    ],
)
def test_columns_between_blanks_are_refused(text: str) -> None:
    with pytest.raises(StreamError, match="separated by blanks; separate them with commas or tabs"):
        load(text, "votes.txt")


def test_one_column_of_sentences_is_read() -> None:
    assert len(load("this is the only column\nyes\nno\nI do not know\nyes\nno\nno\n", "votes.txt").data) == 6


def test_titles_above_the_header_are_refused_with_a_hint() -> None:
    with pytest.raises(StreamError, match="where the first line has 1; remove titles and comments above"):
        load("# exported in May\nann,bob,truth\nham,ham,spam\n")
