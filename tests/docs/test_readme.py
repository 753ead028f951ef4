"""The README and the links of all pages: code prints what the page shows, and every page can be reached."""

from __future__ import annotations

import re

from linmax import Fusion, parse
from linmax.cli.demo.demo import LEARNER
from linmax.evaluate import progressive
from linmax.report import catalogue
from tests.helpers.demo import panel_of
from tests.helpers.pages import ROOT, blocks, run_page

README = ROOT / "README.md"
INDEX = ROOT / "docs" / "index.md"
DEMO = ROOT / "docs" / "commands.md"


def test_every_block_of_the_readme_prints_what_it_says() -> None:
    assert run_page(README) > 20


def test_the_readme_is_at_most_150_lines() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_the_readme_shows_both_commands_and_the_picture() -> None:
    text = README.read_text(encoding="utf-8")
    for part in ("make demo", "make test", "(docs/demo.png)"):
        assert part in text


def test_the_readme_and_the_index_link_to_every_page() -> None:
    links = set(re.findall(r"\]\(([^)#\s]+)", README.read_text(encoding="utf-8")))
    pages = {path.name for path in ROOT.glob("docs/*.md")}
    assert {f"docs/{name}" for name in pages} <= links
    assert {"CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"} <= links
    listed = set(re.findall(r"\]\(([^)#\s]+)", INDEX.read_text(encoding="utf-8")))
    assert pages - {INDEX.name} <= listed


def test_the_mistakes_of_the_demo_are_the_demo_s() -> None:
    shown = next(block for kind, block in blocks(DEMO) if kind == "text")
    panel = panel_of(0)
    fusion = Fusion(parse(LEARNER), classes=range(10), experts=panel.experts)
    curves = progressive(fusion, panel.votes, panel.labels).curves
    rows = [list(map(int, line.split())) for line in shown.splitlines() if re.fullmatch(r"[\d\s]+", line)]
    assert [row[0] for row in rows] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1500]
    for trials, *mistakes in rows:
        for name, told in zip(("plurality", "best expert", "linmax"), mistakes, strict=True):
            found = int(curves[name][trials - 1])
            # another processor may train a classifier a little differently
            assert abs(found - told) <= 3 + 0.1 * told, (trials, name, told, found)
    _, plurality, best, ours = rows[-1]
    told = f"linmax has made {ours} mistakes, the best expert {best} and the plurality vote {plurality}"
    assert told in " ".join(README.read_text(encoding="utf-8").split())


def test_the_four_axes_name_every_part() -> None:
    text = INDEX.read_text(encoding="utf-8")
    start = text.index("## Four choices")
    axes = text[start : text.index("\n## ", start)]
    missing = [entry.name for entry in catalogue(own=True) if f"`{entry.name}" not in axes]
    assert not missing


def test_links_of_all_pages_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
