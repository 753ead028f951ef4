"""What an experiment is: claims, cells that can be run apart, and what is made of their numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

Cell = dict[str, Any]  # what tells one piece of work from the others: text and numbers only
Figures = dict[str, Any]  # what JSON can hold; tables, verdicts and the picture are made of it alone
Judgement = Literal["reproduced", "reproduced in order only", "not reproduced", "data lost"]


class Table(NamedTuple):
    """Lines of text under a head."""

    title: str
    head: list[str]
    lines: list[list[str]]
    note: str = ""


class Verdict(NamedTuple):
    """A claim of a paper, what it says, what was found, and what follows."""

    claim: str
    source: str  # where in the paper
    paper: str
    found: str
    judgement: Judgement
    why: str = ""


class Found(NamedTuple):
    """A cell and what running it gave."""

    cell: Cell
    value: Any


@dataclass(frozen=True)
class Experiment:
    """One table, figure or remark of a paper.

    `cells(runs, quick)` lists the work; `run(cell, data)` does one piece of it, in a process of its own, and
    gives what JSON can hold; `gather` turns all pieces, in the order of the cells, into figures. Tables,
    verdicts and the picture come from the figures, so they can be made again from the kept file.
    """

    name: str  # on the command line, such as fusion-table-1
    paper: str  # its year, and for the lecture its name
    title: str
    cells: Callable[[int, bool], list[Cell]]
    run: Callable[[Cell, Path], Any]
    gather: Callable[[list[Found]], Figures]
    tables: Callable[[Figures], list[Table]]
    judge: Callable[[Figures], list[Verdict]]
    draw: Callable[[Figures, Any], None] | None = None  # onto an empty matplotlib figure
    size: tuple[float, float] = (8.5, 5.0)  # of that figure, in inches
    runs: int = 20
    data: tuple[str, ...] = ()  # files that must be there, by their path in the folder of data
    optional: tuple[str, ...] = ()  # files that are used when they are there
    fitted: str = ""  # what was chosen because it fits, said on the page
