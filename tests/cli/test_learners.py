"""`linmax learners NAME`: one thing that a learner is built from."""

from __future__ import annotations

import shlex

import pytest

from linmax import spec as _registry
from linmax.cli.inputs import parse_learner
from linmax.cli.learners import example
from linmax.report import Entry, catalogue
from linmax.spec import Learner
from tests.helpers.files import refused, run


def test_a_rule_is_described_in_full() -> None:
    output = run("learners", "Winnow").output
    for text in ("Winnow (rule)", "1999", "alpha=1.2", "slack=0.0", "Example"):
        assert text in output


@pytest.mark.parametrize("entry", catalogue(own=True), ids=lambda entry: entry.name)
def test_every_entry_can_be_described_and_its_example_is_a_learner(entry: Entry) -> None:
    result = run("learners", entry.name)
    assert result.exit_code == 0, result.output
    words = shlex.split(example(entry, _registry.find(entry.name)))
    assert words[:3] == ["linmax", "compare", "votes.csv"]
    assert isinstance(parse_learner(words[3]), Learner)
    assert entry.name in words[3]


def test_brackets_do_no_harm() -> None:
    assert run("learners", "Winnow(1.3)").output == run("learners", "Winnow").output


@pytest.mark.parametrize("word", ["Winow", "winnow", "WINNOW", "Winnnow"])
def test_a_slip_is_told_the_nearest_name(word: str) -> None:
    assert refused("learners", word) == f"there is no '{word}'; did you mean 'Winnow'?"


def test_what_is_near_nothing_is_told_where_all_are_listed() -> None:
    assert refused("learners", "qqqqqq") == "there is no 'qqqqqq'; linmax learners lists all names"
