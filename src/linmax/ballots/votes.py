"""Votes in any shape become cells with a row per item, scores, or entries."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.ballots.abstain import Quiet
from linmax.ballots.cells import Cells, cells, silent
from linmax.ballots.entries import Entries, tidy
from linmax.ballots.laying import lay_out
from linmax.ballots.limits import beyond, floats, odd_score, score_error, within
from linmax.ballots.roll import Peek, Roll
from linmax.ballots.triplets import Triplets, read_triplets
from linmax.forms import Dense


def read_votes(source: Any, experts: Peek, classes: Roll, quiet: Quiet) -> Cells | Dense | Entries:
    """Read a table of votes; cells and scores have experts in the order of their roll."""
    if isinstance(source, Triplets):
        return tidy(read_triplets(source, experts), experts, quiet)
    if not isinstance(source, np.ndarray):
        return _frame(source, experts, classes, quiet)
    seats = experts.columns(source.shape[1], "votes")
    if source.ndim == 3:
        return Dense(_scores(source, experts, classes))
    if not seats:
        return silent((len(source), len(experts)))
    return quiet.hush(cells(source, "votes"))


def merge(columns: list[Cells], seats: list[int], shape: tuple[int, int], roll: Roll) -> Cells:
    """Put columns side by side: known names get the codes of the roll, others the codes after it.

    >>> merge([Cells(np.array([0, 1]), 0, ["a", "b"], "ab")], [1], (2, 2), Roll(["b"])).codes.tolist()
    [[-1, 1], [-1, 0]]
    """
    peek = Peek(roll)
    tables = [[-1 if name is None else peek.code(name) for name in said.names] for said in columns]
    out = np.empty(shape, np.int32) if len(seats) == shape[1] else np.full(shape, -1, np.int32)
    lay_out(columns, tables, seats, out)
    return Cells(out, -1, [None, *roll.names, *peek.new], [name for said in columns for name in said.present])


def _frame(frame: Any, experts: Peek, classes: Roll, quiet: Quiet) -> Cells:
    from linmax.ballots import frames

    seats = [experts.code(name) for name in frame.columns]
    columns = [quiet.hush(said) for said in frames.votes(frame)]
    return merge(columns, seats, (frame.shape[0], len(experts)), classes)


def _scores(array: NDArray[Any], experts: Peek, classes: Roll) -> NDArray[np.float64]:
    if array.dtype.kind not in "biufO":
        raise ValueError(
            f"votes with three dimensions must be numbers, the scores of classes (got {array.dtype})"
        )
    if 0 < len(classes) < array.shape[2]:  # fewer are fine: a label may have added a class since
        raise ValueError(f"votes score {array.shape[2]} classes but {len(classes)} are known; pass classes=")
    if not array.shape[1]:
        return np.zeros((len(array), len(experts), array.shape[2]))
    odd = odd_score(array) if array.dtype.kind == "O" else None
    if odd is None:
        given = floats(array)
        values = within(given)
        if values is None:
            given = np.where(np.isnan(given), 0.0, given)
            values = within(given)
        if values is not None:
            return values
        odd = beyond(given)
    item, expert, code = odd
    label = classes.names[code] if len(classes) else code
    raise score_error(item, experts.name(expert), label, array[odd])
