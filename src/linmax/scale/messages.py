"""Messages of a log: items and labels in the JSON of the service, and what became of them."""

from __future__ import annotations

import json
import logging
import os
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from linmax.service.http.bodies import parse
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import Attributes, ItemId, Label, Votes
from linmax.validation import count_noun

Position = dict[str, Any]  # for each partition, the place in the log up to which it was read
GROUP = "linmax"  # that names a position if an address has no other
SHOWN = 20  # rejected messages that a report describes
LONGEST_REASON = 500  # characters
PREDICT, LABEL, LEARN = "predict", "labels", "learn"
logger = logging.getLogger("linmax.scale")


class Message(NamedTuple):
    """One message of a log.

    Attributes
    ----------
    partition : str
        The part of the log that it is in.
    offset : str
        Its place, as people and tools of the broker name it.
    before, after : int or str
        The place to continue from so that this message is the next one, or the last one that was read.
    value : bytes or None
        Its content; None if it has none.
    """

    partition: str
    offset: str
    before: Any
    after: Any
    value: bytes | None


class Body(Struct, forbid_unknown_fields=True):
    """What a message says: the bodies of requests to the service, in one structure."""

    id: ItemId | UnsetType = UNSET
    votes: Votes | None = None
    attributes: Attributes | None = None
    label: Label | UnsetType = UNSET
    replaces: Label | UnsetType = UNSET


class ItemMessage(NamedTuple):
    """A message that was read.

    Attributes
    ----------
    kind : str
        `PREDICT` if its label comes later, `LABEL` if its votes came before, `LEARN` if it has both.
    id : str
        The id of the item.
    body : Body
        What it says.
    message : Message
        Where it is from.
    """

    kind: str
    id: str
    body: Body
    message: Message


@dataclass
class Report:
    """What was found in a log.

    Attributes
    ----------
    messages : int
        The number of messages that were read.
    items : int
        Those with votes or attributes.
    labels : int
        Those with a label, also together with votes.
    learned : int
        Labels that were learned.
    mistakes : int
        Wrong predictions among them: made just before the label was learned by a model, and when the votes
        came by a server.
    repeated : int
        Messages whose id was processed before, as far as it is known.
    expired : int
        Votes that a model has stopped to keep, since others came after them.
    waiting : int
        Votes that wait for a label in a model, and labels that wait for votes.
    rejected : int
        Messages that could not be used.
    lost : int
        Messages that the broker had removed before they were read, as far as it is known.
    lag : int or None
        Messages in the log that were not read yet; None if the broker does not say.
    reasons : list of str
        A sentence for each of the first rejected messages.

    Examples
    --------
    >>> str(Report(messages=3, items=2, labels=1, learned=1, lag=0))
    '3 messages: 2 items, 1 label, 0 mistakes in 1 learned, 0 rejected, lag 0'
    """

    messages: int = 0
    items: int = 0
    labels: int = 0
    learned: int = 0
    mistakes: int = 0
    repeated: int = 0
    expired: int = 0
    waiting: int = 0
    rejected: int = 0
    lost: int = 0
    lag: int | None = None
    reasons: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [
            count_noun(self.items, "item"),
            count_noun(self.labels, "label"),
            f"{count_noun(self.mistakes, 'mistake')} in {self.learned:,} learned",
            f"{self.rejected:,} rejected",
        ]
        parts += [f"{value:,} {name}" for name in ("repeated", "waiting", "expired", "lost")
                  if (value := getattr(self, name))]  # fmt: skip
        parts.append(f"lag {'unknown' if self.lag is None else format(self.lag, ',')}")
        return f"{count_noun(self.messages, 'message')}: {', '.join(parts)}"


def one_line(text: str) -> str:
    r"""Return a text without control characters, and not too long: it may have names that a message chose.

    >>> one_line("unknown field `a\nb\x1b[31m`")
    'unknown field `a\\nb\\x1b[31m`'
    """
    if len(text) > LONGEST_REASON:
        text = text[: LONGEST_REASON - 3] + "..."
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


