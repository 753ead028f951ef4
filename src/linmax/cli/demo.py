"""The demo: a dozen weak classifiers vote on digits, and linmax learns whom to trust."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from linmax import Fusion, parse
from linmax.cli.race import race
from linmax.cli.tables import explained, trusted
from linmax.evaluate import Progress, trust
from linmax.report import draw

LEARNER = "recommended()"
TITLE = "Twelve weak readers of handwritten digits: mistakes so far"


def show(*, seed: int, learner: str | None, picture: Path, seconds: float) -> None:
    """Run the demo and leave the picture."""
    console = Console(highlight=False)
    fusion_of = parse(learner or LEARNER)
    if not picture.parent.is_dir():
        raise ValueError(f"cannot draw {picture}: there is no folder {picture.parent}")
    with console.status("Training twelve classifiers on scraps of the digits ..."):
        from linmax.cli.digits import digits  # scikit-learn takes a while to import

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
