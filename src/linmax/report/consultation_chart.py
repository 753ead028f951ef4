"""The cost-accuracy curve of consultations, as a picture."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from linmax._files import write_atomic
from linmax.evaluate.consultation import Replay, Strategy
from linmax.report.line_chart import STYLES
from linmax.validation import require_extra

GREEN, BLACK = "#009E73", "#000000"


def draw_consultations(replay: Replay, path: Path, *, prices: bool) -> None:
    """Draw accuracy against cost: consultations by risk, and what else could be asked.

    Parameters
    ----------
    replay : Replay
        The strategies.
    path : Path
        The file, .png or .svg.
    prices : bool
        Whether there are prices; else the cost is the number of experts.
    """
    require_extra("matplotlib", "cli", "pictures")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.0), dpi=150, layout="constrained")
    axes = figure.add_subplot()
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
    axes.set_xlabel("cost per item" if prices else "experts asked per item")
    axes.set_ylabel("accuracy")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    content = io.BytesIO()
    kind = path.suffix.lower().lstrip(".")
    figure.savefig(
        content, format="svg" if kind == "svg" else "png", metadata={"Date": None} if kind == "svg" else None
    )
    write_atomic(path, content.getvalue())


def _line(axes: Any, strategies: list[Strategy], label: str, style: dict[str, Any]) -> None:
    axes.plot([one.cost for one in strategies], [one.accuracy for one in strategies], label=label, **style)


def _text(axes: Any, one: Strategy, text: str) -> None:
    axes.annotate(text, (one.cost, one.accuracy), xytext=(4, -11), textcoords="offset points", fontsize=8)
