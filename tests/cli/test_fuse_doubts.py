"""`linmax fuse`: doubts that only the whole pass, or an earlier one, can raise."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from linmax.panels import panel as panel_module
from tests.cli.test_fuse import fuse, told
from tests.evaluate.test_audit import panel, text
from tests.helpers.files import run


@pytest.mark.parametrize(("every", "severity"), [(3, "grave"), (30, "note")])
def test_refusals_in_standard_input_are_named_because_they_count_as_a_class(
    every: int, severity: str
) -> None:
    votes = [["ham", "spam"][t % 2] for t in range(120)]
    said = ["REFUSED" if t % every == 0 else vote for t, vote in enumerate(votes)]
    lines = "ann,bob,truth\n" + "".join(f"{a},{y},{y}\n" for a, y in zip(said, votes, strict=True))
    given = {"input": lines.encode()}
    found = [one for one in told("-", **given)["warnings"] if one["code"] == "votes-never-labels"]
    assert [one["severity"] for one in found] == [severity]
    assert "are for 'REFUSED', never a label" in found[0]["text"]
    assert "pass --missing REFUSED." in fuse("-", **given).output.replace("\n", " ")
    codes = [one["code"] for one in told("-", "--missing", "REFUSED", **given)["warnings"]]
    assert "votes-never-labels" not in codes


@pytest.mark.parametrize(
    ("label", "codes"),
    [
        (lambda t: "ham!" if t >= 100 else "ham", {"labels-never-voted": "grave"}),
        (lambda t: "ham!" if t >= 290 else "ham", {"labels-never-voted": "note"}),
        (
            lambda t: "ham;spam" if t >= 100 else "ham",
            {"labels-never-voted": "grave", "several-labels": "grave"},
        ),
    ],
)
def test_labels_of_later_rows_that_no_expert_votes_for_are_named(
    label: Callable[[int], str], codes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = [label(t) if t % 2 else "spam" for t in range(300)]
    votes = [("spam", "ham")[t % 2] if t % 3 else "ham" for t in range(300)]
    file = tmp_path / "votes.csv"
    file.write_text("ann,bob,truth\n" + "".join(f"{a},ham,{y}\n" for a, y in zip(votes, truth, strict=True)))
    whole = told(file)
    monkeypatch.setattr(panel_module, "CHUNK_SIZE", 100)
    monkeypatch.setattr(panel_module, "MAX_BYTES", 10)
    streamed = told(file)
    for found in (whole, streamed):
        own = {one["code"]: one["severity"] for one in found["warnings"] if one["code"] in codes}
        assert own == codes
    (text,) = {
        one["text"]
        for found in (whole, streamed)
        for one in found["warnings"]
        if one["code"] == "labels-never-voted"
    }
    assert "of 300 items have a label that no expert votes for ('ham" in text
    assert (streamed["verdict"] == "not judged") == ("grave" in codes.values())


@pytest.mark.parametrize(("repeated", "severities"), [(0, []), (1, ["grave"]), (120, ["grave"])])
def test_ids_that_later_rows_repeat_are_counted(
    repeated: int, severities: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"t{t}" for t in range(298 - repeated)] + ["NA", "NA"] + [f"t{t}" for t in range(repeated)]
    votes, truth = (["ham" if t % every else "spam" for t in range(300)] for every in (3, 2))
    file = tmp_path / "votes.csv"
    lines = zip(ids, votes, truth, strict=True)
    file.write_text("id,ann,bob,truth\n" + "".join(f"{id},{a},ham,{y}\n" for id, a, y in lines))
    monkeypatch.setattr(panel_module, "CHUNK_SIZE", 100)
    monkeypatch.setattr(panel_module, "MAX_BYTES", 10)
    found = [one for one in told(file)["warnings"] if one["code"] == "repeated-ids"]
    assert [one["severity"] for one in found] == severities
    assert all(one["text"].startswith(f"{repeated} rows of votes.csv repeat an id in 'id'") for one in found)
    assert "repeated-ids" not in [one["code"] for one in told(file, "--id", "")["warnings"]]


@pytest.mark.parametrize("rows", [20, 100, 200])
def test_the_first_rows_of_a_learned_file_are_not_new(rows: int, tmp_path: Path) -> None:
    file, model, shorter = (tmp_path / name for name in ("votes.csv", "m.linmax", "shorter.csv"))
    file.write_bytes(text(*panel(300)))
    assert told(file, "--save", model)["items"] == 300
    shorter.write_text("".join(file.read_text().splitlines(keepends=True)[: rows + 1]))
    found = fuse(shorter, "--from", model, learner=())
    assert found.exit_code == 2
    assert f"not the file of which 300 rows were learned before: it has {rows} rows" in found.stderr


@pytest.mark.parametrize("first", ["bug", "Bug"])
def test_labels_of_later_rows_that_are_spelled_otherwise_are_counted(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = [("fix", "bug")[t % 2] if t < 200 or t % 3 else ("fix", "BUG")[t % 2] for t in range(300)]
    truth[1] = first  # two spellings in the first rows are two classes, and noted before
    votes = [("fix", "bug")[t % 2] if t % 3 else "bug" for t in range(300)]
    file = tmp_path / "votes.csv"
    file.write_text("ann,bob,truth\n" + "".join(f"{a},fix,{y}\n" for a, y in zip(votes, truth, strict=True)))
    assert "label-spelling" in [one["code"] for one in told(file)["warnings"]]
    monkeypatch.setattr(panel_module, "CHUNK_SIZE", 100)
    monkeypatch.setattr(panel_module, "MAX_BYTES", 10)
    texts = [one["text"] for one in told(file)["warnings"] if one["code"] == "label-spelling"]
    if first == "bug":
        (text,) = texts
        assert text.startswith("17 labels are spelled unlike those of the first rows ('BUG' for 'bug')")
        assert "so spell them alike, or pass --ignore-case" in text
    else:
        assert ["differ by case or whitespace only" in text for text in texts] == [True]
    codes = [one["code"] for one in told(file, "--ignore-case")["warnings"]]
    assert "label-spelling" not in codes


def late_rows(kind: str) -> str:
    """Votes in a file that is as it should be in the first 100 of 400 rows."""
    rng = random.Random(4)
    lines = ["ann,bob,truth"]
    for t in range(400):
        if kind == "codes":
            truth = rng.randrange(2)
            votes = [truth if rng.random() < 0.8 else 1 - truth for _ in range(2)]
            votes = votes if t < 100 else [1 - vote for vote in votes]
        else:
            truth = rng.randrange(4) if t < 100 else rng.randrange(20, 60)
            votes = [truth if t < 100 else truth + rng.choice([-2, -1, 1, 2]) for _ in range(2)]
        lines.append(",".join(map(str, (*votes, truth))))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("kind", "code"), [("codes", "votes-below-chance"), ("ages", "quantities")])
def test_later_rows_in_other_codes_or_with_quantities_are_a_grave_warning(
    kind: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "votes.csv"
    file.write_text(late_rows(kind))
    whole = told(file)
    monkeypatch.setattr(panel_module, "CHUNK_SIZE", 100)
    monkeypatch.setattr(panel_module, "MAX_BYTES", 10)
    streamed = told(file)
    for found in (whole, streamed):
        assert found["verdict"] == "not judged"
        assert (code, "grave") in [(one["code"], one["severity"]) for one in found["warnings"]]


def streamed_codes(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str]]:
    """A file that is read in chunks, and the codes of the late warnings of `linmax fuse`."""
    file = tmp_path / "votes.csv"
    file.write_text(late_rows(kind))
    monkeypatch.setattr(panel_module, "CHUNK_SIZE", 100)
    monkeypatch.setattr(panel_module, "MAX_BYTES", 10)
    return file, [one["text"] for one in told(file)["warnings"] if one["severity"] == "grave"]


@pytest.mark.parametrize("kind", ["codes", "ages"])
def test_compare_and_bounds_tell_the_late_doubts_of_fuse(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, texts = streamed_codes(kind, tmp_path, monkeypatch)
    assert texts
    for command in (
        ("compare", file, "Winnow(1.2)"),
        ("compare", file, "Winnow(1.2)", "--shuffle", 1),
        ("bounds", "Perceptron()", "--panel", file, "--C", 0.01),
    ):
        found = run(*command)
        assert found.exit_code == 0
        for one in texts:
            assert f"linmax: warning: {one[:42]}" in found.stderr, command
    found = run("bounds", "Perceptron()", "--panel", file, "--first", 100)
    assert "linmax: warning" not in found.stderr


def test_compare_names_repeated_ids_and_refusals_of_a_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "votes.csv"
    truth = [("ham", "spam")[t % 2] for t in range(300)]
    rows = [f"t{min(t, 250)},{'REFUSED' if t > 200 else y},{y},{y}" for t, y in enumerate(truth)]
    file.write_text("\n".join(["id,ann,bob,truth", *rows]) + "\n")
    monkeypatch.setattr(panel_module, "CHUNK_SIZE", 100)
    monkeypatch.setattr(panel_module, "MAX_BYTES", 10)
    found = run("compare", file, "Winnow(1.2)").stderr
    assert "warning: 49 rows of votes.csv repeat an id in 'id'" in found
    assert "are for 'REFUSED', never a label" in found
