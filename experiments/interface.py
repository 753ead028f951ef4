"""The definition of an experiment: claims, independent cells, and functions of their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

Cell = dict[str, Any]  # the parameters of one independent run: texts and numbers only
Figures = dict[str, Any]  # JSON data; tables, outcomes and the plot are computed from it alone
Judgement = Literal["reproduced", "reproduced in order only", "not reproduced", "data lost"]


class Table(NamedTuple):
    """A table of texts."""

    title: str
    head: list[str]
    lines: list[list[str]]
    note: str = ""


class Outcome(NamedTuple):
    """A claim of a paper, the result here, and the judgement.

    Parameters
    ----------
    claim : str
        The claim.
    source : str
        Where it is in the paper.
    paper, found : str
        The figure of the paper, and ours.
    judgement : str
        Whether the claim is reproduced.
    why : str
        The reason for the judgement.
    """

    claim: str
    source: str
    paper: str
    found: str
    judgement: Judgement
    why: str = ""


class Found(NamedTuple):
    """A cell and its result."""

    cell: Cell
    value: Any


@dataclass(frozen=True)
class Experiment:
    """One table, figure or remark of a paper.

    Tables, outcomes and the plot are functions of the figures, so they can be rebuilt from the stored file.

    Parameters
    ----------
    name : str
        The name on the command line, such as fusion-table-1.
    paper : str
        The year of the paper, "lecture", or "plans" for what the papers left open.
    title : str
        The title of the page.
    cells : callable
        `cells(runs, quick)` returns the independent runs.
    run : callable
        `run(cell, data)` runs one cell, in a process of its own, and returns JSON data.
    gather : callable
        Turns the results of all cells, in their order, into figures.
    tables, judge : callable
        Turn figures into tables and outcomes.
    draw : callable, optional
        Draws figures on an empty matplotlib figure.
    size : tuple of float
        The size of that figure in inches.
    runs : int
        The number of runs.
    data, optional : tuple of str
        Required and optional files, by their path in the folder of data.
    fitted : str
        What was chosen because it fits the claims, for the page.
    """

    name: str
    paper: str
    title: str
    cells: Callable[[int, bool], list[Cell]]
    run: Callable[[Cell, Path], Any]
    gather: Callable[[list[Found]], Figures]
    tables: Callable[[Figures], list[Table]]
    judge: Callable[[Figures], list[Outcome]]
    draw: Callable[[Figures, Any], None] | None = None
    size: tuple[float, float] = (8.5, 5.0)
    runs: int = 20
    data: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    fitted: str = ""
