"""The page is well-formed and self-contained, and hostile names stay text."""

from __future__ import annotations

import functools
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from linmax.evaluate.findings.findings import (
    NO_METRICS,
    Agreement,
    Confusion,
    CoveragePoint,
    Curves,
    Findings,
    TrustHistory,
)
from linmax.evaluate.metrics import Metrics
from linmax.evaluate.significance import gain
from linmax.report.charts import curves
from linmax.report.charts.svg import render_svg
from linmax.report.page import page, write_page
from linmax.validation import DataWarning
from tests.helpers.figures import draw_nothing
from tests.helpers.findings import comparisons, expert, findings, nothing, results

SECTIONS = [
    "results", "mistakes", "trust", "contributions", "agreement", "confusion",
    "coverage", "calibration", "decisions", "hardest", "next", "learner", "notes",
]  # fmt: skip
VOID = {"meta", "br", "hr", "img", "link", "input"}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"' onload=alert(1) x='",
    "</svg></style></title>",
    "{{ 7 * 7 }}{% raw %}",
    "x" * 500,
    "two\nlines\tand\r\x00\x1b[31m",
    "",
    "שלום \u202eevil\u202c",
    "$x^2$ and $\\frac{",
    "漢字の専門家🦊",
    "&amp;&#x3c;",
    "\ud800",
    None,
    3.5,
    -1,
    (1, "a"),
    b"bytes",
    True,
]


class Reader(HTMLParser):
    """Fails on an element that is not closed where it should be."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(text: str) -> Reader:
    """The page, after all that holds for every page was checked."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    assert text.startswith("<!DOCTYPE html>")
    tags = {tag for tag, _ in reader.seen}
    assert tags.isdisjoint({"script", "img", "link", "iframe", "object", "image", "use", "base", "form"})
    ids = [given["id"] for _, given in reader.seen if "id" in given]
    assert len(ids) == len(set(ids))
    for _, given in reader.seen:
        assert not any(name.startswith("on") or name in ("src", "srcdoc") for name in given)
        target = given.get("href") or given.get("aria-labelledby") or ""
        assert not target or target.removeprefix("#") in ids
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg\")", text)
    assert "url(" not in text
    assert "@import" not in text
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(drawings) == sum(tag == "svg" for tag, _ in reader.seen)
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        assert root.get("role") == "img"
        assert root.get("aria-label")
        assert "nan" not in "".join(path.get("d", "") for path in root.iter())
    return reader


# drawn once for the tests of this file, and of the file on browsers
PAGES = {
    "usual": findings([f"Some-Model-3.{i}-{7 * i}B-Instruct" for i in range(30)], "ABCDEFGHIJ", points=512),
    "small": findings(),
    "hostile": findings(HOSTILE, HOSTILE, source=HOSTILE[4], learner=HOSTILE[4], bound=HOSTILE[4]),
    "crowded": findings(
        [f"expert number {i} of a large panel" for i in range(200)], [f"class {c}" for c in range(60)]
    ),
}


@functools.cache
def page_of(name: str) -> str:
    return page(PAGES[name])


def usual_page() -> str:
    return page_of("small")


def without_figures(**changes: Any) -> Findings:
    """Findings for tests of words: most of the time that a page takes is that of its figures."""
    nothing_drawn: dict[str, Any] = {
        "agreement": Agreement([], []),
        "calibration": None,
        "confusion": Confusion(["ham"], [[0]], 0),
        "coverage": [],
        "decisions": None,
        "curves": Curves([], [], [], [], [], []),
        "trust_history": TrustHistory([], []),
    }
    return findings(**{**nothing_drawn, **changes})


def sections(text: str) -> list[str]:
    return re.findall(r'<section id="([a-z]+)"', text)


def test_a_page_has_all_its_sections() -> None:
    text = usual_page()
    read(text)
    assert sections(text) == SECTIONS
    for told in ("votes.csv", "Averaged(Winnow(1.2))", "At most 400 mistakes", "rows are sorted", "a remark"):
        assert told in text
    assert "1,020\u00a0items, 1,000\u00a0trials" in text
    assert text.count("<svg") == 12


def test_every_picture_and_table_has_a_name() -> None:
    reader = read(usual_page())
    for tag, given in reader.seen:
        if given.get("role") in ("img", "region"):
            assert given.get("aria-label")
        if tag == "html":
            assert given == {"lang": "en"}
    tags = [tag for tag, _ in reader.seen]
    assert tags.count("table") == tags.count("caption")
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in reader.seen
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert ("meta", {"http-equiv": "Content-Security-Policy", "content": policy}) in reader.seen


