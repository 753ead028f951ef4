"""Learn a file of votes in one pass, show it, and keep what was asked for."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.text import Text

from linmax.cli.consoles import as_json, out
from linmax.cli.fitting import demand
from linmax.cli.frame import as_options
from linmax.cli.joining import opened
from linmax.cli.live import Board
from linmax.cli.orders import Orders, check, check_costs, costs
from linmax.cli.reading import Reading
from linmax.cli.resuming import Start, keep, start
from linmax.cli.summary import summary
from linmax.evaluate.coding import coded
from linmax.evaluate.findings import Findings
from linmax.evaluate.onepass import Pass
from linmax.evaluate.summing import sum_up
from linmax.streams import Guesses, Stream, survey
from linmax.streams.ahead import Ahead
from linmax.streams.pieces import shuffled

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
