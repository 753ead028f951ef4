"""Matplotlib figures as SVG elements of an HTML page."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

from linmax.validation import require_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, MUTED, GRID, FAINT = "#1f2328", "#5f6672", "#e6e6e3", "#c9c9c5"
REFERENCE = "{http://www.w3.org/1999/xlink}href"
NAMESPACE = "{http://www.w3.org/2000/svg}"
STYLE = {
    "svg.fonttype": "none",  # text stays text, in the font of the page
    "svg.hashsalt": "linmax",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib, so that layouts do not depend on the machine
    "text.parse_math": False,
    "text.color": INK,
    "path.simplify_threshold": 0.3,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.spines.bottom": False,
    "axes.axisbelow": True,
    "axes.labelcolor": MUTED,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlesize": "medium",
    "axes.labelsize": "medium",
    "grid.color": GRID,
    "grid.linewidth": 1.0,
    "legend.frameon": False,
    "legend.fontsize": "medium",
    "legend.title_fontsize": "medium",
    "legend.labelcolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": "medium",
    "ytick.labelsize": "medium",
    "xtick.major.size": 0.0,
    "ytick.major.size": 0.0,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "xtick.major.pad": 8.0,
    "ytick.major.pad": 6.0,
}


class Size(NamedTuple):
    """The size of a figure in pixels; a page has most figures for wide and for narrow screens.

    Attributes
    ----------
    width : int
        The width of the figure.
    margin : int
        The width of its left margin, for numbers.
    names : int
        The width of its right margin, for names.
    font : float
        The font size.
    """

    width: int
    margin: int
    names: int
    font: float


WIDE, NARROW = Size(880, 50, 264, 12.5), Size(350, 38, 124, 10.5)


def render_svg(width: float, height: float, font: float, draw: Callable[[Figure], str]) -> str:
    """Draw a figure and return it as an SVG element, the same whatever the settings of matplotlib are.

    Parameters
    ----------
    width, height : float
        The size of the figure in pixels.
    font : float
        The font size in pixels.
    draw : callable
        Draws on the figure, and returns a description of it for readers who do not see it.

    Returns
    -------
    svg : str
        The element. It has no identifiers and no references, so a page can hold any number of them.

    Examples
    --------
    >>> def draw(figure):
    ...     figure.text(0, 0.5, "5 $ < 6 $")
    ...     return "prices"
    >>> render_svg(100, 20, 10, draw).partition(" role=")[0]
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 20"'
    """
    style = require_extra("matplotlib.style", "cli", "drawing charts")
    figures = require_extra("matplotlib.figure", "cli", "drawing charts")
    content = io.StringIO()
    with warnings.catch_warnings(), style.context(["default", STYLE, {"font.size": font}]):
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has more fonts
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        figure = figures.Figure(figsize=(width / 72, height / 72), dpi=72)  # a point is a pixel
        description = draw(figure)
        figure.savefig(content, format="svg", metadata={"Date": None})
    root = _strip(ElementTree.fromstring(content.getvalue()))
    root.attrib = {
        "xmlns": NAMESPACE.strip("{}"), "viewBox": root.attrib["viewBox"],
        "role": "img", "aria-label": description,
    }  # fmt: skip
    return ElementTree.tostring(root, encoding="unicode")


def _strip(
    element: ElementTree.Element, markers: dict[str, ElementTree.Element] | None = None
) -> ElementTree.Element:
    """Remove metadata, definitions, identifiers and references, so that figures do not collide on a page.

    Markers, which refer to a definition, become paths of their own; those of ticks are left out.
    """
    element.tag = element.tag.removeprefix(NAMESPACE)
    element.tail = None
    if element.tag != "text":
        element.text = None
    if markers is None:
        defined = element.iter(f"{NAMESPACE}path")
        markers = {f"#{path.attrib['id']}": path for path in defined if "id" in path.attrib}
    if element.attrib.pop("id", "").startswith(("xtick", "ytick")):
        markers = {}
    element.attrib.pop("clip-path", None)
    if element.tag == "use":
        shape = markers.get(element.attrib[REFERENCE])
        place = f"translate({element.attrib['x']} {element.attrib['y']})"
        style = element.attrib.get("style", "")
        element.tag, element.attrib = "use" if shape is None else "path", {}
        if shape is not None:
            element.attrib = {"d": shape.attrib["d"], "transform": place, "style": style}
    children = [_strip(child, markers) for child in element]
    element[:] = [child for child in children if child.tag not in ("metadata", "defs", "use")]
    return element
