"""The last labelled items of a fusion: who agrees, which classes are confused, and how sure it was."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Struct

from linmax import inputs
from linmax.service.event_log.chunks import BODY
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import AMENDMENT, LABELLED, LEARNED
from linmax.service.event_log.stored_items import decode_item
from linmax.service.event_log.trials import LearnedTrial
from linmax.service.fusions.history import History, abstentions, top_class
from linmax.service.messages.answers import HistoryAnswer
from linmax.service.messages.class_keys import class_key, is_class

LAST = f"""
SELECT e.position, e.time, e.id, {BODY.format("e")}, {BODY.format("v")}, a.label
FROM events e
LEFT JOIN events v ON v.position = e.item
{AMENDMENT.format("e.position")}
WHERE e.fusion = ? AND e.position > ? AND e.position <= ? AND e.kind IN (?, ?)
AND (a.position IS NULL OR a.label IS NOT NULL)
ORDER BY e.position DESC LIMIT ?
"""
ANY_LABEL = (
    "SELECT 1 FROM events WHERE fusion = ? AND position > ? AND position < ? AND kind IN (?, ?) LIMIT 1"
)
LARGEST = 5000  # labels that are looked at
MAX_BYTES = 16 << 20  # of their votes
MAX_VOTES = 500_000
POINTS = 300  # of a curve
MAX_EXPERTS, MAX_CLASSES = 30, 20  # of a table
MAX_LISTED = 200  # experts in a list
BINS = 10
LEVELS = 50  # of coverage
PARTS = 60  # of the experts that are asked over time


class Labelled(NamedTuple):
    """An item with its prediction and label; the probability is unknown if both came at once."""

    position: int
    time: float
    id: str
    votes: dict[str, Any]
    label: Any
    prediction: Any
    probability: float | None


class ConfusionMatrix(Struct):
    """How often each class (a row) was predicted as each other (a column); `omitted` has no room."""

    classes: list[str]
    table: list[list[int]]
    omitted: int


class AgreementMatrix(Struct):
    """How often two experts vote for the same class; null if never both do. `omitted` have no room."""

    experts: list[str]
    table: list[list[float | None]]
    omitted: int


class Bin(Struct):
    """The predictions with a probability in a range: how sure they were, and how often they were right."""

    low: float
    high: float
    items: int
    confidence: float
    accuracy: float


class Coverage(Struct):
    """The share of mistakes if only the surest predictions are used, by the share of those."""

    coverage: list[float]
    error: list[float]


class Asked(Struct):
    """How many experts were asked about an item: an expert was asked if the item has a vote or null for it.

    Attributes
    ----------
    experts : int
        All experts that the fusion knows.
    mean : float or null
        The mean number of experts that were asked; null without items.
    saved : float or null
        The share of the votes that were not asked for: the share of the cost if all votes cost the same.
    trials : list of int
        The number of items at the end of each part of the range.
    means : list of float
        The mean number of experts that were asked in each part.
    """

    experts: int
    mean: float | None
    saved: float | None
    trials: list[int]
    means: list[float]


class ExpertRow(Struct):
    """How an expert did: its votes, and those of them that were right."""

    name: str
    votes: int
    right: int


class Recent(Struct):
    """What the last labels show; `complete` if they are all that the range has."""

    trials: int
    position: int
    complete: bool
    history: HistoryAnswer
    confusion: ConfusionMatrix
    agreement: AgreementMatrix
    calibration: list[Bin]
    coverage: Coverage
    experts: list[ExpertRow]
    asked: Asked


class Range(NamedTuple):
    """The labels that are looked at: the last `most` ones after a position, up to another one."""

    most: int
    after: int = 0
    until: int = 2**62


def last_labelled(database: Database, number: int, wanted: Range) -> list[Labelled]:
    """Return the last labelled items of a fusion, oldest first; fewer if they have many votes.

    Parameters
    ----------
    database
        The log.
    number
        The number of the fusion.
    wanted
        Which ones.
    """
    found: list[Labelled] = []
    size = votes = 0
    for position, time, id_, body, item_body, amended in database.iterate(
        LAST, number, wanted.after, wanted.until, LABELLED, LEARNED, wanted.most
    ):
        own = decode_item(body)
        item = own if item_body is None else decode_item(item_body)
        label = own.label if amended is None else msgspec.json.decode(amended)
        prediction = own.prediction
        known = None if prediction is None else (item.probabilities or {}).get(class_key(prediction))
        found.append(Labelled(position, time, id_, item.votes or {}, label, prediction, known))
        size += len(item_body or body)
        votes += len(item.votes or {})
        if size > MAX_BYTES or votes > MAX_VOTES:
            break
    return found[::-1]


def is_complete(database: Database, number: int, wanted: Range, items: list[Labelled]) -> bool:
    """Tell whether a range has no labels before those that were found.

    Parameters
    ----------
    database, number
        The log, and the number of the fusion.
    wanted
        The range.
    items
        What `last_labelled` has returned.
    """
    if not items:
        return True
    first = items[0].position
    return not database.rows(ANY_LABEL, number, wanted.after, first, LABELLED, LEARNED)


def summarize(
    items: list[Labelled], experts: int = 0, *, complete: bool = True, abstain: Any = inputs.DEFAULT
) -> Recent:
    """Return what labelled items show.

    Parameters
    ----------
    items
        The items, oldest first.
    experts
        The number of experts that the fusion knows, if there are more than those of the items.
    complete
        Whether the items are all of their range.
    abstain
        The vote that abstains, as for `Fusion`.

    Examples
    --------
    >>> items = [Labelled(i, i, str(i), {"ann": "x", "bob": "y"}, "y", "x", 0.75) for i in range(4)]
    >>> found = summarize(items)
    >>> found.confusion.classes, found.confusion.table, found.agreement.table
    (['x', 'y'], [[0, 0], [4, 0]], [[1.0, 0.0], [0.0, 1.0]])
    >>> found.calibration[0].confidence, found.calibration[0].accuracy, found.coverage.error[-1]
    (0.75, 0.0, 1.0)
    """
    from linmax.evaluate.experts import agreement_table  # a start of the server does not wait for it
    from linmax.evaluate.progressive import voted_classes

    history, silent = History([]), abstentions(abstain)
    history.abstain = abstain
    history.add([LearnedTrial(one.position, one.time, one.votes, one.label, one.prediction) for one in items])
    names = inputs.Names()
    votes: Any = np.full((0, 0), -1, np.int32)
    labels: Any = np.zeros(0, np.int32)
    if items:
        given = [
            {expert: top_class(vote, type(one.label), silent) for expert, vote in one.votes.items()}
            for one in items
        ]
        batch = inputs.read(given, [one.label for one in items], None, names, abstain=None)
        names.classes.extend(batch.new_classes)
        names.experts.extend(batch.new_experts)
        votes, labels = voted_classes(batch), batch.labels
    shown, table = agreement_table(votes, MAX_EXPERTS)
    voting = [str(name) for name in names.experts.names]
    return Recent(
        len(items), items[-1].position if items else 0, complete, history.answer(POINTS), _confusion(items),
        AgreementMatrix([voting[i] for i in shown], table, max(0, votes.shape[1] - len(shown))),
        _calibration(items), _coverage(items), _experts(voting, votes, labels),
        _asked(items, max(experts, len(voting))),
    )  # fmt: skip


def _confusion(items: list[Labelled]) -> ConfusionMatrix:
    pairs = Counter((class_key(one.label), class_key(one.prediction)) for one in items)
    sizes: Counter[str] = Counter()
    for (label, prediction), count in pairs.items():
        sizes[label] += count
        sizes[prediction] += count
    classes = sorted(sorted(sizes, key=lambda name: (-sizes[name], name))[:MAX_CLASSES])
    table = [[pairs[label, prediction] for prediction in classes] for label in classes]
    return ConfusionMatrix(classes, table, len(items) - sum(map(sum, table)))


def _known(items: list[Labelled]) -> tuple[Any, Any]:
    """Return the probabilities of the predictions that have one, and whether they were right."""
    known = [one for one in items if one.probability is not None]
    return np.array([one.probability for one in known]), np.array(
        [is_class(one.prediction, one.label) for one in known], bool
    )


def _calibration(items: list[Labelled]) -> list[Bin]:
    probability, right = _known(items)
    which = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    found = []
    for number in range(BINS):
        own = which == number
        if own.any():
            confidence, accuracy = float(probability[own].mean()), float(right[own].mean())
            found.append(Bin(number / BINS, (number + 1) / BINS, int(own.sum()), confidence, accuracy))
    return found


def _coverage(items: list[Labelled]) -> Coverage:
    probability, right = _known(items)
    wrong = np.cumsum(~right[np.argsort(-probability, kind="stable")])
    counts = [round((i + 1) * len(wrong) / LEVELS) for i in range(LEVELS)] if len(wrong) else []
    kept = [count for count in dict.fromkeys(counts) if count]
    return Coverage(
        [count / len(wrong) for count in kept], [float(wrong[count - 1] / count) for count in kept]
    )


def _experts(names: list[str], votes: Any, labels: Any) -> list[ExpertRow]:
    given = np.count_nonzero(votes >= 0, axis=0).tolist()
    right = np.count_nonzero(votes == labels[:, None], axis=0).tolist() if len(labels) else []
    rows = [ExpertRow(*row) for row in zip(names, given, right, strict=False)]
    return sorted(rows, key=lambda row: (-row.right, row.votes, row.name))[:MAX_LISTED]


def _asked(items: list[Labelled], experts: int) -> Asked:
    total = np.concatenate(([0], np.cumsum([len(one.votes) for one in items], dtype=np.int64)))
    if not items or not experts:
        return Asked(experts, None, None, [], [])
    ends = np.unique(np.linspace(0, len(items), min(PARTS, len(items)) + 1).round().astype(np.int64))
    means = np.diff(total[ends]) / np.diff(ends)
    mean = float(total[-1] / len(items))
    return Asked(experts, mean, 1.0 - mean / experts, ends[1:].tolist(), means.tolist())
