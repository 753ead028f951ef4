"""`linmax demo`: weak classifiers vote on handwritten digits, and linmax learns whom to trust."""

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

from linmax import Fusion
from linmax.cli.demo.digits import DigitsPanel, digits_panel
from linmax.cli.inputs import parse_learner
from linmax.cli.output import BLOCK, check_output, format_key, stdout_console
from linmax.evaluate import Progress, Trust, plurality, progressive, trust
from linmax.fusion import Explanation
from linmax.report import draw
from linmax.validation import require_extra

LEARNER = "recommended()"
TITLE = "Twelve weak classifiers of handwritten digits: cumulative mistakes"

COMPARED = ("plurality", "best expert", "linmax")
WIDTHS = (16, 11, 13, 9)

FRAMES = 90
"""Frames of the live table."""

BAR = 10
"""Characters of the longest bar."""

SHADES = (" ░▒▓█", " .+#@")
"""Characters for pixels from white to black, in Unicode and in ASCII."""


def run_demo(*, seed: int, learner: str | None, picture: Path, seconds: float) -> None:
    """Run the demo, print its results and draw the picture."""
    console = stdout_console()
    made = parse_learner(learner or LEARNER)
    check_output(picture, "draw")
    require_extra("sklearn", "sklearn", "linmax demo")
    require_extra("matplotlib", "cli", "linmax demo")
    with console.status("Training twelve classifiers on small parts of the digits ..."):
        panel = digits_panel(seed)
        fusion = Fusion(made, classes=range(10), experts=panel.experts)
    with console.status("Preparing the learner ..."):
        fusion.predict(panel.votes[:1])
    console.print(
        Text(
            "Twelve classifiers, each trained on a small part of scikit-learn's digits, vote on "
            f"{len(panel.labels)} others. linmax predicts each digit before it sees the label."
        )
    )
    console.print(Text(f"Learner: {learner or LEARNER}", style="dim"))
    console.print()
    progress = learn_panel(console, fusion, panel, seconds)
    console.print()
    print_trust(console, trust(fusion, panel.votes, panel.labels))
    console.print()
    print_explanation(console, fusion, panel, progress)
    console.print()
    console.print(Text(closing_sentence(progress), style="bold"))
    draw(progress, picture, title=TITLE)
    console.print(Text(f"The curves are in {picture}."), soft_wrap=True)


def learn_panel(console: Console, fusion: Fusion, panel: DigitsPanel, seconds: float) -> Progress:
    """Learn the panel: on a terminal with a live table, elsewhere with a line per milestone."""
    if console.is_terminal and not console.is_dumb_terminal:
        return _learn_live(console, fusion, panel, seconds)
    console.print(_format_line("mistakes after", *COMPARED))
    progress = None
    for progress in learn_until(fusion, panel, milestones(len(panel.labels))):
        console.print(_format_line(progress.trials, *(progress.mistakes[name] for name in COMPARED)))
    assert progress is not None
    console.print(_format_line("accuracy", *(f"{right:.1%}" for right in accuracies(progress))))
    return progress


def _learn_live(console: Console, fusion: Fusion, panel: DigitsPanel, seconds: float) -> Progress:
    stops = milestones(len(panel.labels))
    # the distances between frames grow geometrically, because most is learned at the beginning
    frames = sorted({*stops, *np.geomspace(1, len(panel.labels), FRAMES).astype(int).tolist()})
    progress = None
    with Live(console=console, auto_refresh=False) as live:
        for progress in learn_until(fusion, panel, frames):
            live.update(progress_table(progress, stops), refresh=True)
            time.sleep(seconds / len(frames))
    assert progress is not None
    return progress


def learn_until(fusion: Fusion, panel: DigitsPanel, stops: list[int]) -> Iterator[Progress]:
    """Learn up to each stop, and yield the progress so far."""
    progress = progressive(fusion, panel.votes[: stops[0]], panel.labels[: stops[0]])
    yield progress
    for start, stop in itertools.pairwise(stops):
        progress = progress + progressive(fusion, panel.votes[start:stop], panel.labels[start:stop])
        yield progress


def milestones(trials: int) -> list[int]:
    """The powers of two below the number of trials, and that number.

    >>> milestones(10)
    [1, 2, 4, 8, 10]
    """
    return [*(1 << i for i in range((trials - 1).bit_length())), trials]


def progress_table(progress: Progress, stops: list[int]) -> Table:
    """The mistakes at the stops so far and now, with the accuracies in the footer."""
    right = [f"{value:.1%}" for value in accuracies(progress)]
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        show_footer=True,
        caption=f"best expert so far: {progress.best_expert}",
        caption_justify="left",
    )
    table.add_column("mistakes after", footer="accuracy", justify="right", width=WIDTHS[0] - 2)
    for name, footer, width in zip(COMPARED, right, WIDTHS[1:], strict=True):
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
        table.add_row(str(stop), *(str(curves[name][stop - 1]) for name in COMPARED))
    return table


def accuracies(progress: Progress) -> list[float]:
    """The accuracy of the plurality, the best expert and linmax."""
    return [1 - progress.mistakes[name] / max(progress.trials, 1) for name in COMPARED]


