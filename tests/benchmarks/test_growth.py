"""The benchmark of growth, one tiny axis."""

import json
from pathlib import Path

import pytest

from benchmarks import growth, memory
from benchmarks.growth import axes, slopes
from benchmarks.growth.measure import measure_axis
from benchmarks.growth.prose import WHY
from benchmarks.row_counts import Plan
from benchmarks.timing import machine


def test_a_slope_is_the_power_of_the_upper_half() -> None:
    values = [1, 2, 4, 8, 16, 32]
    assert slopes.slope(values, [7.0, 7.0, 7.0, 64.0, 256.0, 1024.0]) == 2.0
    assert slopes.slope(values, [5.0] * 6) == 0.0
    assert slopes.slope([3], [1.0]) is None


@pytest.mark.parametrize(
    ("found", "expected", "said"),
    [
        (1.1, 1.0, "proportional"),
        (0.05, 0.0, "constant"),
        (0.5, 1.0, "less than proportional"),
        (2.0, 1.0, "more than proportional"),
        (0.02, 1.0, "nearly constant"),
        (None, 1.0, "one value only"),
    ],
)
def test_a_slope_has_a_description(found: float | None, expected: float, said: str) -> None:
    assert slopes.describe_slope(found, expected) == said


@pytest.mark.slow
def test_one_axis_is_measured_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(axes, "NUMBERS", 5000)
    monkeypatch.delitem(axes.LEARNERS, axes.DEFAULT)
    axes.clear_rows()
    found = measure_axis(axes.AXES["experts"], (5, 500), Plan(0.0005, 1))
    axes.clear_rows()
    single = found["learners"][axes.SINGLE]
    assert single["values"] == [5, 500]  # a few experts take less than the decisions
    assert single["megabytes"][1] > 2 * single["megabytes"][0]
    results = {**machine(), "axes": {"experts": found}, "long": memory.long_stream(40_000, piece=2000)}
    assert json.loads(json.dumps(results)) == results
    assert "### Against experts" in growth.page(results)
    assert f"| experts | {axes.SINGLE} |" in growth.page(results)
    assert len(growth.highlights(results)) == 2
    growth.draw(results, tmp_path / "growth.png")
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".svg"}


def test_every_axis_is_explained() -> None:
    assert set(WHY) == set(axes.AXES)
    assert all(axis.values[0] < axis.values[-1] and axis.quick for axis in axes.AXES.values())


def test_bags_have_the_requested_number_of_words() -> None:
    bag = axes.bags.__wrapped__(1024)
    matrix = bag.given["attributes"]
    matrix.sum_duplicates()
    assert (matrix.getnnz(axis=1) == 1024).all()


def test_an_ensemble_has_its_size() -> None:
    assert [len(one.members) for one in axes.ensembles(8).values()] == [8, 8]


def test_a_long_stream_does_not_grow_the_process() -> None:
    marks = memory.long_stream(400_000, piece=20_000)
    assert marks["trials"] == 400_000
    assert marks["mb_at_the_end"] - marks["mb_after_a_tenth"] < 8
