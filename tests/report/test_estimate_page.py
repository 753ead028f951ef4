"""The estimate without labels, on a page and in a terminal: it is called an estimate, warnings first."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from linmax.cli.fuse.estimate import print_estimate
from linmax.evaluate.without_labels import UnlabelledEstimate, estimate
from linmax.report.estimate import (
    estimate_account,
    estimate_answer,
    estimate_page,
    estimate_section,
    write_estimate_page,
)


def independent(items: int = 400, experts: int = 4, name: str = "e{}") -> UnlabelledEstimate:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, items)
    wrong = (truth[:, None] + rng.integers(1, 3, (items, experts))) % 3
    codes = np.where(rng.random((items, experts)) < 0.75, truth[:, None], wrong)
    names = np.array(["ham", "spam", "<b>eggs</b>"])
    votes = [{name.format(j): str(names[v]) for j, v in enumerate(row)} for row in codes]
    return estimate(votes, file="panel.csv", ids=[f"id-{i}" for i in range(items)])


def dependent() -> UnlabelledEstimate:
    rng = np.random.default_rng(0)
    truth, hard = rng.integers(0, 2, (500, 1)), rng.random((500, 1)) < 0.4
    right = rng.random((500, 7)) < np.where(hard, 0.5, 0.95)
    return estimate(np.where(right, truth, 1 - truth))


def printed(found: UnlabelledEstimate) -> str:
    out = io.StringIO()
    print_estimate(Console(file=out, width=100, highlight=False), found)
    return out.getvalue()


def page_text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html.split("</style>")[-1]).split())


class Balanced(HTMLParser):
    """Check that every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("make", [printed, lambda found: page_text(estimate_page(found))])
def test_the_figures_are_called_an_estimate_with_its_assumption(make) -> None:  # type: ignore[no-untyped-def]
    text = " ".join(make(independent()).replace("\xa0", " ").split())
    assert "There are no labels, so no accuracy can be measured. ESTIMATE without labels" in text
    assert "assumes that the errors of different experts are independent" in text
    assert "Agreement is not accuracy" in text
    assert "tends to be too high" in text
    assert "random: to measure accuracies" in text


@pytest.mark.parametrize("make", [printed, lambda found: page_text(estimate_page(found))])
def test_what_stands_against_the_figures_comes_before_them(make) -> None:  # type: ignore[no-untyped-def]
    text = " ".join(make(dependent()).replace("\xa0", " ").split())
    assert text.index("read each one as an upper limit") < text.index("ESTIMATE without labels")
    assert "is correct on probably at most" in text
    assert "about" not in estimate_answer(dependent())


@pytest.mark.parametrize("make", [printed, lambda found: page_text(estimate_page(found))])
def test_without_an_estimate_there_is_no_percentage_of_accuracy(make) -> None:  # type: ignore[no-untyped-def]
    found = estimate([["a", "b"], ["b", "b"], ["a", "a"]] * 40)
    text = " ".join(make(found).replace("\xa0", " ").split())
    assert text.index("only 2 experts") < text.index("No estimate can be given either")
    assert "ESTIMATE" not in text
    assert "interval " not in text.replace("% interval", "")


def test_the_page_is_well_formed_and_escapes_names() -> None:
    html = estimate_page(independent(name="<i>e{}</i>"))
    parser = Balanced()
    parser.feed(html.removeprefix("<!DOCTYPE html>"))
    assert parser.open == []
    assert "<b>eggs" not in html
    assert "<i>e" not in html
    assert "&lt;b&gt;eggs" in html
    assert "<script" not in html


def test_many_experts_are_folded_away() -> None:
    found = independent(200, 50)
    assert "10\xa0more experts" in estimate_page(found)
    assert "... and 30 more" in printed(found)


def test_the_section_is_part_of_the_page_and_the_page_is_written(tmp_path: Path) -> None:
    found = independent()
    section = str(estimate_section(found))
    assert section.count("<section") == section.count("</section>") == 1
    assert section.strip() in estimate_page(found)
    write_estimate_page(found, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == estimate_page(found)


def test_few_items_have_shares_of_classes_but_no_accuracy() -> None:
    found = independent(15)
    assert "of the items are" in estimate_answer(found)
    assert not any("too high" in one for one in estimate_account(found))
    assert "interval" not in printed(found).split("experts")[-1]
