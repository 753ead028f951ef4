"""The answers of the service, as OpenAPI describes them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from linmax.service.messages.requests import FusionSettings, Label


class NextExpertAnswer(Struct, omit_defaults=True):
    """Whom to ask next.

    Attributes
    ----------
    expert : str or null
        The expert; null if no answer of the others can change the prediction.
    id : str, optional
        The item, if the request names it.
    """

    expert: str | None
    id: str | None = None


class PredictAnswer(Struct, omit_defaults=True, gc=False):
    """A prediction.

    Attributes
    ----------
    id : str
        The item.
    prediction : class or null
        The predicted class; null if no class is known.
    probabilities : dict
        The probability of each class.
    version : int
        The position in the log of the last event that the model has learned.
    explanation : dict, optional
        What each expert added to the score of each class.
    stored : bool
        Whether the votes wait for a label; false while the log cannot be written.
    """

    id: str
    prediction: Label | None
    probabilities: dict[str, float]
    version: int
    explanation: dict[str, Any] | None = None
    stored: bool = True


class LabelAnswer(Struct, gc=False):
    """What was learned: the prediction before the label, whether it was right, and the event's position."""

    id: str
    prediction: Label | None
    right: bool
    position: int


class FusionInfo(Struct):
    """A fusion as `GET /v1/fusions/{name}` describes it.

    Attributes
    ----------
    name, learner : str
        Its name, and its learner as text.
    classes, experts : list
        Those that it knows.
    trials : int
        The number of labels that the model has learned.
    mistakes : int
        How many of them it would have predicted wrongly just before; `history` counts predictions as they
        were answered.
    waiting, expired : int
        How many predictions wait for a label, and how many have waited too long.
    position : int
        The position in the log of the last event that has changed the model.
    digest : str
        A checksum of all that the model has learned.
    created : float
        When it was created, in seconds since 1970.
    rebuilding : bool
        Whether the log is learned again since labels were amended.
    settings : FusionSettings
        What it was created with, and its limits as changed since.
    horizon : int
        The position up to which the log was compacted.
    """

    name: str
    learner: str
    classes: list[Label]
    experts: list[str]
    trials: int
    mistakes: int
    waiting: int
    expired: int
    position: int
    digest: str
    created: float
    rebuilding: bool
    settings: FusionSettings
    horizon: int


class ItemInfo(Struct):
    """What is known about an item.

    Attributes
    ----------
    id : str
        The item.
    votes, attributes : dict or null
        What it was predicted from.
    prediction : class or null
        The prediction that was answered.
    probabilities : dict
        The probability of each class that was answered; empty if the item came with its label.
    label : class or null
        Its label, as replaced since; null if none has come.
    right : bool or null
        Whether the prediction is the label.
    excluded : bool
        Whether the label does not count: it was excluded, or came after what was rolled back to.
    predicted, labelled : float or null
        When it was predicted and labelled, in seconds since 1970.
    position, learned : int or null
        The positions in the log of the events with its votes and with its label.
    version : int
        The position of the last event that the model had learned when it predicted.
    explanation : dict or null
        What each expert added to the score of each class, if the request asks for it.
    """

    id: str
    votes: dict[str, Any] | None
    attributes: dict[str, Any] | None
    prediction: Label | None
    probabilities: dict[str, float]
    label: Label | None
    right: bool | None
    excluded: bool
    predicted: float
    labelled: float | None
    position: int
    learned: int | None
    version: int
    explanation: dict[str, Any] | None = None


class HistoryPoints(Struct):
    """The points of a history, a list per column: mistakes up to so many trials.

    Attributes
    ----------
    trials : list of int
        The number of labels up to the point.
    position : list of int
        The position of the event with the last of them.
    time : list of float
        When that came, in seconds since 1970.
    linmax : list of int
        Mistakes of the predictions that were answered.
    plurality : list of int
        Mistakes of the class with the most votes; ties go to the class that was seen first.
    best_expert : list of int
        Mistakes of the expert with the fewest up to the point; an abstention is one.
    most_frequent_class : list of int
        Mistakes of the most frequent label before each trial.
    """

    trials: list[int]
    position: list[int]
    time: list[float]
    linmax: list[int]
    plurality: list[int]
    best_expert: list[int]
    most_frequent_class: list[int]


class HistoryAnswer(Struct):
    """Mistakes over time.

    Attributes
    ----------
    trials : int
        The number of labels that count.
    position : int
        The position in the log up to which they were counted.
    points : HistoryPoints
        The mistakes, evenly spaced; the last point is the state now.
    experts : dict
        The mistakes of the hundred best experts, the best one first.
    """

    trials: int
    position: int
    points: HistoryPoints
    experts: dict[str, int]


class ErrorBody(Struct):
    """Why a request failed: a code for programs, and a sentence for people."""

    code: str
    message: str


class Problem(Struct):
    """An error, with the fields of RFC 9457 beside."""

    error: ErrorBody
    type: str
    title: str
    status: int
    detail: str