class Rejections:
    """Messages that cannot be used: counted, described in the report, and kept in a file if there is one.

    Parameters
    ----------
    report
        Where they are counted.
    path
        A file to which they are appended, a line of JSON each; None keeps none.
    """

    def __init__(self, report: Report, path: Path | None = None) -> None:
        self.report = report
        self._path = path
        self._lines: list[str] = []
        if path is not None:
            self.write()

    def add(self, message: Message, reason: str) -> None:
        """Reject a message.

        Parameters
        ----------
        message
            The message.
        reason
            What is wrong with it.
        """
        self.report.rejected += 1
        reason = one_line(reason)
        sentence = f"{message.partition} at {message.offset}: {reason}"
        if len(self.report.reasons) < SHOWN:
            self.report.reasons.append(sentence)
            logger.warning("rejected %s", sentence)
        elif self.report.rejected == SHOWN + 1:
            logger.warning("rejected more than %d messages; from now on they are only counted", SHOWN)
        if self._path is not None:
            text = None if message.value is None else message.value.decode(errors="backslashreplace")
            row = {"partition": message.partition, "offset": message.offset, "reason": reason, "value": text}
            self._lines.append(json.dumps(row) + "\n")

    def write(self) -> None:
        """Write what was rejected to disk; called before the position in the log is saved."""
        if self._path is None or (self._path.exists() and not self._lines):
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(self._lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ValueError(f"cannot write rejected messages to {self._path}: {error.strerror}") from None
        self._lines.clear()


class ParkedLabels:
    """Labels that came before the votes of their items, and wait for them for a number of messages.

    Parameters
    ----------
    window
        For how many later messages a label waits.
    """

    def __init__(self, window: int) -> None:
        self.window = window
        self.seen = 0
        self._labels: OrderedDict[str, tuple[int, ItemMessage]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._labels)

    def __contains__(self, id_: str) -> bool:
        return id_ in self._labels

    def add(self, item: ItemMessage) -> None:
        """Keep a label that came now."""
        self._labels[item.id] = self.seen, item

    def get(self, id_: str) -> ItemMessage:
        """Return the label that waits for an item."""
        return self._labels[id_][1]

    def pop(self, id_: str) -> ItemMessage | None:
        """Return the label that waits for an item, which does not wait any more; None if there is none."""
        found = self._labels.pop(id_, None)
        return None if found is None else found[1]

    def count(self, rejections: Rejections) -> None:
        """Count one message; a label that has waited too long is rejected."""
        self.seen += 1
        while self._labels:
            id_, (since, item) = next(iter(self._labels.items()))
            if self.seen - since <= self.window:
                return
            del self._labels[id_]
            rejections.add(
                item.message, f"no votes of the item {id_!r} came within {self.window} messages of its label"
            )

    def first_positions(self) -> Position:
        """Return, for each partition, the place before the first label that waits."""
        found: Position = {}
        for _, item in self._labels.values():
            found.setdefault(item.message.partition, item.message.before)
        return found

    def state(self) -> dict[str, Any]:
        """Return everything as JSON has it; `restore` reads it."""
        rows = []
        for since, (_, id_, body, message) in self._labels.values():
            replaces = [] if body.replaces is UNSET else [body.replaces]
            rows.append([since, id_, body.label, message.partition, message.offset, *replaces])
        return {"seen": self.seen, "labels": rows}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` has returned."""
        self.seen = int(state["seen"])
        for since, id_, label, partition, offset, *replaces in state["labels"]:
            body = Body(id=id_, label=label, replaces=replaces[0] if replaces else UNSET)
            content = json.dumps({"id": id_, "label": label}).encode()
            message = Message(partition, offset, None, None, content)
            self._labels[id_] = since, ItemMessage(LABEL, id_, body, message)


def read_message(message: Message, group: str = GROUP) -> ItemMessage:
    """Return what a message says; a ValueError says why it cannot be used.

    An item with votes and a label needs no id: its place in the log is one, with the group unless it is the
    default one, since another log may have the same places.

    Parameters
    ----------
    message
        The message.
    group
        The group of the log.

    Examples
    --------
    >>> item = read_message(Message("votes", "7", 7, 8, b'{"votes": {"ann": "ham"}, "label": "ham"}'))
    >>> item.kind, item.id
    ('learn', 'votes 7')
    >>> read_message(Message("votes", "8", 8, 9, b'{"votes": {"ann": "ham"}}'))
    Traceback (most recent call last):
    ValueError: votes without a label need an id, so that a label can come later
    """
    if message.value is None:
        raise ValueError("the message has no content")
    try:
        body = parse(message.value, Body)
    except ServiceError as error:
        raise ValueError(error.message.replace("the request is", "the message is")) from None
    given = body.votes is not None or body.attributes is not None
    if body.label is UNSET:
        if not given:
            raise ValueError("the message has no votes, attributes or label")
        if body.id is UNSET:
            raise ValueError("votes without a label need an id, so that a label can come later")
        kind = PREDICT
    elif given:
        kind = LEARN
    elif body.id is UNSET:
        raise ValueError("a label without votes needs the id of its item")
    else:
        kind = LABEL
    if body.replaces is not UNSET and kind != LABEL:
        raise ValueError("replaces is for labels that come after the votes")
    id_ = body.id
    if id_ is UNSET:
        id_ = f"{message.partition} {message.offset}" + f" {group}" * (group != GROUP)
    return ItemMessage(kind, id_, body, message)
