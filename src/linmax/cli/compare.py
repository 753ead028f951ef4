"""A contest as a table, or as values for machines."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.cli.inputs import Truths, demand, within
from linmax.cli.inputs import open_labelled as opened
from linmax.cli.main import as_options
from linmax.cli.options import Reading, learner_of
from linmax.cli.output import brief, progressing, tell
from linmax.evaluate.compare import Contest, Gain, Place
from linmax.spec import Learner
from linmax.streams import Piece, Stream, survey
from linmax.streams.chunk import shuffled

WIDE = 120  # letters in a line, from which on everything is one table


def as_values(outcome: Outcome) -> dict[str, Any]:
    """All of it, the most accurate first."""
    contest = outcome.contest
    return {
        "file": outcome.file,
        "complete": outcome.complete,
        "items": contest.items,
        "trials": contest.trials,
        "unlabelled": contest.unlabelled,
        "novel": contest.novel,
        "against": contest.names[0],
        "places": contest.places(),
    }


def show(outcome: Outcome, console: Console) -> None:
    """Print mistakes and gains: as one table, or as two where lines are short."""
    contest = outcome.contest
    places = contest.places()
    first = contest.names[0]
    cost = "us an item" if console.options.ascii_only else "µs an item"
    counts = ("mistakes", "right", "last half", cost)
    gains = ("gain", "95 %", "p")
    console.print(Text(f"{outcome.file}: {_counted(outcome)}", style="bold"))
    if console.width >= WIDE:
        _table(
            console, (*counts, *gains), [(one, (*_told(one), *_gained(one.gain))) for one in places], first
        )
    else:
        _table(console, counts, [(one, _told(one)) for one in places], first)
        _table(console, gains, [(one, _gained(one.gain)) for one in places if one.gain], first)
    console.print(
        Text(
            f"gain: how many more in a hundred are right than of {first}, with a 95 % interval;"
            " p: how likely so lopsided a result is among equals (McNemar's test)."
        )
    )


def _table(
    console: Console, head: tuple[str, ...], rows: list[tuple[Place, tuple[str, ...]]], first: str
) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("learner", overflow="fold")
    for heading in head:
        table.add_column(heading, justify="right", no_wrap=True)
    for place, cells in rows:
        name = f"{place.name}: {brief(place.who)}" if place.who else place.name
        table.add_row(*map(Text, (name, *cells)), style="bold cyan" if place.name == first else "")
    console.print(table)


def _told(place: Place) -> tuple[str, ...]:
    cost = "" if place.microseconds is None else f"{place.microseconds:.2f}"
    return str(place.mistakes), _part(place.accuracy), _part(place.last_half), cost


def _gained(gain: Gain | None) -> tuple[str, str, str]:
    if gain is None:
        return "", "", ""
    interval = f"{100 * gain.low:+.2f} to {100 * gain.high:+.2f}"
    return f"{100 * gain.gain:+.2f}", interval, "< 0.001" if gain.p < 0.001 else f"{gain.p:.3f}"


def _part(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2%}"


def _counted(outcome: Outcome) -> str:
    contest = outcome.contest
    told = f"{contest.trials} trials"
    if contest.unlabelled:
        told += f", {contest.unlabelled} items without a label"
    if contest.novel:
        told += f", {contest.novel} novel labels"
    return told if outcome.complete else f"{told}, and not all of it"


ON_VOTES = (
    "recommended()",
    "Averaged(Recycled(Winnow(1.2)))",
    "Averaged(Perceptron())",
    "Winnow(1.2)",
    "WeightedMajority(None, 1.5)",
)
ON_ATTRIBUTES = (
    "Averaged(Perceptron().on(Attributes() + Thresholds()))",
    "Averaged(PassiveAggressive().on(Attributes() + Thresholds()))",
    "Logistic(0.1).on(Attributes() + Thresholds())",
    "Perceptron().on(Attributes() + Thresholds())",
)
ROWS = 8192  # learned at a time by each: Ctrl-C waits no longer


class Wishes(NamedTuple):
    """Who is compared, and on what."""

    learners: list[str]
    labels: Path | None = None
    shuffle: int | None = None
    picture: Path | None = None


class Outcome(NamedTuple):
    """A contest, and whether it came to its end."""

    file: str
    contest: Contest
    complete: bool


def compare(reading: Reading, wishes: Wishes) -> Outcome:
    """Let the learners learn the file side by side; Ctrl-C ends it where it is."""
    asked = {text.strip(): learner_of(text) for text in wishes.learners}
    if len(asked) < len(wishes.learners):
        raise ValueError("a learner is named twice; once is enough")
    _demand_picture(wishes.picture)
    stream, truths = opened(reading, wishes.labels)
    with stream:
        file = stream.layout.file
        first = stream.peek()
        if first is None:
            raise ValueError(f"{file} has no items; there is nothing to compare on")
        _remark(stream, wishes)
        contest = Contest(asked or _usual(first))
        for name, fusion in zip(contest.names, contest.fusions, strict=True):
            demand(fusion, first, name, file)
        complete = _run(contest, stream, truths, wishes.shuffle)
        if wishes.labels is not None and complete and not truths.joined:
            tell(f"note: no id of {wishes.labels} is in {file}; ids are compared as they are written")
    if not contest.trials and complete:
        where = file if wishes.labels is None else wishes.labels.name
        raise ValueError(f"no item of {file} has a label in {where} that could be guessed; check the columns")
    if wishes.picture is not None and contest.trials:
        from linmax.report.charts_experts import draw_contest

        draw_contest(*contest.curves(), wishes.picture, title=f"{file}: mistakes so far")
    return Outcome(file, contest, complete)


def _run(contest: Contest, stream: Stream, truths: Truths, seed: int | None) -> bool:
    file = stream.layout.file
    try:
        with progressing(stream, "compiling") as watch:
            for piece in stream if seed is None else shuffled(stream, seed):
                for begin in range(0, piece.items, ROWS):
                    part = piece.part(begin, begin + ROWS)
                    with within(file, part):
                        labels = truths.of(part)
                        if not contest.items:
                            contest.warm(part, labels)
                        contest.learn(part, labels)
                    watch.done(contest.items, "comparing")
    except KeyboardInterrupt:
        if not contest.trials:
            raise
        return False
    return True


def _usual(first: Piece) -> dict[str, Learner]:
    """Who is compared when nobody is named."""
    names = ON_ATTRIBUTES if first.votes is None else ON_VOTES
    return {name: learner_of(name) for name in names}


def _remark(stream: Stream, wishes: Wishes) -> None:
    """Say what looks odd in the first rows."""
    for sentence in survey(stream):
        sorted_ = sentence.startswith("rows are sorted") and wishes.shuffle is not None
        if not sorted_ and not (wishes.labels is not None and "have no label" in sentence):
            tell(f"note: {as_options(sentence)}")


def _demand_picture(picture: Path | None) -> None:
    if picture is None:
        return
    if picture.suffix.lower() != ".png":
        raise ValueError(f"cannot draw {picture}: it does not end in .png; call it so")
    if not picture.absolute().parent.is_dir():
        raise ValueError(f"cannot draw {picture}: there is no folder {picture.parent}; make it first")