def test_hostile_names_stay_names() -> None:
    words = page(
        without_figures(
            experts=[expert(name, i, len(HOSTILE)) for i, name in enumerate(HOSTILE)],
            file=HOSTILE[0], source=HOSTILE[0], learner=HOSTILE[0], bound=HOSTILE[1], notes=HOSTILE[:4],
            warnings=[DataWarning(str(name), "grave", str(name)) for name in HOSTILE[:4]],
            decision=HOSTILE[0], verdict=HOSTILE[0], schema={"a": HOSTILE[0]},
            members={str(name): 0.1 for name in HOSTILE[:4]},
        )
    )  # fmt: skip
    read(words)
    text = page_of("hostile")
    reader = read(text)
    for raw in ("<script", "</svg></style", "\x00", "\x1b", "\u202e", "\ud800"):
        assert raw not in words + text
    for drawn in (words, *re.findall(r"<svg.*?</svg>", text, re.DOTALL)):
        assert "x" * 81 not in drawn
    assert "&lt;script&gt;" in text
    told = " ".join(reader.text)
    for name in (
        "<script>alert(1)</script>",
        "{{ 7 * 7 }}{% raw %}",
        "$x^2$ and $\\frac{",
        "(empty)",
        "(none)",
    ):
        assert name in told
    text.encode()


def test_a_dollar_is_a_dollar_in_figures() -> None:
    undrawn: dict[str, Any] = {"calibration": None, "coverage": [], "decisions": None}
    text = page(findings(["$a_1$", "US$ and $", "c$", "$$"], **undrawn))
    read(text)
    assert text.count(">$a_1$") >= 4


OMITTED: list[tuple[dict[str, Any], set[str]]] = [
    (
        {
            "experts": [],
            "agreement": Agreement([], []),
            "coverage": [],
            "hardest": [],
            "next_labels": [],
            "trust_history": TrustHistory([32], [[0.25]] * 4),
        },
        {"agreement", "contributions", "coverage", "hardest", "next"},
    ),
    (
        {
            "agreement": Agreement(["ann"], [[1.0]]),
            "coverage": [CoveragePoint(1.0, 0.8, 0.0)],
            "curves": Curves([1], [1], [0], [0], [0], [[0]] * 4),
            "classes": ["ham"],
            "confusion": Confusion(["ham"], [[1000]], 0),
        },
        {"agreement", "coverage", "mistakes"},
    ),
    (
        {
            "agreement": Agreement(["ann", "bob"], [[None] * 2] * 2),
            "confusion": Confusion(["ham", "spam"], [[0, 0], [0, 0]], 9),
            "curves": Curves([], [], [], [], [], []),
            "trust_history": TrustHistory([32, 64], []),
        },
        {"agreement", "confusion", "mistakes"},
    ),
    (
        {"comparisons": [], "results": [], "members": {}, "bound": "", "warnings": [], "notes": []},
        {"results", "notes"},
    ),
    ({"calibration": None, "baselines": [], "metrics": NO_METRICS}, {"calibration"}),
]
DRAWN = {"agreement", "curves", "trust_history"}


