"""Whom linmax trusts, and why it guessed one digit as it did."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.cli.digits import Digits
from linmax.evaluate import Progress, plurality
from linmax.fusion import Explanation, Fusion
from linmax.report import Trust

BAR = 10  # characters of the longest bar
INK = (" ░▒▓█", " .+#@")  # paper to ink, in Unicode and in ASCII
BLOCK = ("█", "#")


def trusted(console: Console, panel: list[Trust]) -> None:
    """Print the experts by how far linmax lets them pull it to the truth."""
    console.print(Text("Whom linmax learned to trust", style="bold"))
    console.print(Text("pull: how many plain votes its vote is worth to the truth, on average"))
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("expert", no_wrap=True)
    table.add_column("right", justify="right")
    table.add_column("speaks", justify="right")
    table.add_column("pull", justify="right")
    table.add_column("", style="cyan", no_wrap=True, width=BAR)
    table.add_column("linmax hears", no_wrap=True)
    longest = max((one.pull for one in panel), default=0.0)
    for one in panel:
        length = round(BAR * one.pull / longest) if longest > 0 and one.pull > 0 else 0
        table.add_row(
            str(one.expert), f"{one.accuracy:.0%}", f"{one.speaks:.0%}", f"{one.pull:.1f}",
            BLOCK[_ascii(console)] * length, hearing(one),
        )  # fmt: skip
    console.print(table)


def hearing(one: Trust) -> str:
    """How an expert's votes are understood: as they are, as something else, or not at all.

    >>> hearing(Trust("ann", 0.0, 1.0, 3.0, {0: 1, 1: 0}))
    '1 for a 0, ...'
    """
    if one.pull < 0.1:
        return "nothing"
    other = {says: means for says, means in one.means.items() if says != means}
    if 2 * len(other) <= len(one.means):
        return "what it says"
    says, means = next(iter(other.items()))
    return f"{means} for a {says}, ..."


def explained(console: Console, fusion: Fusion, panel: Digits, progress: Progress) -> None:
    """Print one item: what it looks like, what everybody said, and what that added to two classes."""
    item, why = choose(fusion, panel, progress)
    guess, rival = why.guess, int(plurality(panel.votes[[item]], len(fusion.classes))[0])
    if guess == rival:
        rival = max((label for label in why.scores if label != guess), key=lambda label: why.scores[label])
    console.print(Text(f"Why linmax takes digit {item + 1} for a {guess}", style="bold"))
    console.print(
        Text(f"The plurality says {rival}; the truth is {panel.labels[item]}. What each vote adds:")
    )
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("expert", no_wrap=True)
    table.add_column("says", justify="right")
    for label in (guess, rival):
        table.add_column(f"for {label}", justify="right", style="cyan" if label == guess else "")
    said = dict(zip(panel.experts, panel.votes[item].tolist(), strict=True))
    rows = sorted(why.contributions.items(), key=lambda row: row[1].get(rival, 0.0) - row[1].get(guess, 0.0))
    for owner, parts in rows:
        name = str(owner) if owner in said else "(thresholds)"
        vote = said.get(owner, -1)
        table.add_row(
            name, str(vote) if vote >= 0 else "", *(_votes(parts.get(c, 0.0)) for c in (guess, rival))
        )
    table.add_section()
    table.add_row("all together", "", *(_votes(why.scores[c]) for c in (guess, rival)))
    side = Table.grid(padding=(0, 2))
    side.add_row(picture(panel.images[item], _ascii(console)), table)
    console.print(side)


def choose(fusion: Fusion, panel: Digits, progress: Progress) -> tuple[int, Explanation]:
    """The last item that linmax had right against the plurality, and has right now; else the last of all."""
    upset = np.flatnonzero(progress.linmax & ~progress.plurality)[::-1]
    why = None
    for item in [*upset[:20].tolist(), len(panel.labels) - 1]:
        votes = {name: vote for name, vote in zip(panel.experts, panel.votes[item].tolist(), strict=True)}
        why = fusion.explain_one(votes)
        if why.guess == panel.labels[item]:
            break
    assert why is not None
    return item, why


def picture(image: NDArray[np.float64], ascii_only: bool) -> Text:
    """A digit of eight by eight pixels, two characters wide each."""
    shades = INK[ascii_only]
    levels = np.minimum((image * len(shades)).astype(int), len(shades) - 1)
    lines = ["".join(2 * shades[level] for level in row) for row in levels.tolist()]
    return Text("\n".join(["", *lines]))


def _votes(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f}"


def _ascii(console: Console) -> bool:
    return console.options.ascii_only
