"""1999, Theorem 1, and 2003, section 4.3: the published and the provable bound, against an adversary.

Printed are 2 ln n / delta^2 (1999) and ln n / delta^2 (2003), with alpha = (1 - delta)^(-1/2). The adversary
looks at the weights before every trial; 1 / delta of the experts decide by majority, and are always right.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.committee_bounds.cells import SIZES, cells, multiplier, run
from experiments.curves import BLACK, BLUE, DASHES, DOTS, RED, tidy
from experiments.interface import Experiment, Figures, Found, Outcome, Table
from experiments.outcomes import statement_outcome
from linmax import Winnow
from linmax.bounds import Case, bound, published_1999, published_2003

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))


def gather(found: list[Found]) -> Figures:
    """Return the mistakes with the published and the provable bounds."""
    rows = []
    for one in found:
        size, n = one.cell["size"], one.cell["experts"]
        delta = 1 / size
        case = Case(n=n, delta=delta, u=[delta] * size)
        alpha = multiplier(one.cell["alpha"], delta)
        rows.append(
            {
                "size": size,
                "experts": n,
                "which": one.cell["alpha"],
                "alpha": alpha,
                "mistakes": one.value,
                "1999": published_1999(n, delta),
                "2003": published_2003(n, delta),
                "bound": bound(Winnow(alpha), case),
            }
        )
    return {"rows": rows}


def judge(figures: Figures) -> list[Outcome]:
    """Return which bounds the adversary refutes."""
    printed = [row for row in figures["rows"] if row["which"] == "printed"]
    best = [row for row in figures["rows"] if row["which"] == "best"]
    claim = "Committee makes at most {} mistakes with alpha = (1 - delta)^(-1/2)"
    return [
        _against(claim.format("2 ln n / delta^2"), "1999, Theorem 1", printed, "1999"),
        _against(claim.format("ln n / delta^2"), "2003, section 4.3", printed, "2003"),
        _against(
            "with alpha = ((1 + delta) / (1 - delta))^(1/2) it makes at most 2 ln n / delta^2",
            "lecture, Eq. 11",
            best,
            "1999",
        ),
    ]


def _against(claim: str, source: str, rows: list[dict[str, Any]], limit: str) -> Outcome:
    worst = max(rows, key=lambda row: row["mistakes"] / row[limit])
    holds = worst["mistakes"] <= worst[limit]
    return statement_outcome(
        claim,
        source,
        f"{worst['mistakes']} mistakes against {worst[limit]:.1f}"
        f" (n = {worst['experts']}, delta = 1/{worst['size']})",
        holds=holds,
        paper=f"{worst[limit]:.1f}",
        why="" if holds else "false: the adversary makes more mistakes",
    )


def tables(figures: Figures) -> list[Table]:
    """Return the table of mistakes and bounds."""
    lines = [
        [
            f"1/{row['size']}",
            str(row["experts"]),
            f"{row['alpha']:.4f} ({row['which']})",
            str(row["mistakes"]),
            f"{row['2003']:.1f}",
            f"{row['1999']:.1f}",
            f"{row['bound']:.1f}",
        ]
        for row in figures["rows"]
    ]
    head = ["delta", "n", "alpha", "mistakes", "printed 2003", "printed 1999", "bound that holds"]
    note = "The provable bound is (ln n + sum u ln u) / (eta delta - ln cosh eta), eta = ln alpha."
    return [Table("mistakes against an adversary", head, lines, note)]


def draw(figures: Figures, picture: Any) -> None:
    """Draw mistakes and bounds over n."""
    for axes, size in zip(picture.subplots(1, 2), SIZES, strict=True):
        rows = [row for row in figures["rows"] if row["size"] == size and row["which"] == "printed"]
        n = [row["experts"] for row in rows]
        axes.plot(n, [row["bound"] for row in rows], color=BLACK, linewidth=1.2, label="bound that holds")
        axes.plot(n, [row["1999"] for row in rows], color=BLUE, linestyle=DASHES, label="printed in 1999")
        axes.plot(n, [row["2003"] for row in rows], color=BLUE, linestyle=DOTS, label="printed in 2003")
        axes.plot(
            n, [row["mistakes"] for row in rows], color=RED, marker="o", linestyle="none", label="adversary"
        )
        axes.set(xscale="log", xlabel="experts n", ylabel="mistakes", ylim=(0, None))
        axes.set_title(f"delta = 1/{size}, alpha = {rows[0]['alpha']:.4f}", fontsize=10, loc="left")
        axes.legend(frameon=False, fontsize=9)
        tidy(axes)


EXPERIMENT = Experiment(
    name="committee-bounds",
    paper="1999",
    title="1999, Theorem 1: the published and the provable bound of Committee, against an adversary",
    cells=cells,
    run=run,
    gather=gather,
    tables=tables,
    judge=judge,
    draw=draw,
    size=(10.0, 4.6),
    runs=1,
)
