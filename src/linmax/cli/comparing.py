"""Several learners on one file: who makes the fewest mistakes, and is that more than luck?"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from linmax.cli.asking import learner_of
from linmax.cli.consoles import tell
from linmax.cli.fitting import demand, within
from linmax.cli.frame import as_options
from linmax.cli.joining import Truths, opened
from linmax.cli.progressing import progressing
from linmax.cli.reading import Reading
from linmax.evaluate.contest import Contest
from linmax.learner import Learner
from linmax.streams import Piece, Stream, survey
from linmax.streams.pieces import shuffled

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
        from linmax.report.contest import draw_contest

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
