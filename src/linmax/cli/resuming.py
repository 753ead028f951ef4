"""A session that begins, or goes on from a model: with new rows of the same file, or in its middle."""

from __future__ import annotations

from typing import Any, NamedTuple

from linmax.ballots import DEFAULT
from linmax.cli.asking import learner_of
from linmax.cli.orders import Orders
from linmax.evaluate.footprint import head, knows
from linmax.evaluate.keeping import Recalled, noted
from linmax.evaluate.onepass import NOTHING, Before, Pass
from linmax.fusion import Fusion, load
from linmax.streams import Stream

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
