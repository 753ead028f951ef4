"""Items with several labels each get no verdict: a combination of labels is no class."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from linmax.panels.panel import read_panel
from linmax.panels.roles.wide.several_labels import several_labels
from tests.panels.small_tables import codes_of, panel_columns, read_columns

KINDS = ("toxic", "insult", "threat")


def draw(items: int = 60) -> list[list[str]]:
    rng = random.Random(1)
    return [sorted(rng.sample(KINDS, rng.choice((1, 1, 2)))) for _ in range(items)]


@pytest.mark.parametrize("sign", [";", "|", ", ", "+"])
def test_labels_with_a_sign_between_them_are_a_grave_warning(sign: str) -> None:
    cells = [sign.join(one) for one in draw()]
    panel = read_columns({"gpt": cells, "bert": cells[1:] + cells[:1], "label": cells})
    assert codes_of(panel)["several-labels"] == "grave"


def test_lists_of_labels_are_a_grave_warning(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_text("\n".join(json.dumps({"gpt": one, "bert": one, "label": one}) for one in draw()))
    panel = read_panel([path])
    assert codes_of(panel)["several-labels"] == "grave"
    assert panel.warnings[0].code == "several-labels"
    assert "learn each label by itself" in panel.warnings[0].text


def test_a_few_such_cells_are_a_note() -> None:
    columns = panel_columns(100)
    columns["label"][7] = "billing;bug"
    assert codes_of(read_columns(columns))["several-labels"] == "note"


@pytest.mark.parametrize(
    "values",
    [
        ["New York, NY", "Los Angeles, CA", "San Diego, CA"],
        ["yes, strongly", "yes, slightly", "no, strongly", "no, slightly"],
        ["A+", "A", "B+", "B"],
        ["1", "1,5", "2", "2,5"],
        ["R&D", "sales & service", "finance"],
        ["['bug']", "['feature']"],
    ],
)
def test_single_labels_with_signs_in_them_are_no_combinations(values: list[str]) -> None:
    assert several_labels(dict.fromkeys(values, 20), "label") is None
