"""`linmax explain`: who brought a guess about."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from linmax import Fusion, Perceptron, Winnow, load, recommended
from linmax.experts import Attributes
from linmax.streams import open_stream
from tests.helpers.files import EXPERTS, ROWS, panel, refused, run, table, trained, values

Shelf = tuple[Path, Path]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    votes = panel(tmp_path / "votes.csv")
    trained(tmp_path / "m.linmax", votes)
    return tmp_path / "m.linmax", votes


def test_an_item_is_found_by_its_id_or_its_number(shelf: Shelf) -> None:
    by_id, by_row = values("explain", *shelf, "--id", "a4"), values("explain", *shelf, "--row", "5")
    assert by_id == by_row
    assert (by_id["row"], by_id["line"], by_id["id"]) == (5, 6, "a4")


def test_the_last_item_of_a_later_piece_is_found(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.panels.panel.CHUNK_SIZE", 7)
    assert values("explain", *shelf, "--row", ROWS) == values("explain", *shelf, "--id", f"a{ROWS - 1}")


def test_parts_add_up_and_the_guess_is_the_library_s(shelf: Shelf) -> None:
    (chunk,) = open_stream(shelf[1], label="truth", id="id")
    why = load(shelf[0]).explain_one(chunk.vote_dict(4))
    found = values("explain", *shelf, "--row", "5")
    assert found["guess"] == why.guess
    assert found["truth"] == chunk.labels[4]
    scores = {one["class"]: one["score"] for one in found["scores"]}
    assert scores == pytest.approx(why.scores)
    assert sum(part["guess"] for part in found["parts"]) == pytest.approx(scores[why.guess])
    assert sum(part["rival"] for part in found["parts"]) == pytest.approx(scores[found["runner_up"]])
    sizes = [abs(part["difference"]) for part in found["parts"]]
    assert sizes == sorted(sizes, reverse=True)
    said = {part["name"]: part["says"] for part in found["parts"]}
    assert {name: said[name] for name in EXPERTS} == chunk.vote_dict(4)
    assert said["(thresholds)"] is None


def test_the_page_tells_it_in_words(shelf: Shelf) -> None:
    output = run("explain", *shelf, "--row", "5").output
    for text in (
        "votes.csv, item 5 (row 6, id a4)",
        "The runner-up is",
        "[red]eve[/red]",
        "total",
        "vote",
    ):
        assert text in output


def test_an_item_without_label_or_votes_can_be_explained(shelf: Shelf, tmp_path: Path) -> None:
    votes = table(tmp_path / "silent.csv", [EXPERTS, [""] * 4])
    assert "the truth is unknown" in run("explain", shelf[0], votes, "--row", 1).output


def test_a_new_class_is_shown_and_a_new_expert_is_ignored(shelf: Shelf, tmp_path: Path) -> None:
    votes = table(tmp_path / "new.csv", [["ann", "new"], ["eggs", "eggs"]])
    found = values("explain", shelf[0], votes, "--row", 1)
    assert "eggs" in [one["class"] for one in found["scores"]]
    assert "new" not in [part["name"] for part in found["parts"]]


def test_one_class_has_no_runner_up(tmp_path: Path) -> None:
    votes = table(tmp_path / "v.csv", [["ann", "truth"], ["ham", "ham"]])
    trained(tmp_path / "m", votes)
    found = values("explain", tmp_path / "m", votes, "--row", 1)
    assert (found["guess"], found["runner_up"], found["margin"]) == ("ham", None, None)
    output = run("explain", tmp_path / "m", votes, "--row", 1).output
    assert "runner-up" not in output
    assert "for ham" in output


def test_a_session_that_knows_nothing_guesses_nothing(tmp_path: Path) -> None:
    Fusion(Perceptron()).save(tmp_path / "m")
    votes = table(tmp_path / "v.csv", [["ann", "bob"], ["", ""]])
    output = run("explain", tmp_path / "m", votes, "--row", 1, "--experts", "ann,bob").output
    assert "predicts nothing; the truth is unknown." in output


def test_of_three_hundred_experts_the_page_shows_those_who_matter(tmp_path: Path) -> None:
    names = [f"expert {i}" for i in range(300)]
    votes = table(tmp_path / "v.csv", [[*names, "truth"], *([["a", *["b"] * 299, "a"]] * 5)])
    trained(tmp_path / "m", votes, experts=("expert *",))
    output = run("explain", tmp_path / "m", votes, "--row", 1).output
    assert "... and 281 more" in output
    assert len(values("explain", tmp_path / "m", votes, "--row", 1)["parts"]) == 301


def test_a_committee_tells_what_its_members_guess(tmp_path: Path) -> None:
    votes = panel(tmp_path / "v.csv")
    trained(tmp_path / "m", votes, recommended())
    found = values("explain", tmp_path / "m", votes, "--row", 3)
    assert len(found["members"]) == 7
    parts = [member["part"] for member in found["members"]]
    assert parts == sorted(parts, reverse=True)
    assert "NaiveBayes('tables')" in run("explain", tmp_path / "m", votes, "--row", 3, width=140).output


def test_attributes_show_their_values(tmp_path: Path) -> None:
    fusion = Fusion(Perceptron().on(Attributes()))
    fusion.learn(attributes=[{"size": 1.0}, {"size": -1.0}] * 3, labels=["a", "b"] * 3)
    fusion.save(tmp_path / "m")
    rows = table(tmp_path / "v.csv", [["size", "truth"], [2.5, "a"]])
    found = values("explain", tmp_path / "m", rows, "--row", 1, "--attributes", "size")
    assert [(part["name"], part["says"]) for part in found["parts"]] == [("size", 2.5)]


def test_scores_are_shown_as_they_were_given(tmp_path: Path) -> None:
    file = tmp_path / "v.jsonl"
    file.write_text(json.dumps({"id": 7, "ann": {"ham": 0.7, "tea": 0.3}, "bob": "tea"}) + "\n")
    fusion = Fusion(Winnow(1.2), experts=["ann", "bob"], classes=["ham", "tea"])
    fusion.save(tmp_path / "m")
    found = values("explain", tmp_path / "m", file, "--id", "7")
    assert {"ham": 0.7, "tea": 0.3} in [part["says"] for part in found["parts"]]
    assert "ham 0.7, tea 0.3" in run("explain", tmp_path / "m", file, "--id", "7").output


def test_numbers_of_a_long_file_stay_numbers(tmp_path: Path) -> None:
    rows = {"item": [0, 0, 1, 1], "expert": ["ann", "bob"] * 2, "vote": [0, 1, 1, 1], "truth": [1, 1, 1, 1]}
    pa.parquet.write_table(pa.table(rows), tmp_path / "v.parquet")
    trained(tmp_path / "m", tmp_path / "v.parquet")
    found = values("explain", tmp_path / "m", tmp_path / "v.parquet", "--id", "0")
    said = {part["name"]: part["says"] for part in found["parts"]}
    assert (said["ann"], said["bob"], found["truth"]) == (0, 1, 1)


def test_what_cannot_be_found_is_one_sentence(shelf: Shelf, tmp_path: Path) -> None:
    twice = table(tmp_path / "twice.csv", [["id", "ann"], ["7", "ham"], ["8", "ham"], ["7", "spam"]])
    bare = table(tmp_path / "bare.csv", [["ann", "bob"], ["ham", "ham"]])
    other = table(tmp_path / "other.csv", [["x", "y"], ["ham", "ham"]])
    for words, sentence in [
        ((shelf[1],), "explain requires one item: pass either --id or --row"),
        ((shelf[1], "--id", "a1", "--row", 2), "pass either --id or --row"),
        (
            (shelf[1], "--id", "b1"),
            "votes.csv has no item with the id 'b1'; ids are compared as text, exactly",
        ),
        (
            (shelf[1], "--row", ROWS + 1),
            f"votes.csv has {ROWS} items and no item {ROWS + 1}; the first is --row 1",
        ),
        ((twice, "--id", "7"), "twice.csv has the id '7' in items 1 and 3; choose one with --row"),
        ((bare, "--id", "7"), "bare.csv has no column of ids; name it with --id-column, or pass --row"),
        ((other, "--row", "1"), "other.csv has no expert that"),
    ]:
        assert sentence in refused("explain", shelf[0], *words)


def test_the_column_of_ids_may_have_another_name(shelf: Shelf, tmp_path: Path) -> None:
    votes = table(tmp_path / "v.csv", [["key", "ann"], ["7", "ham"]])
    assert values("explain", shelf[0], votes, "--id", "7", "--id-column", "key")["id"] == "7"
