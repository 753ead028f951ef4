"""A plain `Fusion`: its state, the votes that wait and the position in the log are saved in one file."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from linmax.fusion import Fusion, load
from linmax.fusion.model_file import fingerprint
from linmax.scale.messages import LABEL, LEARN, PREDICT, ItemMessage, Position
from linmax.scale.targets import WINDOW, Context, Target, other_label, other_votes
from linmax.service.messages.class_keys import same_label, typed_votes

NOTE = "follow"
FEW = 16  # items that are learned one by one: encoding them together takes longer
Votes = tuple[dict[str, Any] | None, dict[str, Any] | None]  # votes and attributes


class WaitingTrial(NamedTuple):
    """An item with its label, and the message that the label came with."""

    votes: dict[str, Any] | None
    attributes: dict[str, Any] | None
    label: Any
    item: ItemMessage

    @property
    def form(self) -> tuple[bool, bool]:
        """What items that are learned in one call have in common."""
        return self.votes is None, self.attributes is None


class ModelTarget(Target):
    """A session that learns, and its file.

    Parameters
    ----------
    fusion
        The session.
    path
        Its file; None if nothing is saved, so that only its notes have the position.
    window
        How many votes wait for their labels and how many ids are remembered, and for how many messages a
        label waits for its votes.
    """

    def __init__(self, fusion: Fusion, path: Path | None = None, window: int = WINDOW) -> None:
        super().__init__(window)
        self.fusion = fusion
        self.path = path
        self.votes: OrderedDict[str, Votes] = OrderedDict()
        self.labelled: OrderedDict[str, tuple[Any, str | None]] = OrderedDict()  # label and hash of votes
        self.positions: dict[str, Position] = {}
        self.places: dict[str, str] = {}
        self._complete = True
        self._version = _version(path)

    async def open(self, context: Context) -> Position | None:
        """Read the notes of the session."""
        self.context = context
        self._check_file()
        try:
            state = self.fusion.notes.get(NOTE)
            if state is None:
                return None
            self.positions = {str(key): dict(value) for key, value in state["positions"].items()}
            self.votes.update((id_, (votes, attributes)) for id_, votes, attributes in state["votes"])
            for id_, label, *key in state["labelled"]:  # earlier versions have saved no hash
                self.labelled[id_] = label, key[0] if key else None
            self.parked.restore(state["parked"])
            self.places = dict(state.get("places", {}))  # earlier versions have saved none
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ValueError(
                f"the note {NOTE!r} of this model is damaged; remove it to follow a log from anew"
            ) from None
        context.check_place(self.places.get(context.key))
        position = self.positions.get(context.key)
        self.saved = dict(position or {})
        return position

    def _check_file(self) -> None:
        """Refuse to replace a model that the session does not continue."""
        self._check_unchanged()
        if self.path is not None and self.path.exists():
            found = load(self.path)
            if _state(found) != _state(self.fusion):
                raise ValueError(
                    f"{self.path} has another model than the session; load it, and pass that session to"
                    " continue it, or name a new file"
                )

    def _check_unchanged(self) -> None:
        """Refuse to replace what another program has written."""
        if _version(self.path) not in (None, self._version):
            raise ValueError(
                f"{self.path} was changed by another program while it was followed; let one program at a time"
                " write it, and start again"
            )

    async def process(self, items: list[ItemMessage], position: Position) -> None:
        """Learn the items; nothing is awaited, so that a cancelled task leaves no half of a batch."""
        self._complete = False
        report = self.context.report
        trials: dict[str, WaitingTrial] = {}
        for item in items:
            self.parked.count(self.context.rejections)
            if item.id in trials:  # what becomes of it depends on whether that one can be learned
                self._learn_all(trials)
            trial = self._trial(item)
            if trial is not None:
                trials[item.id] = trial
        self._learn_all(trials)
        self.count(report, items)
        report.waiting = len(self.votes) + len(self.parked)
        self.positions[self.context.key] = dict(position)
        self._complete = True

    def _trial(self, item: ItemMessage) -> WaitingTrial | None:
        """Return what can be learned now that a message came; what waits, and what is known, is updated."""
        id_, body = item.id, item.body
        given = body.votes, body.attributes
        if body.replaces is not UNSET:
            self._reject(item, "a model file cannot replace a label; a server can")
        elif id_ in self.labelled:
            self._check_repeated(item)
        elif item.kind == LABEL and id_ in self.votes:
            return self._complete_item(item, self.votes.pop(id_), body.label)
        elif item.kind == LABEL:
            self.park(item, self.context.rejections)
        elif id_ in self.votes:
            if _key(self.votes[id_]) != _key(given):
                self._reject(item, other_votes(id_))
            elif item.kind == PREDICT:
                self.context.report.repeated += 1
            else:
                self._reject(item, f"the votes of the item {id_!r} came before; send its label without votes")
        elif item.kind == LEARN:
            return self._complete_item(item, given, body.label)
        else:
            label = self.parked.pop(id_)
            if label is not None:
                return self._complete_item(label, given, label.body.label)
            self._wait(id_, given)
        return None

    def _wait(self, id_: str, given: Votes) -> None:
        """Keep votes until their label comes."""
        self.votes[id_] = given
        if len(self.votes) > self.parked.window:
            self.votes.popitem(last=False)
            self.context.report.expired += 1

    def _complete_item(self, item: ItemMessage, given: Votes, label: Any) -> WaitingTrial:
        self.labelled[item.id] = label, _key(given)
        if len(self.labelled) > self.parked.window:
            self.labelled.popitem(last=False)
        return WaitingTrial(*given, label, item)

    def _check_repeated(self, item: ItemMessage) -> None:
        label, key = self.labelled[item.id]
        if item.kind != PREDICT and not same_label(label, item.body.label):
            self._reject(item, other_label(item.id, label))
        elif item.kind != LABEL and key not in (None, _key((item.body.votes, item.body.attributes))):
            self._reject(item, other_votes(item.id))
        else:
            self.context.report.repeated += 1

    def _reject(self, item: ItemMessage, reason: str) -> None:
        self.context.rejections.add(item.message, reason)

    def _learn_all(self, trials: dict[str, WaitingTrial]) -> None:
        """Learn items in their order, and remove them."""
        for _, group in groupby(trials.values(), lambda trial: trial.form):
            self._learn(list(group))
        trials.clear()

    def _learn(self, trials: list[WaitingTrial]) -> None:
        """Learn items of one form; if one of them cannot be learned, the others are."""
        if len(trials) < FEW or not self.fusion.classes:
            for trial in trials[:FEW]:
                self._learn_one(trial)
            trials = trials[FEW:]
        if not trials:
            return
        labels = [trial.label for trial in trials]
        votes = [typed_votes(self.fusion, trial.votes, trial.label) for trial in trials]
        attributes = [trial.attributes for trial in trials]
        report = self.context.report
        try:
            run = self.fusion.learn(
                None if votes[0] is None else votes,
                labels,
                attributes=None if attributes[0] is None else attributes,
            )
        except ValueError:
            for trial in trials:
                self._learn_one(trial)
            return
        report.learned += run.trials
        report.mistakes += run.trials - run.right

    def _learn_one(self, trial: WaitingTrial) -> None:
        votes = typed_votes(self.fusion, trial.votes, trial.label)
        try:
            prediction = self.fusion.learn_one(votes, trial.label, attributes=trial.attributes)
        except ValueError as error:
            self._reject(trial.item, str(error))
            self.labelled.pop(trial.item.id, None)  # so that a corrected message is learned
            if trial.item.kind == LABEL:
                self._wait(trial.item.id, (trial.votes, trial.attributes))
            return
        self.context.report.learned += 1
        self.context.report.mistakes += not same_label(prediction, trial.label)

    async def save(self, position: Position) -> None:
        """Save the session, and the position with it."""
        if not self._complete:
            return
        self._check_unchanged()
        self.positions[self.context.key] = dict(position)
        self.fusion.notes[NOTE] = {
            "positions": self.positions,
            "places": {**self.places, self.context.key: self.context.place},
            "votes": [[id_, *given] for id_, given in self.votes.items()],
            "labelled": [[id_, *known] for id_, known in self.labelled.items()],
            "parked": self.parked.state(),
        }
        self.context.rejections.write()
        if self.path is not None:
            self.fusion.save(self.path)
            self._version = _version(self.path)
        self.saved = dict(position)


def _key(given: Votes) -> str:
    """Return a hash of votes and attributes, whatever their order."""
    return blake2b(msgspec.json.encode(given, order="sorted"), digest_size=8).hexdigest()


def _state(fusion: Fusion) -> tuple[str, bytes]:
    """Return what a session has learned, and from where in which logs."""
    return fingerprint(fusion), msgspec.json.encode(fusion.notes.get(NOTE), order="sorted")


def _version(path: Path | None) -> tuple[int, int, int] | None:
    """Return what differs after a file was written; None if there is no file."""
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)
