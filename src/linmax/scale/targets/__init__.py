"""Where votes and labels go: a model file, the log of a server in this process, or a server over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple

from linmax.scale.messages import (
    LABEL,
    LEARN,
    PREDICT,
    ItemMessage,
    ParkedLabels,
    Position,
    Rejections,
    Report,
    logger,
)
from linmax.service.messages.class_keys import same_label
from linmax.spec import parse

WINDOW = 10_000
AGAIN = frozenset({0, 500, 502, 503, 504, 507})  # HTTP statuses of what may succeed later; 0 is no answer
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # seconds


class Context(NamedTuple):
    """What a target needs from the loop that reads the log.

    Attributes
    ----------
    key : str
        What names the log and the group.
    place : str
        Where the log is.
    moved : bool
        Whether it was elsewhere when its position was saved.
    rejections : Rejections
        What cannot be used.
    pause : callable
        Waits for a number of seconds; raises `StoppedError` when the work is to end.
    wait_for : callable
        Waits for an answer from elsewhere; raises `StoppedError` if there is none and the work is to end.
    """

    key: str
    place: str
    moved: bool
    rejections: Rejections
    pause: Callable[[float], Awaitable[None]]
    wait_for: Callable[[Awaitable[Any]], Awaitable[Any]]

    @property
    def report(self) -> Report:
        """The counts."""
        return self.rejections.report

    def check_place(self, saved: str | None) -> None:
        """Refuse the position of another log.

        Parameters
        ----------
        saved
            Where the log was when the position was saved; None if an earlier version has saved it.
        """
        if saved not in (None, self.place) and not self.moved:
            raise ValueError(
                f"the position of {self.key} was saved at {saved}, and this is {self.place}; add moved=1 to"
                " the address if it is the same log, or another group= if it is not"
            )

    async def retry(self, seconds: float, reason: str) -> None:
        """Wait before another attempt; the first one that fails is logged.

        Parameters
        ----------
        seconds
            The pause, as `pauses` yields it.
        reason
            Why it is needed.
        """
        if seconds == FIRST_PAUSE:
            logger.warning("%s; trying again", reason)
        await self.pause(seconds)


class StoppedError(Exception):
    """The work is to end while it waits for something."""


class Target:
    """Where items and labels go.

    Parameters
    ----------
    window
        For how many later messages a label waits for the votes of its item.

    Attributes
    ----------
    keeps_position : bool
        Whether the position in the log is saved with what was learned; otherwise the broker saves it.
    saved : dict
        The position that is safe: what came before it need not be read again.
    """

    keeps_position = True

    def __init__(self, window: int) -> None:
        self.parked = ParkedLabels(window)
        self.saved: Position = {}

    async def open(self, context: Context) -> Position | None:
        """Start; return the position that was saved, None if there is none."""
        raise NotImplementedError

    async def process(self, items: list[ItemMessage], position: Position) -> None:
        """Process items; the position is that after them."""
        raise NotImplementedError

    async def save(self, position: Position) -> None:
        """Save the state and the position, if that was not done with the items."""

    async def close(self) -> None:
        """Release what was opened."""

    def count(self, report: Report, items: list[ItemMessage]) -> None:
        """Count items that were processed."""
        report.items += sum(item.kind != LABEL for item in items)
        report.labels += sum(item.kind != PREDICT for item in items)

    def arrange(
        self, items: list[ItemMessage], has: Callable[[str], bool], rejections: Rejections
    ) -> list[list[ItemMessage]]:
        """Return runs of items of one kind; the order of learning does not depend on the size of batches.

        Votes that wait for a label come first, since they change no weights. Labels and complete items are
        learned in their order. A label that came before its votes is learned when these come, and these are
        kept in the order, too: if they were stored and the labels before them were not, a killed program
        would find the votes when it reads the label again, and learn it too early.

        Parameters
        ----------
        items
            The items of a batch.
        has
            Whether the votes of an item were processed before this batch.
        rejections
            What cannot be used.
        """
        first: list[ItemMessage] = []
        order: list[ItemMessage] = []
        known: set[str] = set()
        learned: set[str] = set()
        for item in items:
            self.parked.count(rejections)
            if item.kind == PREDICT:
                known.add(item.id)
                label = self.parked.pop(item.id)
                if label is not None:
                    learned.add(item.id)
                    order += [item, label]
                else:
                    (order if item.id in learned else first).append(item)
            elif item.kind == LEARN:
                learned.add(item.id)
                order.append(item)
            elif item.id in known or item.id in learned or has(item.id):
                order.append(item)
            else:
                self.park(item, rejections)
        runs: list[list[ItemMessage]] = [first] if first else []
        for item in order:
            if not runs or runs[-1][0].kind != item.kind or runs[-1] is first:
                runs.append([])
            runs[-1].append(item)
        return runs

    def park(self, item: ItemMessage, rejections: Rejections) -> None:
        """Keep a label until the votes of its item come."""
        if item.id not in self.parked:
            self.parked.add(item)
        elif same_label(self.parked.get(item.id).body.label, item.body.label):
            rejections.report.repeated += 1
        else:
            rejections.add(item.message, other_label(item.id, self.parked.get(item.id).body.label))


def other_label(id_: str, label: Any) -> str:
    """Return a sentence about an item that has another label."""
    return f"the item {id_!r} has the label {label!r} already"


def other_votes(id_: str) -> str:
    """Return a sentence about an item that has other votes."""
    return f"the id {id_!r} was used for other votes; choose a new id"


def check_learner(name: str, given: str | None, found: str) -> None:
    """Refuse another learner than a fusion has.

    Parameters
    ----------
    name
        The fusion.
    given
        The learner that a user has named; None allows every one.
    found
        The learner of the fusion, as its description has it.
    """
    if given is not None and repr(parse(given)) != found:
        raise ValueError(f"{name} has the learner {found}; leave out --learner, or name a new fusion")


def pauses() -> Iterator[float]:
    """Yield the seconds to wait before each new attempt."""
    seconds = FIRST_PAUSE
    while True:
        yield seconds
        seconds = min(2 * seconds, LONGEST_PAUSE)


def message_of(item: ItemMessage) -> dict[str, Any]:
    """Return an item as the body of a request to the service."""
    from msgspec import UNSET

    fields = {name: getattr(item.body, name) for name in ("votes", "attributes", "label", "replaces")}
    return {"id": item.id} | {
        name: value for name, value in fields.items() if value is not None and value is not UNSET
    }
