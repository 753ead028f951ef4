"""`linmax compare`: every learner on the same items, beside the panel."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax import Averaged, Fusion, Perceptron, Winnow, parse
from linmax.cli import compare as compare_command
from linmax.cli.inputs import parse_learner
from linmax.evaluate import progressive
from linmax.evaluate.audit import counts
from linmax.evaluate.comparison import LearnerComparison
from linmax.evaluate.significance import gain
from linmax.report.charts.line_chart import draw_comparison
from linmax.spec import Learner
from linmax.streams import open_stream
from tests.helpers.files import ROWS, panel, refused, run, table, values

PAIR = ("Averaged(Winnow(1.2))", "Perceptron()")


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return panel(tmp_path / "votes.csv")


def places(*words: object) -> dict[str, dict[str, Any]]:
    return {place["name"]: place for place in values("compare", *words)["results"]}


def flags(votes: Path, learner: Learner) -> Any:
    """Who was right on which labelled item, by the slow way."""
    (chunk,) = open_stream(votes, label="truth", id="id")
    return progressive(Fusion(learner), chunk.votes, chunk.labels)


def plurality_shares(votes: Path) -> list[float]:
    """The share of the truth in the classes with the most votes, for each labelled item."""
    (chunk,) = open_stream(votes, label="truth", id="id")
    found = []
    for row, truth in zip(chunk.vote_dicts(), chunk.labels.tolist(), strict=True):
        if truth is not None:
            times = Counter(row.values())
            tied = [name for name, count in times.items() if count == max(times.values())]
            found.append((truth in tied) / len(tied))
    return found


def test_everyone_s_mistakes_are_those_of_a_run_alone(votes: Path) -> None:
    found = places(votes, *PAIR)
    for name in PAIR:
        assert found[name]["mistakes"] == flags(votes, parse(name)).mistakes["linmax"]
    alone = flags(votes, Winnow(1.2))
    assert found["best expert"]["mistakes"] == alone.mistakes["best expert"]
    shares = plurality_shares(votes)
    assert found["plurality"]["mistakes"] == round(sum(1 - one for one in shares))
    assert found["plurality"]["accuracy"] == pytest.approx(sum(shares) / len(shares))
    assert found["best expert"]["detail"] == alone.best_expert


def test_gains_are_paired_with_the_first_learner(votes: Path) -> None:
    found = places(votes, *PAIR)
    first, other = (flags(votes, parse(name)) for name in PAIR)
    a, b = first.linmax, other.linmax
    expected = gain(len(a), int((b & ~a).sum()), int((a & ~b).sum()))
    assert found["Perceptron()"]["gain"] == pytest.approx(expected._asdict())
    shares = np.array(plurality_shares(votes))
    plurality = gain(len(a), float((shares * ~a).sum()), float(((1 - shares) * a).sum()))
    assert found["plurality"]["gain"] == pytest.approx(plurality._asdict())
    assert found[PAIR[0]]["gain"] is None


def test_the_last_half_begins_in_the_middle(votes: Path) -> None:
    (chunk,) = open_stream(votes, label="truth", id="id")
    run_alone = Fusion(Perceptron()).learn(chunk.votes, chunk.labels)
    labelled = np.array([name is not None for name in chunk.labels.tolist()])
    half = np.arange(ROWS) >= ROWS // 2
    right = 1 - run_alone.wrong[half].sum() / (labelled & half).sum()
    assert places(votes, "Perceptron()")["Perceptron()"]["accuracy_last_half"] == pytest.approx(right)


def test_pieces_of_any_size_give_the_same(votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> list[tuple[Any, ...]]:
        return [(*one.values(),)[:5] for one in values("compare", votes, *PAIR)["results"]]

    whole = told()
    monkeypatch.setattr(compare_command, "ROWS", 13)
    assert told() == whole


def test_a_long_stream_keeps_few_snapshots(votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "SNAPSHOTS", 8)
    found = LearnerComparison({"a": Perceptron()})
    for chunk in open_stream(votes, label="truth", id="id"):
        found.learn(chunk)
    assert len(found.history.snapshots) <= 8
    items, curves = found.curves()
    assert items[-1] == ROWS
    assert curves["a"][-1] == flags(votes, Perceptron()).mistakes["linmax"]


def test_the_table_is_sorted_and_counts_only_what_has_a_label(votes: Path) -> None:
    result = run("compare", votes, *PAIR, width=140)
    assert result.exit_code == 0, result.output
    assert f"votes.csv: {ROWS - ROWS // 10} trials, {ROWS // 10} items without a label" in result.output
    rows = [line.split() for line in result.output.splitlines() if "%" in line and "gain" not in line]
    mistakes = [int(next(word for word in row if word.isdecimal())) for row in rows]
    assert mistakes == sorted(mistakes)
    assert len(rows) == 4


def test_narrow_screens_get_two_tables(votes: Path) -> None:
    output = run("compare", votes, *PAIR, width=80).output
    assert max(map(len, output.splitlines())) <= 80
    assert output.count("Perceptron()") == 2
    assert "Averaged(Winnow(1.2))" in output


def test_the_best_expert_s_name_is_no_markup(tmp_path: Path) -> None:
    votes = table(
        tmp_path / "v.csv", [["[red]x[/red]", "y", "truth"], *([["a", "b", "a"], ["b", "a", "b"]] * 5)]
    )
    assert "best expert: [red]x[/red]" in run("compare", votes, "Winnow(1.2)").output


def test_shuffling_depends_on_the_seed_alone(votes: Path) -> None:
    one, again, other = (places(votes, "Perceptron()", "--shuffle", seed) for seed in (1, 1, 2))
    assert one["Perceptron()"]["mistakes"] == again["Perceptron()"]["mistakes"]
    assert one["plurality"]["accuracy"] == pytest.approx(other["plurality"]["accuracy"], abs=0.1)
    (chunk,) = open_stream(votes, label="truth", id="id")
    mixed = chunk.take(np.random.default_rng(1).permutation(ROWS))
    alone = Fusion(Perceptron()).learn(mixed.votes, mixed.labels)
    assert one["Perceptron()"]["mistakes"] == alone.mistakes


def test_sorted_rows_are_shuffled_unless_the_user_decides(tmp_path: Path) -> None:
    rows = [[name, name, name] for name in ("a", "b") for _ in range(20)]
    votes = table(tmp_path / "v.csv", [["ann", "bob", "truth"], *rows])
    said = run("compare", votes, "Winnow(1.2)").stderr
    assert "rows were shuffled (seed 0) because they are sorted by label" in said
    assert "learned in this order" in run("compare", votes, "Winnow(1.2)", "--in-order").stderr


def test_labels_from_another_file_are_joined_by_id(votes: Path, tmp_path: Path) -> None:
    (chunk,) = open_stream(votes, label="truth", id="id")
    truth = {f"a{i}": name for i, name in enumerate(chunk.labels.tolist()) if name}
    late = table(tmp_path / "late.csv", [["id", "gold"], *truth.items()])
    lines = [line.rsplit(",", 1)[0] for line in votes.read_text().replace('"tea, black"', "tea").splitlines()]
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(lines) + "\n")
    late.write_text(late.read_text().replace('"tea, black"', "tea"))
    with_own, with_late = places(votes, *PAIR), places(bare, *PAIR, "--labels", late)
    for name in PAIR:
        assert with_own[name]["mistakes"] == with_late[name]["mistakes"]
    named = places(bare, *PAIR, "--labels", late, "--label", "gold")
    assert named["Perceptron()"]["mistakes"] == with_late["Perceptron()"]["mistakes"]


def test_the_column_of_late_labels_does_not_vote_in_the_first_file(tmp_path: Path) -> None:
    rows = [["1", "a", "b", "b"], ["2", "b", "a", "a"]]
    votes = table(tmp_path / "v.csv", [["id", "ann", "bob", "answer"], *rows])
    late = table(tmp_path / "late.csv", [["id", "answer"], ["1", "b"], ["2", "a"]])
    found = places(votes, "Winnow(1.2)", "--labels", late, "--label", "answer")
    assert found["best expert"]["detail"] == "bob"


def test_labels_that_find_no_item_are_an_error(votes: Path, tmp_path: Path) -> None:
    late = table(tmp_path / "late.csv", [["id", "truth"], ["b1", "ham"]])
    said = refused("compare", votes, "Winnow(1.2)", "--labels", late)
    assert said.startswith("no 'id' of votes.csv (such as 'a0', 'a1') is a 'id' of late.csv (such as 'b1')")


def test_the_usual_learners_begin_with_the_default() -> None:
    names = compare_command.ON_VOTES
    assert names[0] == "recommended()"
    assert Fusion().learner == parse_learner(names[0])
    for name in (*names, *compare_command.ON_ATTRIBUTES):
        assert isinstance(parse_learner(name), Learner)


def test_a_file_of_attributes_has_learners_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        compare_command, "ON_ATTRIBUTES", ["Perceptron().on(Attributes())"]
    )  # compiled elsewhere
    file = tmp_path / "x.svm"
    file.write_text("1 1:0.5\n0 2:1\n" * 10)
    assert list(places(file)) == list(
        compare_command.ON_ATTRIBUTES
    )  # nobody votes: no plurality, no best expert


def test_a_learner_of_attributes_beside_one_of_votes_is_counted_on_the_same_items(tmp_path: Path) -> None:
    rows = [["ham", "ham", 1, "ham"], ["tea", "ham", -1, "tea"]] * 10
    votes = table(tmp_path / "v.csv", [["ann", "bob", "size", "truth"], *rows])
    both = ("Winnow(1.2)", "Perceptron().on(Attributes())")
    found = values("compare", votes, *both, "--attributes", "size")
    assert found["trials"] == 20
    wrong = {place["name"]: place["mistakes"] for place in found["results"]}
    assert wrong[both[1]] >= 2  # labels that it had never met


def test_a_picture_shows_all_curves(votes: Path, tmp_path: Path) -> None:
    picture = tmp_path / "c.png"
    assert run("compare", votes, *PAIR, "--picture", picture).exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_names_of_curves_do_not_overlap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    kept: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (kept.append(self), save(self, *a, **k)))
    curves = {f"Averaged(Winnow({1 + i / 100}))" + "$x$" * (i == 3): [i // 9, 9 + i // 9] for i in range(18)}
    draw_comparison(
        [1, 100], {**curves, "plurality": [1, 30], "best expert": [1, 9]}, tmp_path / "c.png", title="$"
    )
    axes = kept[0].axes[0]
    canvas = FigureCanvasAgg(kept[0])
    canvas.draw()
    renderer = canvas.get_renderer()
    letters = [Text.get_window_extent(text, renderer) for text in axes.texts]  # without the threads
    boxes = sorted(letters, key=lambda box: box.y0)
    assert len(boxes) == 20
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))
    assert boxes[0].y0 >= 0
    assert boxes[-1].y1 <= kept[0].bbox.y1


def test_ctrl_c_shows_what_there_is_and_says_that_it_is_not_all(
    votes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare_command, "ROWS", 50)
    learn = LearnerComparison.learn

    def interrupted(self: LearnerComparison, *rest: Any) -> None:
        if self.items == 100:
            raise KeyboardInterrupt
        learn(self, *rest)

    monkeypatch.setattr(LearnerComparison, "learn", interrupted)
    result = run("compare", votes, *PAIR)
    assert result.exit_code == 130
    assert "90 trials, 10 items without a label (incomplete)" in result.stdout
    assert "stopped after 100 items: the result is incomplete" in result.stderr
    machine = run("compare", votes, *PAIR, "--json")
    assert machine.exit_code == 130
    assert json.loads(machine.stdout)["complete"] is False


def test_ctrl_c_within_a_piece_leaves_everyone_with_the_same_items(votes: Path) -> None:
    chunks = list(open_stream(votes, chunk_size=50, label="truth", id="id"))
    whole, cut = (LearnerComparison({"a": Averaged(Winnow(1.2)), "b": Perceptron()}) for _ in range(2))
    for chunk in chunks[:2]:
        whole.learn(chunk)
        cut.learn(chunk)
    second = cut.fusions[1]
    cut.fusions[1] = None  # type: ignore[call-overload]
    with pytest.raises(AttributeError):
        cut.learn(chunks[2])
    cut.fusions[1] = second
    timeless = [place._replace(microseconds=None) for place in whole.results()]
    assert [place._replace(microseconds=None) for place in cut.results()] == timeless


def test_ctrl_c_before_anything_was_counted_shows_no_table(
    votes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LearnerComparison, "warm_up", interrupted)
    result = run("compare", votes, *PAIR)
    assert (result.exit_code, result.stdout) == (130, "")


def test_what_cannot_be_compared_is_one_sentence(votes: Path, tmp_path: Path) -> None:
    bare = table(tmp_path / "bare.csv", [["ann", "bob"], ["ham", "ham"]])
    header = table(tmp_path / "header.csv", [["ann", "truth"]])
    blank = table(tmp_path / "blank.csv", [["ann", "bob", "truth"], ["ham", "ham", ""]])
    late = table(tmp_path / "late.csv", [["id", "truth"], ["7", "ham"]])
    for words, sentence in [
        ((tmp_path / "none.csv",), "none.csv'; check the path"),
        ((votes, "Winow(1.2)"), "there is no 'Winow'; did you mean 'Winnow'?"),
        ((votes, "Averaged(winnow(1.2))"), "there is no 'winnow'; did you mean 'Winnow'?"),
        ((votes, "Winnow(0.9)"), "Winnow requires alpha > 1 (got 0.9); typical values are 1.05 to 1.5"),
        ((votes, "Winnow(1.2, 3)"), "Winnow takes only alpha by position (got 2"),
        ((votes, "Winnow(beta=2)"), "Winnow has no parameter 'beta'"),
        ((votes, "Votes()"), "Votes() is not a learner; write one like Winnow(1.2)"),
        ((votes, "import os"), "is not a learner; write it like Averaged(Winnow(1.2))"),
        ((votes, *PAIR, "Perceptron()"), "a learner is named twice; name each once"),
        ((votes, "Perceptron().on(Attributes())"), "name their columns in votes.csv with --attributes"),
        ((bare, "Winnow(1.2)"), "name the column with --label"),
        ((header, "Winnow(1.2)"), "header.csv has no rows; it needs at least one below the header"),
        ((blank, "Winnow(1.2)"), "column 'truth' of blank.csv holds nothing"),
        ((bare, "Winnow(1.2)", "--labels", late), "no column of ids is in both; name them with --id"),
        ((votes, "--labels", tmp_path / "none.csv"), "none.csv'; check the path"),
        ((votes, "--picture", tmp_path / "c.jpg"), "the name must end in .png"),
        ((votes, "--picture", tmp_path / "no" / "c.png"), "there is no folder"),
    ]:
        assert sentence in refused("compare", *words)


def test_one_class_and_three_hundred_experts_can_be_compared(tmp_path: Path) -> None:
    one = table(tmp_path / "one.csv", [["ann", "truth"], *([["ham", "ham"]] * 3)])
    assert places(one, "Winnow(1.2)")["Winnow(1.2)"]["mistakes"] == 0
    names = [f"expert {i}" for i in range(300)]
    many = table(tmp_path / "many.csv", [[*names, "truth"], *([["a", *["b"] * 299, "a"]] * 5)])
    assert places(many, "Winnow(1.2)")["best expert"]["detail"] == "expert 0"


def test_several_files_are_joined(tmp_path: Path) -> None:
    rows = [(i, "ab"[i % 2], "ab"[i % 3 // 2], "ab"[i % 2]) for i in range(60)]
    for name, column in (("gpt", 1), ("bert", 2)):
        lines = [f"{row[0]},{row[column]}" for row in rows]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,answer", *lines]))
    (tmp_path / "gold.csv").write_text("\n".join(["id,truth", *(f"{row[0]},{row[3]}" for row in rows)]))
    files = [tmp_path / f"{name}.csv" for name in ("gpt", "bert", "gold")]
    found = places(*files, "Winnow(1.2)", "Perceptron()")
    assert set(found) == {"Winnow(1.2)", "Perceptron()", "plurality", "best expert"}
    assert (found["best expert"]["detail"], found["best expert"]["mistakes"]) == ("gpt", 0)


def test_the_best_expert_is_judged_where_it_votes(tmp_path: Path) -> None:
    rows = ["ab"[i % 2] for i in range(80)]
    lines = [f"{one if i % 4 else ''},{one if i % 5 else 'a'},{one}" for i, one in enumerate(rows)]
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["ann,bob,truth", *lines]))
    found = places(path, "Winnow(1.2)")
    best = found["best expert"]
    assert (best["detail"], best["trials"], best["mistakes"], best["accuracy"]) == ("ann", 60, 0, 1.0)
    assert "best expert: ann (of 60" in " ".join(run("compare", path, "Winnow(1.2)").output.split())


@pytest.mark.parametrize("width", [80, 60, 50, 40, 30])
def test_narrow_terminals_keep_the_names_of_learners_and_all_figures(votes: Path, width: int) -> None:
    names = ("Winnow(1.2)", "Perceptron()")
    lines = run("compare", votes, *names, width=width).stdout.splitlines()
    assert max(map(len, lines)) <= width
    tables = [line for line in lines if line.strip().startswith("learner")]
    assert len(tables) >= 2
    headings = [word for line in tables for word in line.split()]
    assert set(headings) >= {"mistakes", "accuracy", "last", "gain", "95", "p"}
    assert "…" not in "".join(lines)
    begun = [line for line in lines if line.strip().startswith("Percept")]
    assert len(begun) == len(tables)
    assert width == 30 or all(line.strip().startswith("Perceptron() ") for line in begun)
