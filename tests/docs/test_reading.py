"""The page on how files are read states the limits that the source has."""

from __future__ import annotations

import re

import pytest

from linmax.cli.fuse import start as fuse_start
from linmax.inputs import label_order as order
from linmax.panels import panel
from linmax.panels.joins import join
from linmax.panels.joins import labels as joined_labels
from linmax.panels.roles import chance_votes, classes, evidence, long_roles, profile, table_layout
from linmax.panels.roles.wide import labels as wide_labels
from linmax.panels.roles.wide import roles as wide_roles
from linmax.panels.whole_files import excel, limits
from linmax.streams.files import source
from tests.helpers.pages import ROOT

PAGE = ROOT / "docs" / "reading.md"


@pytest.mark.parametrize(
    ("sentence", "limits"),
    [
        ("texts of more than (.*) characters or (.*) words", (profile.LONG_TEXT, profile.MANY_WORDS)),
        (
            "if at least (.*) % of its values are classes of the label; (.*) % for whole numbers",
            (100 * wide_labels.MIN_SHARE, 100 * wide_roles.MIN_NUMBER_SHARE),
        ),
        ("columns with one value in at least (.*) rows", (wide_roles.MIN_CONSTANT,)),
        (
            r"With at least (.*) labels, columns .* by chance \((.*) standard deviations\)",
            (evidence.MIN_ITEMS, evidence.SIGNIFICANT),
        ),
        ("Of the last (.*) rows of a table, those", (table_layout.MAX_SUMMARY,)),
        (
            r"At most (.*) decimals \(and (.*) % of the cells\) in a column of at most (.*) different",
            (table_layout.MAX_STRAY, 100 * table_layout.MAX_STRAY_SHARE, table_layout.MAX_INTEGERS),
        ),
        (
            "texts of which (.*) to 50 % name a class, or of whole numbers of which at least (.*) % do",
            (100 * chance_votes.PARTLY, 100 * chance_votes.PARTLY_NUMBERS),
        ),
        ("and has at least (.*) labels, a vote that is never a label abstains", (classes.MIN_LABELS,)),
        (
            "an item has at least (.*) rows on average and an expert (.*); at most (.*) % of the rows repeat"
            " .*; and at most (.*) % have no item",
            (
                long_roles.MIN_VOTES_PER_ITEM,
                long_roles.MIN_VOTES_PER_EXPERT,
                100 * long_roles.MAX_REPEATED,
                100 * long_roles.MAX_MISSING,
            ),
        ),
        (
            "has at least (.*) different values with at least (.*) rows each",
            (long_roles.MIN_ITEMS, long_roles.MIN_ROWS_PER_ITEM),
        ),
        ("if at least (.*) % of the smaller set of ids", (100 * join.MIN_OVERLAP,)),
        (
            "is grave if at least (.*) items, and more than (.*) % of those with two labels",
            (joined_labels.MIN_CONFLICTS, 100 * joined_labels.MAX_CONFLICTS),
        ),
        (
            "apart from at most (.*) % of the rows. .* less than (.*) % of the runs",
            (100 * order.MAX_DISPLACED, 100 * order.DEPENDENT_RUNS),
        ),
        (
            "Files of up to (.*) MB are read into memory; Parquet files of up to (.*) cells are. .* the first"
            r" (.*) rows decide on the roles \(of text only those in the first (.*) MB",
            (panel.MAX_BYTES >> 20, panel.MAX_CELLS, panel.CHUNK_SIZE, source.BLOCK_SIZE >> 20),
        ),
        ("workbooks of more than (.*) MB are refused", (excel.MAX_UNPACKED >> 20,)),
        (
            "unpacks to more than (.*) MB and (.*) times its size",
            (limits.MIN_BOMB_BYTES >> 20, limits.MAX_RATIO),
        ),
        (
            "With more than (.*) classes, or more than (.*) pairs of an expert and a class",
            (fuse_start.MANY_CLASSES, fuse_start.MANY_CELLS),
        ),
    ],
)
def test_a_limit_on_the_page_is_that_of_the_source(sentence: str, limits: tuple[float, ...]) -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    found = re.search(sentence.replace("(.*)", r"([\d.,]+)"), text)
    assert found is not None, f"the page does not say: {sentence}"
    assert tuple(float(number.replace(",", "")) for number in found.groups()) == tuple(map(float, limits))


def test_the_page_names_the_learner_for_many_classes_and_the_texts_that_are_missing() -> None:
    assert f"`{fuse_start.LEAN}`" in PAGE.read_text(encoding="utf-8")
    commands = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    row = next(line for line in commands.splitlines() if line.startswith("| `--missing"))
    listed = row.partition("by default ")[2].partition(" and empty cells")[0].strip("`").split(", ")
    assert ("", *listed) == profile.MISSING
    assert order.BLOCKS_PER_CLASS == 2  # "at most two blocks per class"


def test_the_page_on_commands_has_the_same_limit_of_files_in_memory() -> None:
    text = " ".join((ROOT / "docs" / "commands.md").read_text(encoding="utf-8").split())
    found = re.findall(r"Files of more than (\d+) MB, Parquet files of more than (\d+) million cells", text)
    assert found == [(str(panel.MAX_BYTES >> 20), str(panel.MAX_CELLS // 10**6))]
