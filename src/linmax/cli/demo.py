"""Whom linmax trusts, and why it guessed one digit as it did."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from linmax import Fusion, parse
from linmax.cli.demo_data import Digits
from linmax.evaluate import Progress, Trust, plurality, progressive, trust
from linmax.fusion import Explanation
from linmax.report import draw

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


RIVALS = ("plurality", "best expert", "linmax")
FRAMES = 90  # of the live table
WIDTHS = (16, 11, 13, 9)


def race(console: Console, fusion: Fusion, panel: Digits, seconds: float) -> Progress:
    """Learn the stream piece by piece; on a terminal as a live table, elsewhere as a line per doubling."""
    if console.is_terminal and not console.is_dumb_terminal:
        return _live(console, fusion, panel, seconds)
    console.print(_line("mistakes after", *RIVALS))
    progress = None
    for progress in pieces(fusion, panel, milestones(len(panel.labels))):
        console.print(_line(progress.trials, *(progress.mistakes[name] for name in RIVALS)))
    assert progress is not None
    console.print(_line("right", *(f"{right:.1%}" for right in accuracies(progress))))
    return progress


def _live(console: Console, fusion: Fusion, panel: Digits, seconds: float) -> Progress:
    stops = milestones(len(panel.labels))
    # frames come at geometric distances: most is learned at the beginning
    frames = sorted({*stops, *np.geomspace(1, len(panel.labels), FRAMES).astype(int).tolist()})
    progress = None
    with Live(console=console, auto_refresh=False) as live:
        for progress in pieces(fusion, panel, frames):
            live.update(board(progress, stops), refresh=True)
            time.sleep(seconds / len(frames))
    assert progress is not None
    return progress


def pieces(fusion: Fusion, panel: Digits, stops: list[int]) -> Iterator[Progress]:
    """Progress up to each stop."""
    progress = progressive(fusion, panel.votes[: stops[0]], panel.labels[: stops[0]])
    yield progress
    for start, stop in itertools.pairwise(stops):
        progress = progress + progressive(fusion, panel.votes[start:stop], panel.labels[start:stop])
        yield progress


def milestones(trials: int) -> list[int]:
    """1, 2, 4, 8 ... and the end.

    >>> milestones(10)
    [1, 2, 4, 8, 10]
    """
    return [*(1 << i for i in range((trials - 1).bit_length())), trials]


def board(progress: Progress, stops: list[int]) -> Table:
    """Mistakes at the stops behind and now; beneath, how many guesses were right."""
    right = [f"{value:.1%}" for value in accuracies(progress)]
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        show_footer=True,
        caption=f"best expert so far: {progress.leader}",
        caption_justify="left",
    )
    table.add_column("mistakes after", footer="right", justify="right", width=WIDTHS[0] - 2)
    for name, footer, width in zip(RIVALS, right, WIDTHS[1:], strict=True):
        style = "bold cyan" if name == "linmax" else ""
        table.add_column(
            name,
            footer=footer,
            justify="right",
            style=style,
            header_style=style,
            footer_style=style,
            width=width,
        )
    curves = progress.curves
    for stop in sorted({*(stop for stop in stops if stop < progress.trials), progress.trials}):
        table.add_row(str(stop), *(str(curves[name][stop - 1]) for name in RIVALS))
    return table


def accuracies(progress: Progress) -> list[float]:
    """The part of guesses that were right, of each of the three."""
    return [1 - progress.mistakes[name] / max(progress.trials, 1) for name in RIVALS]


def _line(*cells: object) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(map(str, cells), WIDTHS, strict=True))


LEARNER = "recommended()"
TITLE = "Twelve weak readers of handwritten digits: mistakes so far"


def show(*, seed: int, learner: str | None, picture: Path, seconds: float) -> None:
    """Run the demo and leave the picture."""
    console = Console(highlight=False)
    fusion_of = parse(learner or LEARNER)
    if not picture.parent.is_dir():
        raise ValueError(f"cannot draw {picture}: there is no folder {picture.parent}")
    with console.status("Training twelve classifiers on scraps of the digits ..."):
        from linmax.cli.demo_data import digits  # scikit-learn takes a while to import

        panel = digits(seed)
        fusion = Fusion(fusion_of, classes=range(10), experts=panel.experts)
    with console.status("Compiling the learner; the next time it comes from the cache ..."):
        fusion.predict(panel.votes[:1])  # learns nothing, and Ctrl-C works
    console.print(
        Text(
            "Twelve classifiers, each trained on a scrap of scikit-learn's digits, vote on "
            f"{len(panel.labels)} others. linmax guesses every digit before it is told the truth."
        )
    )
    console.print(Text(f"Learner: {learner or LEARNER}", style="dim"))
    console.print()
    progress = race(console, fusion, panel, seconds)
    console.print()
    trusted(console, trust(fusion, panel.votes, panel.labels))
    console.print()
    explained(console, fusion, panel, progress)
    console.print()
    console.print(Text(closing(progress), style="bold"))
    draw(progress, picture, title=TITLE)
    console.print(Text(f"The curves are in {picture}."), soft_wrap=True)


def closing(progress: Progress) -> str:
    """The result in a sentence, whichever way it went."""
    mistakes = progress.mistakes
    ours, least = mistakes["linmax"], min(mistakes["plurality"], mistakes["best expert"])
    told = (
        f"On {progress.trials} digits linmax made {ours} mistakes, the plurality of the same votes "
        f"{mistakes['plurality']}, and the best of the twelve ({progress.leader}, known only in hindsight) "
        f"{mistakes['best expert']}"
    )
    if ours < least:
        return f"{told}: {100 * (least - ours) / least:.0f} % fewer than the better of the two."
    return f"{told}: this learner did not beat them both."
