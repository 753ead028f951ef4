"""Paper to draw on, measured in pixels, that becomes SVG a page can hold."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from xml.etree import ElementTree

INK, SMALL, RULE, FAINT = "#1f2328", "#5f6672", "#e6e6e3", "#c9c9c5"
SETTINGS = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "linmax",
    "text.parse_math": False,  # a dollar in a name is a dollar
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.spines.bottom": False,
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "grid.color": RULE,
    "grid.linewidth": 1.0,
    "text.color": INK,
    "xtick.color": SMALL,
    "ytick.color": SMALL,
    "xtick.major.size": 0.0,
    "ytick.major.size": 0.0,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "xtick.major.pad": 8.0,
    "ytick.major.pad": 6.0,
}
SVG = "http://www.w3.org/2000/svg"
INCH = 72.0  # pixels, so that a size in points is one in pixels


class Size(NamedTuple):
    """How much room a figure has, in pixels: a page has each figure for a desk and for a hand."""

    width: int
    names: int  # for names at one side
    text: float  # the height of letters


WIDE, NARROW = Size(880, 264, 12.5), Size(350, 120, 10.5)


class Sheet:
    """A sheet of so many pixels; places are measured from its upper left corner."""

    def __init__(self, width: float, height: float, text: float) -> None:
        from matplotlib.figure import Figure

        self.width, self.height, self.size = width, height, text
        self.figure = Figure(figsize=(width / INCH, height / INCH), dpi=INCH)
        self.figure.patch.set_visible(False)

    def axes(self, left: float, top: float, width: float, height: float) -> Any:
        """A frame for data."""
        bottom = self.height - top - height
        axes = self.figure.add_axes(
            (left / self.width, bottom / self.height, width / self.width, height / self.height)
        )
        axes.patch.set_visible(False)
        axes.tick_params(which="both", labelsize=self.size - 0.5)
        return axes

    def write(self, x: float, y: float, text: str, **style: Any) -> None:
        """Letters that begin (or, with `horizontalalignment`, end) here; `y` is their middle."""
        self.figure.text(
            x / self.width,
            1.0 - y / self.height,
            text,
            **{"fontsize": self.size, "verticalalignment": "center_baseline", **style},
        )

    def line(self, x: tuple[float, float], y: tuple[float, float], **style: Any) -> None:
        """A straight line."""
        from matplotlib.lines import Line2D

        across = [one / self.width for one in x]
        down = [1.0 - one / self.height for one in y]
        self.figure.add_artist(Line2D(across, down, transform=self.figure.transFigure, **style))

    def boxes(self, boxes: list[tuple[float, float, float, float]], color: str) -> None:
        """Rectangles of one colour: left, top, width and height of each."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        corners, strokes = [], []
        for left, top, width, height in boxes:
            right, bottom = left + width, top + height
            for x, y in ((left, top), (right, top), (right, bottom), (left, bottom), (left, top)):
                corners.append((x / self.width, 1.0 - y / self.height))
            strokes += [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
        if boxes:
            shape = Path(corners, strokes)
            self.figure.add_artist(
                PathPatch(shape, facecolor=color, linewidth=0, transform=self.figure.transFigure)
            )

    def svg(self, told: str) -> str:
        """The drawing as an element of a page, with what it tells to those who do not see it."""
        content = io.StringIO()
        with _settled():
            self.figure.savefig(content, format="svg", metadata={"Date": None})
        root = _tidy(ElementTree.fromstring(content.getvalue()))
        root.attrib = {"xmlns": SVG, "viewBox": root.attrib["viewBox"], "role": "img", "aria-label": told}
        return ElementTree.tostring(root, encoding="unicode")


@contextmanager
def sheet(width: float, height: float, text: float) -> Iterator[Sheet]:
    """A sheet, drawn in the same way whatever matplotlib is set to elsewhere.

    >>> with sheet(100, 20, text=10) as paper:
    ...     paper.write(0, 10, "5 $ < 6 $")
    >>> paper.svg("prices").partition(" role=")[0]
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 20"'
    """
    with _settled():
        yield Sheet(width, height, text)


@contextmanager
def _settled() -> Iterator[None]:
    import matplotlib.style  # takes a while

    with warnings.catch_warnings(), matplotlib.style.context(["default", SETTINGS]):
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has more fonts
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def _tidy(element: ElementTree.Element) -> ElementTree.Element:
    """Without what refers to something elsewhere, and in few letters."""
    kept: list[ElementTree.Element] = []
    for child in map(_tidy, element):
        for name in ("id", "clip-path"):
            child.attrib.pop(name, None)
        if child.tag not in ("metadata", "defs"):
            kept += list(child) if child.tag == "g" and not child.attrib else [child]
    element[:] = kept
    element.tag = element.tag.removeprefix(f"{{{SVG}}}")
    if element.tag != "text":
        element.text = None
    element.tail = None
    if "d" in element.attrib:
        element.set("d", " ".join(re.sub(r"-?\d+\.\d+", _short, element.attrib["d"]).split()))
    if "style" in element.attrib:
        style = re.sub(r"font-family: [^;]*;? ?", "", element.attrib["style"])
        element.set("style", style.replace(": ", ":").replace("; ", ";").rstrip("; "))
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    return element


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")
