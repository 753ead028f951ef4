"""The made-up calendar, and the reading of a real one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.interface import Found
from experiments.sub_experts_table_1 import EXPECTED, EXPERIMENT, ROWS
from experiments.sub_experts_table_1.calendar_file import read
from experiments.sub_experts_table_1.cells import REAL, WHO, accuracies
from linmax import Fusion, Winnow
from linmax.experts import Pairs, Thresholds
from linmax.problems import calendar
from linmax.problems.calendar import TARGETS, TERM

SAMPLE = """kind,Day,with,duration,location,start-time
seminar,monday,ann,60,room 1,10:00
lunch,friday,?,90,cafe,12:00
seminar,monday,bob,60,room 1,10:00

seminar,tuesday,ann,60,room 2,10:00
"""


def test_a_seed_gives_the_same_calendar_again() -> None:
    one, other, another = calendar(60, seed=3), calendar(60, seed=3), calendar(60, seed=4)
    assert (one.attributes == other.attributes).all()
    assert all((one.labels[target] == other.labels[target]).all() for target in TARGETS)
    assert (one.attributes != another.attributes).any()


def test_it_has_the_counts_of_the_lost_one() -> None:
    made = calendar()
    assert made.attributes.shape == (553, 34)
    assert len(made.names) == 34
    assert tuple(made.labels) == ("day", "duration", "location", "start")


def test_the_other_labels_are_attributes() -> None:
    made = calendar(20)
    attributes, labels = made.task("location")
    assert (labels == made.labels["location"]).all()
    for column, target in enumerate(("day", "duration", "start"), start=34):
        assert (attributes[:, column] == made.labels[target]).all()
    with pytest.raises(ValueError, match="a calendar has the targets day, duration, location, start"):
        made.task("weather")


def test_classes_and_people_appear_late() -> None:
    made = calendar()
    early, late = set(made.labels["location"][:100]), set(made.labels["location"])
    assert late > early
    with_whom = made.names.index("with")
    assert len(set(made.attributes[:, with_whom])) > 2 * len(set(made.attributes[:60, with_whom]))


def test_habits_drift_from_term_to_term() -> None:
    changed = 0
    for seed in range(5):
        made = calendar(2 * TERM, seed=seed)
        kind, duration = made.attributes[:, 0], made.labels["duration"]
        for one in np.unique(kind[:TERM])[:3]:
            before, after = (
                duration[part][kind[part] == one] for part in (slice(0, TERM), slice(TERM, 2 * TERM))
            )
            changed += _most(before) != _most(after)
    assert 0 < changed < 8  # some, not all


def _most(values: np.ndarray) -> str | None:
    named, counts = np.unique(values, return_counts=True)
    return str(named[counts.argmax()]) if len(named) else None


def test_pairs_learn_the_habits() -> None:
    attributes, labels = calendar().task("duration")
    run = Fusion(Winnow(2.0).on(Pairs() + Thresholds())).learn(attributes=attributes, labels=labels)
    counts = np.unique(labels, return_counts=True)[1]
    assert run.right > 1.5 * counts.max()  # than always saying the most frequent


@pytest.mark.parametrize(("options", "sentence"), [
    ({"meetings": 0}, "calendar requires an integer meetings >= 1"),
    ({"seed": -1}, "calendar requires an integer seed >= 0"),
])  # fmt: skip
def test_nonsense_is_refused(options: dict[str, int], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        calendar(**options)


@pytest.fixture
def real(tmp_path: Path) -> Path:
    (tmp_path / REAL).parent.mkdir()
    (tmp_path / REAL).write_text(SAMPLE.replace(",", "\t"))
    return tmp_path


def test_a_real_file_is_read_between_tabs_or_commas(real: Path, tmp_path: Path) -> None:
    found = read(real / REAL)
    assert found.names == ("kind", "with")
    assert found.attributes.tolist() == [
        ["seminar", "ann"],
        ["lunch", ""],
        ["seminar", "bob"],
        ["seminar", "ann"],
    ]
    assert found.labels["start"].tolist() == ["10:00", "12:00", "10:00", "10:00"]
    (tmp_path / "user.csv").write_text(SAMPLE)
    assert (read(tmp_path / "user.csv").attributes == found.attributes).all()


@pytest.mark.parametrize(("text", "sentence"), [
    ("day,duration\n", "requires a header line and at least one meeting"),
    ("day,duration,location\nmonday,60,x\n", "has no column start"),
    ("day,duration,location,start\nmonday,60,x\n", "line 2 has 3 values but the header has 4"),
    ("day,duration,location,start\nmonday,?,x,9\n", r"has a meeting without duration \(number 1\)"),
])  # fmt: skip
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "user.csv").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path / "user.csv")


def test_without_the_real_files_the_verdict_is_that_they_are_lost_and_with_them_it_is_not(real: Path) -> None:
    cells = [
        cell | {"meetings": 15} if cell["of"] == "stand-in" else cell for cell in EXPERIMENT.cells(2, True)
    ]
    generated = {i: EXPERIMENT.run(cell, real) for i, cell in enumerate(cells) if cell["of"] == "stand-in"}
    for folder, judgements in ((Path("nowhere"), {"data lost"}), (real, {"not reproduced", "reproduced"})):
        figures = EXPERIMENT.gather(
            [Found(cell, generated.get(i) or EXPERIMENT.run(cell, folder)) for i, cell in enumerate(cells)]
        )
        found = EXPERIMENT.judge(figures)
        assert {one.judgement for one in found} - {"reproduced in order only"} <= judgements
        assert (figures["real"] is None) == (judgements == {"data lost"})


def test_everyone_of_table_1_takes_part() -> None:
    assert tuple(accuracies(calendar(30), "day")) == WHO
    assert all(tuple(EXPECTED[row]) == WHO for row in ROWS)
