"""A session that begins, or goes on from a model: with new rows of the same file, or in its middle."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from linmax.cli.fuse_summary import summary
from linmax.cli.inputs import demand
from linmax.cli.inputs import open_labelled as opened
from linmax.cli.main import as_options
from linmax.cli.options import Orders, Reading, check, check_costs, costs, learner_of
from linmax.cli.output import Board, as_json, out
from linmax.evaluate.findings import Findings
from linmax.evaluate.resumable_run import NOTHING, Before, Pass, Recalled, coded, head, knows, noted
from linmax.evaluate.summarize import sum_up
from linmax.fusion import Fusion, load
from linmax.inputs import DEFAULT
from linmax.streams import Guesses, Stream, survey
from linmax.streams.chunk import shuffled
from linmax.streams.stream import Ahead

ATTRIBUTES = "Averaged(Perceptron()).on(Attributes())"  # learns where nobody votes
NOTE = "fuse"  # under which a model notes how far a pass has come


class Start(NamedTuple):
    """Where a pass begins."""

    fusion: Fusion
    before: Before  # rows that are passed over
    recalled: Recalled | None  # the audit of a pass that was stopped
    again: bool  # whether rows are learned that were learned before
    history: list[str]  # what there is to say about it
    head: tuple[int, str]  # the digest of the first rows of the file


def start(orders: Orders, stream: Stream) -> Start:
    """A new session, or the one of a model, after the rows that it has learned of this file."""
    if orders.start is None:
        learner = orders.learner or (ATTRIBUTES if stream.layout.shape == "attributes" else "recommended()")
        fusion = Fusion(learner_of(learner), seed=orders.seed, abstain=abstaining(orders.abstain, stream))
        return Start(fusion, NOTHING, None, False, [], head(stream.peek()))
    fusion = load(orders.start)
    notes = fusion.notes.pop(NOTE, {})
    if not isinstance(notes, dict) or not notes:
        return Start(fusion, NOTHING, None, False, [], head(stream.peek()))
    return _gone_on(fusion, notes, orders, stream)


def _gone_on(fusion: Fusion, notes: dict[str, Any], orders: Orders, stream: Stream) -> Start:
    file, same = stream.layout.file, knows(notes.get("head"), stream.peek())
    new = Start(fusion, NOTHING, None, False, [], head(stream.peek()))
    try:
        before = Before(int(notes["rows"]), str(notes["digest"]))
        base = int(notes["base"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"what {orders.start} notes of the run that made it is damaged; start anew"
        ) from None
    if "audit" in notes and not orders.again:
        if not same or notes.get("shuffle") != orders.shuffle:
            how = "" if notes.get("shuffle") is None else f" with --shuffle {notes['shuffle']}"
            raise ValueError(
                f"{orders.start} stopped after {before.rows:,} rows of {notes.get('file')}{how}; give that"
                " file as it was to go on there, or --again to learn this one from its beginning"
            )
        told = [f"{file} goes on after row {before.rows:,}, where it stopped"]
        return new._replace(before=before, recalled=Recalled(notes["audit"], base), history=told)
    if not same:
        return new
    if orders.again or orders.shuffle is not None or notes.get("shuffle") is not None:
        return new._replace(again=True, history=[f"rows of {file} are learned that were learned before"])
    told = [f"{file} goes on after row {before.rows:,}: those before it are learned already"]
    return new._replace(before=before, history=told)


def keep(run: Pass, began: Start, stream: Stream, orders: Orders, *, finished: bool) -> None:
    """Write the model, with how far it has come."""
    assert orders.save is not None
    notes = {
        "file": stream.layout.file,
        "rows": run.mark.rows,
        "base": run.mark.rows - run.audit.items,
        "digest": run.mark.digest,
        "head": list(began.head),
        "shuffle": orders.shuffle,
    }
    run.fusion.notes[NOTE] = notes if finished else {**notes, "audit": noted(run.audit)}
    run.fusion.save(orders.save)


def abstaining(text: str | None, stream: Stream) -> Any:
    """The vote that abstains: none at all, a whole number, or a text, as which CSV has numbers, too."""
    if text == "none":
        return None
    textual = stream.layout.format in ("CSV", "TSV")
    if text is None:
        return "-1" if textual and _numbered(stream) else DEFAULT
    return int(text) if not textual and text.removeprefix("-").isdecimal() else text


def _numbered(stream: Stream) -> bool:
    """Whether labels are whole numbers in the first rows, and none is -1."""
    first = stream.peek()
    labels = set() if first is None or first.labels is None else set(first.labels.tolist()) - {None}
    return bool(labels) and "-1" not in labels and all(one.removeprefix("-").isdecimal() for one in labels)


MANY = 100  # classes, with which recommended() is slow


def fuse(reading: Reading, orders: Orders, console: Console | None = None) -> bool:
    """Run the pass; whether it came to the end of the file."""
    console = console or out()
    cost = costs(orders.cost or [])
    check(reading, orders)
    stream, truths = opened(reading, orders.labels)
    with stream:
        check_costs(cost, stream.layout)
        began = start(orders, stream)
        first = stream.peek()
        if first is not None:
            demand(began.fusion, first, repr(began.fusion.learner), stream.layout.file)
        oddities = odd(stream, orders)
        if not orders.json:
            console.print(Text(str(stream.layout)), soft_wrap=True)
            for sentence in [*oddities, *began.history, *short(began, orders)]:
                console.print(Text(f"Note: {sentence}.", style="yellow"), soft_wrap=True)
        rows = truths.given(stream if orders.shuffle is None else shuffled(stream, orders.shuffle))
        pieces = Ahead(coded(began.fusion, rows))
        run = Pass(
            began.fusion, pieces, before=began.before, recalled=began.recalled, every=orders.checkpoint,
            marked=orders.save is not None,
        )  # fmt: skip
        with Board(console, stream, quiet=orders.json) as board:
            with pieces, interruptible(pieces) as stopped:
                finished = follow(run, began, stream, orders, board, stopped)
            if not finished and orders.save is not None:
                keep(run, began, stream, orders, finished=False)
            found = found_out(run, began, stream, cost, oddities, board, leave_out=finished)
    tell(console, found, orders, run, finished)
    if finished and orders.save is not None:
        keep(run, began, stream, orders, finished=True)
    return finished


def short(began: Start, orders: Orders) -> list[str]:
    """A file of guesses of a pass that goes on does not begin at the beginning."""
    if orders.output is None or not began.before.rows:
        return []
    return [f"{orders.output} will hold the guesses after row {began.before.rows:,} only"]


def odd(stream: Stream, orders: Orders) -> list[str]:
    """What looks odd in the first rows, but for what was thought of."""
    sentences = survey(stream)
    if orders.shuffle is not None:
        sentences = [one for one in sentences if not one.startswith("rows are sorted")]
    if orders.labels is not None:
        sentences = [one for one in sentences if "have no label" not in one]
    first = stream.peek()
    if orders.learner is None and orders.start is None and first is not None and first.labels is not None:
        classes = len(set(first.labels.tolist()))
        if classes > MANY:
            sentences.append(
                f"there are {classes} labels, with which recommended() takes long;"
                " --learner 'Averaged(Winnow(1.2))' is quick"
            )
    return [as_options(one) for one in sentences]


def follow(run: Pass, began: Start, stream: Stream, orders: Orders, board: Board, stopped: list[int]) -> bool:
    """Let the pass go on to its end, or to a Ctrl-C; whether it was the end."""
    with ExitStack() as stack, suppress(Stopped):
        output = stack.enter_context(Guesses(orders.output)) if orders.output else None
        for outcome in run:
            board.show(run.audit)
            if output is not None:
                output.write(outcome.piece, outcome.guesses, outcome.margins, outcome.piece.labels)
            if orders.checkpoint and run.audit.items % orders.checkpoint == 0:
                keep(run, began, stream, orders, finished=False)
            if stopped:
                raise Stopped
        if not run.audit.items and began.before.rows:
            raise ValueError(
                f"{orders.start} has learned all {began.before.rows:,} rows of {stream.layout.file};"
                " add rows, or learn them once more with --again"
            )
        if orders.save is not None:  # if that fails, there shall be no guesses either
            keep(run, began, stream, orders, finished=False)  # findings are still to be told
        return True
    return False


def found_out(
    run: Pass,
    began: Start,
    stream: Stream,
    cost: dict[str, float],
    oddities: list[str],
    board: Board,
    *,
    leave_out: bool,
) -> Findings:
    """The findings; a Ctrl-C while experts are left out, one after the other, leaves only that out."""

    def summed(leave_out: bool) -> Findings:
        return sum_up(
            run.audit, run.fusion, file=stream.layout.file, source=str(stream.layout), cost=cost,
            oddities=oddities, again=began.again, leave_out=leave_out,
            told=lambda i, n: board.status("leaving out each expert", i, n),
        )  # fmt: skip

    try:
        return summed(leave_out)
    except KeyboardInterrupt:
        return summed(False)


def tell(console: Console, found: Findings, orders: Orders, run: Pass, finished: bool) -> None:
    """Show what was found, and say what was written."""
    if orders.report is not None:
        from linmax.report.page import write_page

        write_page(found, orders.report)
    if orders.json:
        as_json({**vars(found), "finished": finished})
        return
    summary(console, found)
    for what, path in (
        ("The model is", orders.save),
        ("The guesses are", orders.output if finished else None),
        ("The report is", orders.report),
    ):
        if path is not None:
            console.print(Text(f"{what} in {path}."), soft_wrap=True)
    if not finished:
        way = f"; --from {orders.save} goes on from there" if orders.save else ""
        console.print(Text(f"Stopped after {run.audit.items:,} items{way}.", style="bold"), soft_wrap=True)


class Stopped(Exception):  # noqa: N818 - it is no error
    """A Ctrl-C came: what is learned is whole, and files that are being written are let go."""


@contextmanager
def interruptible(pieces: Ahead[Any]) -> Iterator[list[int]]:
    """A list that the first Ctrl-C fills; when waiting for the file it also stops. The second is as usual."""
    came: list[int] = []

    def note(number: int, _: Any) -> None:
        came.append(number)
        signal.signal(signal.SIGINT, before)
        if pieces.waiting:
            raise Stopped

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not in the main thread, which hears no Ctrl-C
        yield came
        return
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)
