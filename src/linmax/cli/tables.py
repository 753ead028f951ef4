"""Whom linmax trusts, and why it guessed one digit as it did."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.cli.digits import Digits
from linmax.evaluate import Progress, Trust, plurality
from linmax.fusion import Explanation, Fusion

BAR = 10  # characters of the longest bar
INK = (" ░▒▓█", " .+#@")  # paper to ink, in Unicode and in ASCII
BLOCK = ("█", "#")


def trusted(console: Console, panel: list[Trust]) -> None:
    """Print the experts by how far linmax lets them pull it to the truth."""
    console.print(Text("Whom linmax learned to trust", style="bold"))
    console.print(Text("trust: an expert's share in what draws linmax to the truth"))
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("expert", no_wrap=True)
    table.add_column("right", justify="right")
    table.add_column("speaks", justify="right")
    table.add_column("trust", justify="right")
    table.add_column("", style="cyan", no_wrap=True, width=BAR)
    table.add_column("linmax hears", no_wrap=True)
    shares = np.maximum([one.pull for one in panel], 0.0)
    shares = shares / (shares.sum() or 1.0)
    for one, share in zip(panel, shares.tolist(), strict=True):
        bar = BLOCK[_ascii(console)] * round(BAR * share / (max(shares) or 1.0))
        table.add_row(
            str(one.expert),
            f"{one.accuracy:.0%}",
            f"{one.speaks:.0%}",
            f"{share:.0%}",
            bar,
            hearing(one, share),
        )
    console.print(table)


def hearing(one: Trust, share: float) -> str:
    """How an expert's votes are understood: as they are, as something else, or not at all.

    >>> hearing(Trust("ann", 0.0, 1.0, 3.0, {0: 1, 1: 0}), share=0.2)
    '1 for a 0, ...'
    """
    if share < 0.01:
        return "nothing"
    other = {says: means for says, means in one.means.items() if says != means}
    if 2 * len(other) <= len(one.means):
        return "what it says"
    says, means = next(iter(other.items()))
    return f"{means} for a {says}, ..."


def explained(console: Console, fusion: Fusion, panel: Digits, progress: Progress) -> None:
    """Print one item: what it looks like, what everybody said, and what that added to two classes."""
    item, why = choose(fusion, panel, progress)
    guess, most = why.guess, int(plurality(panel.votes[[item]], len(fusion.classes))[0])
    rival = most if most != guess else sorted(why.scores, key=lambda label: -why.scores[label])[1]
    unit = 100.0 / (max(map(abs, why.scores.values())) or 1.0)
    console.print(Text(f"Why linmax takes digit {item + 1} for a {guess}", style="bold"))
    console.print(
        Text(f"The plurality says {most}; the truth is {panel.labels[item]}. What each vote adds, in points:")
    )
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("expert", no_wrap=True)
    table.add_column("says", justify="right")
    for label in (guess, rival):
        table.add_column(f"for {label}", justify="right", style="cyan" if label == guess else "")
    said = dict(zip(panel.experts, panel.votes[item].tolist(), strict=True))
    rows = sorted(why.contributions.items(), key=lambda row: row[1].get(rival, 0.0) - row[1].get(guess, 0.0))
    for owner, parts in rows:
        name = "(thresholds)" if owner == "threshold" else str(owner)
        vote = said.get(owner, -1)
        table.add_row(
            name,
            str(vote) if vote >= 0 else "",
            *(f"{round(unit * parts.get(c, 0.0)):+d}" for c in (guess, rival)),
        )
    table.add_section()
    table.add_row("all together", "", *(f"{round(unit * why.scores[c]):+d}" for c in (guess, rival)))
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


def _ascii(console: Console) -> bool:
    return console.options.ascii_only