def _format_line(*cells: object) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(map(str, cells), WIDTHS, strict=True))


def print_trust(console: Console, panel: list[Trust]) -> None:
    """Print the experts with their accuracies and their shares of the trust."""
    console.print(Text("Trust in the experts", style="bold"))
    console.print(Text("trust: an expert's share of what raises the score of the correct class"))
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("expert", no_wrap=True)
    table.add_column("accuracy", justify="right")
    table.add_column("votes", justify="right")
    table.add_column("trust", justify="right")
    table.add_column("", style="cyan", no_wrap=True, width=BAR)
    table.add_column("reading", no_wrap=True)
    shares = np.maximum([one.contribution for one in panel], 0.0)
    shares = shares / (shares.sum() or 1.0)
    for one, share in zip(panel, shares.tolist(), strict=True):
        bar = BLOCK[console.options.ascii_only] * round(BAR * share / (max(shares) or 1.0))
        table.add_row(
            str(one.expert),
            f"{one.accuracy:.0%}",
            f"{one.vote_rate:.0%}",
            f"{share:.0%}",
            bar,
            describe_reading(one, share),
        )
    console.print(table)


def describe_reading(one: Trust, share: float) -> str:
    """How linmax reads the votes of an expert.

    >>> describe_reading(Trust("ann", 0.0, 1.0, 3.0, {0: 1, 1: 0}), share=0.2)
    'a 0 as 1, ...'
    """
    if share < 0.01:
        return "ignored"
    remapped = {says: means for says, means in one.mapping.items() if says != means}
    if 2 * len(remapped) <= len(one.mapping):
        return "as voted"
    says, means = next(iter(remapped.items()))
    return f"a {says} as {means}, ..."


def print_explanation(console: Console, fusion: Fusion, panel: DigitsPanel, progress: Progress) -> None:
    """Print one digit, its votes, and what each vote adds to the scores of two classes."""
    item, why = choose_item(fusion, panel, progress)
    prediction, most_votes = why.guess, int(plurality(panel.votes[[item]], len(fusion.classes))[0])
    by_score = sorted(why.scores, key=lambda label: -why.scores[label])
    rival = most_votes if most_votes != prediction else by_score[1]
    unit = 100.0 / (max(map(abs, why.scores.values())) or 1.0)
    console.print(Text(f"Why linmax predicts {prediction} for digit {item + 1}", style="bold"))
    console.print(
        Text(
            f"The plurality is {most_votes}; the truth is {panel.labels[item]}. What each vote adds to the"
            " scores, in percent of the largest:"
        )
    )
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("expert", no_wrap=True)
    table.add_column("vote", justify="right")
    for label in (prediction, rival):
        table.add_column(f"for {label}", justify="right", style="cyan" if label == prediction else "")
    votes = dict(zip(panel.experts, panel.votes[item].tolist(), strict=True))
    rows = sorted(
        why.contributions.items(), key=lambda row: row[1].get(rival, 0.0) - row[1].get(prediction, 0.0)
    )
    for owner, added in rows:
        vote = votes.get(owner, -1)
        points = (f"{round(unit * added.get(label, 0.0)):+d}" for label in (prediction, rival))
        table.add_row(format_key(owner), str(vote) if vote >= 0 else "", *points)
    table.add_section()
    table.add_row("total", "", *(f"{round(unit * why.scores[label]):+d}" for label in (prediction, rival)))
    side_by_side = Table.grid(padding=(0, 2))
    side_by_side.add_row(draw_digit(panel.images[item], console.options.ascii_only), table)
    console.print(side_by_side)


def choose_item(fusion: Fusion, panel: DigitsPanel, progress: Progress) -> tuple[int, Explanation]:
    """The last item that linmax predicts correctly and the plurality does not; else the last of all."""
    candidates = np.flatnonzero(progress.linmax & ~progress.plurality)[::-1]
    why = None
    for item in [*candidates[:20].tolist(), len(panel.labels) - 1]:
        votes = dict(zip(panel.experts, panel.votes[item].tolist(), strict=True))
        why = fusion.explain_one(votes)
        if why.guess == panel.labels[item]:
            break
    assert why is not None
    return item, why


def draw_digit(image: NDArray[np.float64], ascii_only: bool) -> Text:
    """A digit of eight by eight pixels; a pixel is two characters wide."""
    shades = SHADES[ascii_only]
    levels = np.minimum((image * len(shades)).astype(int), len(shades) - 1)
    lines = ["".join(2 * shades[level] for level in row) for row in levels.tolist()]
    return Text("\n".join(["", *lines]))


def closing_sentence(progress: Progress) -> str:
    """The result in a sentence."""
    mistakes = progress.mistakes
    ours, least = mistakes["linmax"], min(mistakes["plurality"], mistakes["best expert"])
    text = (
        f"On {progress.trials} digits linmax made {ours} mistakes, the plurality of the same votes "
        f"{mistakes['plurality']}, and the best of the twelve ({progress.best_expert}, known only in "
        f"hindsight) {mistakes['best expert']}"
    )
    if ours < least:
        return f"{text}: {100 * (least - ours) / least:.0f} % fewer than the better of the two."
    return f"{text}: this learner did not beat both."
