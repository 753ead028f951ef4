"""The cost-accuracy curve of consultations, as a picture."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from linmax._files import write_atomic
from linmax.evaluate.consultation import Replay, Strategy
from linmax.report.charts.line_chart import STYLES
from linmax.report.charts.svg import GRID, WIDE, render_svg
from linmax.report.text import percent
from linmax.validation import require_extra

GREEN, BLACK = "#009E73", "#000000"
HEIGHT = 400


def draw_consultations(replay: Replay, path: Path) -> None:
    """Draw accuracy against cost into a file: consultations by risk, and what else could be asked.

    Parameters
    ----------
    replay : Replay
        The strategies.
    path : Path
        The file, .png or .svg.
    """
    require_extra("matplotlib", "cli", "pictures")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.0), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    _plot(axes, replay)
    axes.set_ylabel("accuracy")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    content = io.BytesIO()
    kind = path.suffix.lower().lstrip(".")
    figure.savefig(
        content, format="svg" if kind == "svg" else "png", metadata={"Date": None} if kind == "svg" else None
    )
    write_atomic(path, content.getvalue())


def cost_accuracy(replay: Replay | None) -> str:
    """Draw the same for an HTML page.

    Parameters
    ----------
    replay : Replay or None
        The strategies.

    Returns
    -------
    svg : str
        The figure; empty without labels.
    """
    if replay is None or not replay.labelled:
        return ""

    def draw(figure: Any) -> str:
        axes = figure.subplots()
        figure.subplots_adjust(left=0.08, right=0.98, top=0.93, bottom=0.13)
        axes.set_title("Accuracy by what is asked", loc="left")
        _plot(axes, replay)
        axes.grid(color=GRID, linewidth=0.8)
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
        unit = "a cost of {:.4g}" if replay.priced else "{:.2f} experts"
        points = (
            f"{percent(one.accuracy)} with {unit.format(one.cost)} ({one.name})"
            for one in (replay.everybody, *replay.consultations)
        )
        return f"Curve of accuracy by the cost per item: {', '.join(points)}."

    return render_svg(WIDE.width, HEIGHT, WIDE.font, draw)


def _plot(axes: Any, replay: Replay) -> None:
    plurality = [one for one in replay.others if one.name.startswith("plurality")]
    _line(axes, plurality, "plurality of the cheapest", STYLES["plurality"])
    if replay.subsets:
        style = {"color": GREEN, "linewidth": 1.6, "linestyle": (0, (1.5, 1.5))}
        _line(axes, replay.subsets, "best fixed subset in hindsight", style)
    _line(
        axes, [*replay.consultations[::-1], replay.everybody], "consult", STYLES["linmax"] | {"marker": "o"}
    )
    for one, marker in zip(replay.others[:2], "sD", strict=True):
        axes.plot(one.cost, one.accuracy, marker, color=BLACK, markersize=6)
        _text(axes, one, one.name.partition(" (")[0])
    points = {(one.cost, one.accuracy): one for one in replay.consultations}  # of equal ones, the last
    for i, one in enumerate(sorted(points.values(), key=lambda one: -one.cost)):
        axes.annotate(  # one below the other: points may be close together
            one.name.removeprefix("consult, "), (one.cost, one.accuracy), xytext=(0.42, 0.84 - 0.05 * i),
            textcoords="axes fraction", fontsize=8, va="center", arrowprops={"arrowstyle": "-", "lw": 0.4},
        )  # fmt: skip
    _text(axes, replay.everybody, "everybody")
    axes.set_xlabel("cost per item" if replay.priced else "experts asked per item")
    axes.legend(frameon=False, loc="lower right")


def _line(axes: Any, strategies: list[Strategy], label: str, style: dict[str, Any]) -> None:
    axes.plot([one.cost for one in strategies], [one.accuracy for one in strategies], label=label, **style)


def _text(axes: Any, one: Strategy, text: str) -> None:
    axes.annotate(text, (one.cost, one.accuracy), xytext=(4, -11), textcoords="offset points", fontsize=8)
