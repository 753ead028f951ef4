"""1999, section 4: Committee on a linear machine, with implicit and with explicit sub-experts.

A target with integer weights labels instances of binary attributes and a constant; instances on which it has
less than its margin are drawn anew. Each attribute is k sub-experts, which vote its value for their class.
"""

from __future__ import annotations

import json
from pathlib import Path

from experiments.committee_linear_machine.cells import (
    cells,
    run,
)
from experiments.interface import Experiment, Figures, Found, Outcome, Table
from experiments.outcomes import statement_outcome
from experiments.statistics import Interval, interval

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))
ROUNDING = 1e-9


def gather(found: list[Found]) -> Figures:
    """Return the results by setting."""
    rows = []
    for m, k in dict.fromkeys((one.cell["attributes"], one.cell["classes"]) for one in found):
        values = [one.value for one in found if (one.cell["attributes"], one.cell["classes"]) == (m, k)]
        rows.append({
            "attributes": m, "classes": k, "runs": len(values),
            "machine": interval([value["machine"] for value in values]),
            "sub-experts": interval([value["sub-experts"] for value in values]),
            "same": sum(value["same guesses"] for value in values),
            "apart": max(value["apart"] for value in values),
            "part": max(value["machine"] / value["bound"] for value in values),
            "printed part": max(value["machine"] / value["printed"] for value in values),
        })  # fmt: skip
    return {"rows": rows}


def judge(figures: Figures) -> list[Outcome]:
    """Compare both forms with each other and with Theorem 2."""
    rows = figures["rows"]
    runs, same = sum(row["runs"] for row in rows), sum(row["same"] for row in rows)
    apart = max(row["apart"] for row in rows)
    part = max(row["printed part"] for row in rows)
    return [
        statement_outcome("there is no need to keep track of the sub-experts: a linear machine does the same",
               "1999, section 4.3", f"the same guesses in {same} of {runs} runs, weights within {apart:.0e}",
               holds=same == runs and apart < ROUNDING),
        statement_outcome(
            "Committee makes at most 2 ln(mk) / delta^2 mistakes on a linear machine", "1999, Theorem 2",
               f"at most {part:.3f} times that on random instances", holds=False, in_order=part <= 1,
               why="with the alpha of the lecture: with the published one the underlying theorem is false"
               " (committee-bounds), and random instances prove nothing"),
    ]  # fmt: skip


def tables(figures: Figures) -> list[Table]:
    """Return the table of mistakes of both forms."""
    lines = [
        [str(row["attributes"]), str(row["classes"]), Interval(*row["machine"]).text(),
         Interval(*row["sub-experts"]).text(), f"{row['same']} of {row['runs']}", f"{row['part']:.3f}"]
        for row in figures["rows"]
    ]  # fmt: skip
    head = [
        "attributes",
        "classes",
        "linear machine",
        "explicit sub-experts",
        "same guesses",
        "most / bound that holds",
    ]
    return [Table("mistakes of Winnow on linear machines", head, lines)]


EXPERIMENT = Experiment(
    name="committee-linear-machine",
    paper="1999",
    title="1999, section 4: a linear machine is Committee with k sub-experts per attribute",
    cells=cells,
    run=run,
    gather=gather,
    tables=tables,
    judge=judge,
)
