"""Small data sets for the checks, the learners inside a learner, and assertions about sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linmax._jit.compilation import interpreted
from linmax.experts import Attributes, Source
from linmax.fusion import Fusion, Run
from linmax.inputs import Triplets
from linmax.runtime.runner import DEFAULT_SOURCE
from linmax.spec import Learner
from linmax.techniques import Averaged, Recycled

EXPERTS = 5
COLUMNS = 3


@dataclass(frozen=True)
class CheckData:
    """Labelled trials for a check.

    Parameters
    ----------
    votes : ndarray of shape (trials, experts) or None
        Hard votes, -1 abstains; None if the learner uses attributes only.
    labels : ndarray of shape (trials,)
        The labels.
    attributes : ndarray of shape (trials, columns) or None
        The attributes; None if the learner uses none.
    classes : list of int
        The classes.
    """

    votes: np.ndarray | None
    labels: np.ndarray
    attributes: np.ndarray | None
    classes: list[int]

    def rows(self, begin: int, end: int | None = None) -> CheckData:
        """Return the trials from `begin` to `end`."""
        chosen = slice(begin, end)
        return CheckData(
            _rows(self.votes, chosen), self.labels[chosen], _rows(self.attributes, chosen), self.classes
        )

    def with_labels(self, labels: Any) -> CheckData:
        """Return the same items with other labels."""
        return replace(self, labels=np.asarray(labels))

    def items(self) -> Iterator[tuple[dict[Any, Any] | None, Any, dict[Any, Any] | None]]:
        """Yield votes, label and attributes of each trial, as `learn_one` takes them."""
        for t, label in enumerate(self.labels.tolist()):
            row = None if self.votes is None else dict(enumerate(self.votes[t].tolist()))
            cells = None if self.attributes is None else dict(enumerate(self.attributes[t].tolist()))
            yield row, label, cells

    def session(self, learner: Learner) -> Fusion:
        """Return a session that knows all classes from the start."""
        return Fusion(learner, classes=self.classes)

    def learn(self, fusion: Fusion) -> Run:
        """Let a session learn all trials."""
        return fusion.learn(self.votes, self.labels, attributes=self.attributes)


def _rows(array: np.ndarray | None, chosen: slice) -> np.ndarray | None:
    return None if array is None else array[chosen]


def nested_learners(learner: Any) -> Iterator[Any]:
    """Yield a learner and all learners inside it."""
    yield learner
    for member in [learner.inner] if hasattr(learner, "inner") else getattr(learner, "members", None) or ():
        yield from nested_learners(member)


def rules_of(learner: Any) -> list[Any]:
    """Return the rules inside all techniques and ensembles."""
    return [
        layer
        for layer in nested_learners(learner)
        if not (hasattr(layer, "inner") or hasattr(layer, "members"))
    ]


def sources_of(learner: Learner) -> list[Source]:
    """Return the parts of the sources of all rules inside a learner."""
    whole = [getattr(rule, "experts", None) or DEFAULT_SOURCE for rule in rules_of(learner)]
    return [part for source in whole for part in source.parts]


def needs_of(learner: Learner) -> set[str]:
    """Return the inputs that the learner needs: "votes", "rows" or "nominal"."""
    return {part.needs for part in sources_of(learner) if part.needs}


def uncompiled_if_rare(learner: Learner) -> AbstractContextManager[None]:
    """Interpret kernels inside this context, unless the learner is one run of a rule on the default source.

    Each format of votes needs a kernel of its own for each source. For the default source they are compiled
    anyway; for another one, or for an ensemble, compiling takes longer than running a short stream as Python.
    """
    *techniques, rule = nested_learners(learner)
    usual = all(isinstance(technique, Averaged | Recycled) for technique in techniques)
    source = getattr(rule, "experts", None) or DEFAULT_SOURCE
    return nullcontext() if usual and source == DEFAULT_SOURCE else interpreted()


def make_data(learner: Learner, trials: int, *, seed: int = 0, noise: float = 0.2) -> CheckData:
    """Generate votes with accuracies from high to low, one in seven an abstention, and noisy labels."""
    rng = np.random.default_rng(seed)
    binary = any(isinstance(part, Attributes) and part.complement for part in sources_of(learner))
    k = 2 if binary else 3
    labels = rng.integers(k, size=trials)
    votes = rng.integers(k, size=(trials, EXPERTS))
    right = rng.random(votes.shape) < np.linspace(0.8, 0.2, EXPERTS)
    votes = np.where(right, labels[:, None], votes)
    votes[rng.random(votes.shape) < 1 / 7] = -1
    needs = needs_of(learner)
    attributes: np.ndarray | None = None
    if "nominal" in needs:
        words = np.array(["red", "green", "blue"])
        attributes = words[(labels[:, None] + (rng.random((trials, COLUMNS)) < 0.3)) % 3]
    elif "rows" in needs:
        attributes = ((labels[:, None] + np.arange(COLUMNS)) % k == 0) * rng.random((trials, COLUMNS))
    labels = np.where(rng.random(trials) < noise, rng.integers(k, size=trials), labels)
    return CheckData(
        None if attributes is not None and "votes" not in needs else votes, labels, attributes, list(range(k))
    )


def one_hot(votes: np.ndarray, k: int) -> np.ndarray:
    """Return hard votes as scores: 1 for the class voted for, NaN for all classes of an abstention.

    >>> one_hot(np.array([[1, -1]]), 2)
    array([[[ 0.,  1.],
            [nan, nan]]])
    """
    scores = (votes[:, :, None] == np.arange(k)).astype(float)
    scores[votes < 0] = np.nan
    return np.asarray(scores)


def to_triplets(votes: np.ndarray) -> Triplets:
    """Return hard votes as triplets."""
    item, expert = np.nonzero(votes >= 0)
    return Triplets(item, expert, votes[item, expert], items=len(votes))


def assert_true(condition: bool, message: str) -> None:
    """Raise an AssertionError unless the condition holds, also under `python -O`."""
    if not condition:
        raise AssertionError(message)


def assert_same_session(one: Fusion, other: Fusion, what: str) -> None:
    """Assert that two sessions are in the same state, bit for bit."""
    assert_true(one.classes == other.classes, f"{what}: the classes are {one.classes} and {other.classes}")
    assert_true(one.experts == other.experts, f"{what}: the experts are {one.experts} and {other.experts}")
    assert_same_state(one.state(), other.state(), what)


def assert_same_state(here: dict[str, np.ndarray], there: dict[str, np.ndarray], what: str) -> None:
    """Assert that two states are the same, bit for bit."""
    assert_true(
        here.keys() == there.keys(),
        f"{what}: only one state has {sorted(here.keys() ^ there.keys())}",
    )
    for name, array in here.items():
        other = there[name]
        if array.shape != other.shape or array.tobytes() != other.tobytes():
            raise AssertionError(f"{what}: {name} differs ({_first_difference(array, other)})")


def _first_difference(one: np.ndarray, other: np.ndarray) -> str:
    if one.shape != other.shape:
        return f"shapes {one.shape} and {other.shape}"
    different = np.flatnonzero(one.ravel() != other.ravel())
    i = int(different[0]) if len(different) else 0
    return f"at {i}: {one.ravel()[i]!r} and {other.ravel()[i]!r}"


def assert_same_predictions(one: Any, other: Any, what: str) -> None:
    """Assert that two lists of predictions are the same."""
    for t, (here, there) in enumerate(zip(list(one), list(other), strict=True)):
        assert_true(here == there, f"{what}: the prediction of trial {t} is {here!r} and {there!r}")
