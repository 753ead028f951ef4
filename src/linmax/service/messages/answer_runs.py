"""The answers to rows that were processed together, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from linmax.service.messages.answers import LabelAnswer, NextExpertAnswer, PredictAnswer
from linmax.service.messages.errors import ServiceError

encode = msgspec.json.encode
Answer = PredictAnswer | LabelAnswer | NextExpertAnswer


class LabelAnswers:
    """The answers to rows that were learned together.

    Parameters
    ----------
    ids, predictions, right
        The item of each row, its prediction, and whether that was right.
    first
        The position of the first event; the others follow it.

    Examples
    --------
    >>> list(LabelAnswers(["i", "j"], ["x", "y"], np.array([True, False]), 7))[1]
    LabelAnswer(id='j', prediction='y', right=False, position=8)
    """

    def __init__(
        self, ids: Sequence[str], predictions: Sequence[Any], right: NDArray[np.bool_], first: int
    ) -> None:
        self.ids = ids
        self.predictions = predictions
        self.right = right
        self.first = first

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[LabelAnswer]:
        return map(LabelAnswer, self.ids, self.predictions, self.right.tolist(), self.positions)

    @property
    def positions(self) -> range:
        """The positions of the events."""
        return range(self.first, self.first + len(self.ids))

    def column(self, name: str) -> Iterable[Any]:
        """Return a field of all answers."""
        columns = {"id": self.ids, "prediction": self.predictions, "right": self.right}
        return np.arange(self.first, self.first + len(self)) if name == "position" else columns[name]

    def lines(self) -> list[bytes]:
        """Return the answers as JSON."""
        return msgspec.json.Encoder().encode_lines(list(self)).splitlines()


class PredictAnswers:
    """The answers to rows that were predicted together.

    Parameters
    ----------
    ids, predictions
        The item of each row, and its prediction.
    keys, probabilities
        The classes as keys of JSON objects, and their probabilities, a row for each item.
    version
        The version of the model.

    Examples
    --------
    >>> keys, parts = ["x", "y"], np.array([[0.75, 0.25]])
    >>> PredictAnswers(["i"], ["x"], keys, parts, 3).lines()
    [b'{"id":"i","prediction":"x","probabilities":{"x":0.75,"y":0.25},"version":3}']
    """

    def __init__(
        self,
        ids: Sequence[str],
        predictions: Sequence[Any],
        keys: Sequence[str],
        probabilities: NDArray[np.float64],
        version: int,
    ) -> None:
        self.ids = ids
        self.predictions = predictions
        self.keys = keys
        self.probabilities = probabilities
        self.version = version

    def __len__(self) -> int:
        return len(self.predictions)

    def __iter__(self) -> Iterator[PredictAnswer]:
        rows = self.probabilities.tolist()
        return (
            PredictAnswer(id_, prediction, dict(zip(self.keys, row, strict=True)), self.version)
            for id_, prediction, row in zip(self.ids, self.predictions, rows, strict=True)
        )

    def column(self, name: str) -> Iterable[Any]:
        """Return a field of all answers, except the probabilities."""
        columns = {"id": self.ids, "prediction": self.predictions}
        same = {"version": self.version, "stored": True}
        return repeat(same[name], len(self)) if name in same else columns[name]

    def texts(self) -> list[bytes]:
        """Return the probabilities as JSON."""
        return to_objects(self.keys, self.probabilities)

    def lines(self) -> list[bytes]:
        """Return the answers as JSON."""
        texts = {prediction: encode(prediction) for prediction in set(self.predictions)}
        line = b'{"id":%%b,"prediction":%%b,"probabilities":%%b,"version":%d}' % self.version
        chosen = map(texts.__getitem__, self.predictions)
        return [line % row for row in zip(map(encode, self.ids), chosen, self.texts(), strict=True)]


Run = LabelAnswers | PredictAnswers | Sequence[Answer | ServiceError]


def count_cells(run: Run) -> int:
    """Return how many values a table of answers has, with the probabilities of all classes.

    Parameters
    ----------
    run
        The answers.

    Examples
    --------
    >>> count_cells(PredictAnswers(["i"], ["x"], ["x", "y"], np.array([[0.75, 0.25]]), 3))
    10
    """
    if isinstance(run, PredictAnswers):
        return len(run) * (8 + len(run.keys))
    if isinstance(run, LabelAnswers):
        return len(run) * 8
    return sum(8 + len(getattr(one, "probabilities", None) or ()) for one in run)


def to_objects(keys: Sequence[str], numbers: NDArray[np.float64]) -> list[bytes]:
    """Return rows of numbers as JSON objects.

    Parameters
    ----------
    keys
        The keys.
    numbers
        A column per key.

    Examples
    --------
    >>> to_objects(["100 %", "y"], np.array([[0.75, 0.25], [1.0, 0.0]]))
    [b'{"100 %":0.75,"y":0.25}', b'{"100 %":1.0,"y":0.0}']
    """
    if not keys:
        return [b"{}"] * len(numbers)
    texts = iter(encode(numbers.ravel().tolist())[1:-1].split(b","))
    line = b"{%b}" % b",".join([encode(key).replace(b"%", b"%%") + b":%b" for key in keys])
    return [line % row for row in zip(*repeat(texts, len(keys)), strict=True)]


def to_lines(run: Run) -> list[bytes]:
    """Return answers as JSON; errors as RFC 9457 describes them."""
    if isinstance(run, LabelAnswers | PredictAnswers):
        return run.lines()
    return [encode(one.problem() if isinstance(one, ServiceError) else one) for one in run]