@pytest.mark.parametrize(("changes", "omitted"), OMITTED)
def test_sections_without_content_are_omitted(
    changes: dict[str, Any], omitted: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # the other figures are those of the usual page
    draw_nothing(monkeypatch, but=None if DRAWN.isdisjoint(changes) else curves)
    text = page(findings(**changes))
    read(text)
    assert set(SECTIONS) - set(sections(text)) == omitted


def test_findings_of_an_empty_stream_make_a_page() -> None:
    text = page(nothing())
    read(text)
    assert "There are no items." in text
    assert "<svg" not in text
    assert sections(text) == ["trust", "learner"]


def test_without_labels_the_page_says_nothing_about_accuracy() -> None:
    changes = {"trials": 0, "items": 20, "results": results(["ann"])}
    text = page(nothing(**changes, next_labels=findings().next_labels, experts=[expert("ann", 0, 1)]))
    read(text)
    assert "No item has a label" in text
    assert {"results", "mistakes", "coverage", "hardest"}.isdisjoint(sections(text))
    assert "next" in sections(text)


def test_numbers_that_are_not_finite_are_dashes() -> None:
    nan, inf = float("nan"), float("inf")
    odd = expert("ann", 0, 1)._replace(
        accuracy=None, trust=nan, ablated_accuracy=nan, accuracy_drop=inf, vote_rate=nan
    )
    hard = [one._replace(margin=inf, guess=None) for one in findings().hardest]
    text = page(without_figures(experts=[odd, expert("bob", 1, 2)], hardest=hard))
    assert "<svg" in text  # of the contributions
    read(text)
    assert not re.search(r">[^<]*\b(nan|None|inf)\b[^<]*<", text)


def test_losses_and_prices_are_shown_if_any_expert_has_them() -> None:
    assert "square loss" not in usual_page()
    rich = expert("ann", 0, 1)._replace(square_loss=0.123, log_loss=0.456, price=7.0)
    text = page(without_figures(experts=[rich, expert("bob", 1, 2)]))
    for told in ("square loss", "0.123", "log loss", "0.456", "price", ">7<"):
        assert told in text


@pytest.mark.parametrize(
    ("better", "worse", "answer"),
    [
        (200, 50, "significantly more accurate than both the plurality of the experts and the best expert."),
        (50, 200, "significantly less accurate than both the plurality of the experts and the best expert."),
        (51, 50, "does not differ significantly from the plurality of the experts or the best expert."),
        (0, 0, "does not differ significantly from the plurality of the experts or the best expert."),
    ],
)
def test_the_answer_is_what_the_tests_say(better: int, worse: int, answer: str) -> None:
    text = page(without_figures(comparisons=comparisons(["ann"], better, worse)))
    assert answer in " ".join(read(text).text)


def test_a_significant_loss_is_reported_as_a_loss() -> None:
    whole = comparisons(["ann"])
    whole[2] = whole[2]._replace(gain=gain(1000, 50, 200))
    told = " ".join(read(page(without_figures(comparisons=whole))).text)
    assert (
        "linmax is significantly more accurate than the plurality of the experts,"
        " but is significantly less accurate than the best expert."
    ) in told
    assert "15.0\u00a0points below the best expert, ann (\u2212" in told
    assert "p\u00a0<\u00a00.001: significant)" in told


def test_warnings_come_first_and_a_grave_one_leaves_no_significance() -> None:
    grave = DataWarning("sorted-by-label", "grave", "the rows are sorted by label")
    note = DataWarning("spelling", "note", "votes are spelled unlike labels")
    judged = page(without_figures(warnings=[note]))
    assert "significantly more accurate" in judged
    assert judged.index("votes are spelled") < judged.index("Verdict:") < judged.index("Use it:")
    decision = "Not judged: the rows are sorted by label."
    text = page(without_figures(warnings=[grave, note], verdict="not judged", decision=decision))
    read(text)
    assert text.index('class="grave"') < text.index("votes are spelled") < text.index("Verdict:")
    for told in ("significantly", "p\u00a0<", "p\u00a0="):
        assert told not in text
    assert text.count("not judged") >= 3  # the verdict and both key figures


def test_results_have_metrics_and_those_of_ordered_classes_a_mean_error() -> None:
    for told in ("balanced accuracy", "macro F1", "kappa", "0.830", "60.0\u00a0%", "300"):
        assert told in usual_page()
    assert "mean absolute error" not in usual_page()
    assert "mean absolute error" in page(without_figures(metrics=Metrics(0.85, 0.84, 0.83, 0.8, 0.31)))


def test_the_calibration_is_a_sentence_a_table_and_a_diagram() -> None:
    text = usual_page()
    assert "The probabilities of linmax are off by 5.0\u00a0points on average" in text
    assert "Reliability diagram. linmax: 35\u00a0% confidence, 30\u00a0% correct" in text
    assert "shares of the votes" in text


def test_experts_are_called_droppable_only_if_an_interval_supports_it() -> None:
    told = " ".join(read(usual_page()).text)
    assert "Any one of these experts can be dropped" in told
    assert "interval): eve." in told
    experts = [one._replace(can_be_dropped=False) for one in findings().experts]
    text = page(without_figures(experts=experts))
    assert "can be dropped" not in text
    assert "No expert can safely be dropped" in text


def test_two_hundred_experts_and_sixty_classes_stay_readable() -> None:
    text = page_of("crowded")
    read(text)
    assert "160\u00a0more experts" in text
    assert "Only 60 of 200 experts are shown." in text
    assert text.count('class="class"') == 20
    assert "of rarer classes are not shown" in text
    assert len(text.encode()) < 3_000_000


def test_a_page_is_small() -> None:
    assert len(page_of("usual").encode()) < 1_500_000


def test_a_page_is_deterministic_whatever_the_settings_of_matplotlib_are() -> None:
    import matplotlib

    before = usual_page()
    with matplotlib.rc_context({"text.usetex": True, "axes.grid": True, "font.size": 30.0}):
        assert page(findings()) == before
        assert matplotlib.rcParams["text.usetex"]


def test_a_page_is_written_completely_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_page(without_figures(), path)
    assert path.read_text(encoding="utf-8") == page(without_figures())
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(ValueError, match="cannot write"):
        write_page(without_figures(), tmp_path / "no" / "report.html")


def test_markers_are_drawn_on_a_page() -> None:
    def draw(figure: Any) -> str:
        axes = figure.add_subplot()
        axes.plot([1, 2], [1, 3], "o", color="#123456")
        return "two points"

    drawn = render_svg(200, 100, 10, draw)
    assert "<use" not in drawn
    assert "<defs" not in drawn
    assert drawn.count('style="fill: #123456') == 2
    assert drawn.count("translate(") == 2  # and no ticks
