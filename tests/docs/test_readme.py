"""The README and CONTRIBUTING are true: their code runs, and prints what they say it prints."""

from __future__ import annotations

import re

from linmax import Fusion, parse
from linmax.cli.demo import LEARNER
from linmax.cli.demo_data import digits
from linmax.evaluate import progressive
from linmax.report import catalogue
from tests.helpers.pages import ROOT, blocks, run_page


def test_every_block_of_the_readme_prints_what_it_says() -> None:
    assert run_page(ROOT / "README.md") > 20


def test_the_table_in_the_readme_is_the_demo_s() -> None:
    shown = next(block for kind, block in blocks(ROOT / "README.md") if kind == "text")
    panel = digits(0)
    fusion = Fusion(parse(LEARNER), classes=range(10), experts=panel.experts)
    curves = progressive(fusion, panel.votes, panel.labels).curves
    rows = [list(map(int, line.split())) for line in shown.splitlines() if re.fullmatch(r"[\d\s]+", line)]
    assert [row[0] for row in rows] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1500]
    for trials, *mistakes in rows:
        for name, told in zip(("plurality", "best expert", "linmax"), mistakes, strict=True):
            found = int(curves[name][trials - 1])
            # another processor may train a classifier a little differently
            assert abs(found - told) <= 3 + 0.1 * told, (trials, name, told, found)


def test_the_four_axes_name_every_technique_and_source() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    axes = text[text.index("## Four choices") : text.index("## A rule of your own")]
    missing = [
        entry.name for entry in catalogue(own=True) if entry.kind != "rule" and f"`{entry.name}" not in axes
    ]
    assert not missing


def test_links_of_all_pages_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
