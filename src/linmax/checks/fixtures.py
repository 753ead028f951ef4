"""Small streams for a learner to be checked on, in every shape a session takes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linmax.experts import Attributes, Source
from linmax.fusion import Fusion, Run
from linmax.inputs import Triplets
from linmax.runtime.runner import DEFAULT_SOURCE
from linmax.spec import Learner

EXPERTS = 5
COLUMNS = 3


@dataclass(frozen=True)
class Material:
    """Some trials: hard votes and, if the learner needs them, attributes."""

    votes: np.ndarray | None  # (trials, experts) int64, -1 abstains
    labels: np.ndarray
    attributes: np.ndarray | None
    classes: list[int]

    def rows(self, begin: int, end: int | None = None) -> Material:
        """These trials, or all from `begin` on."""
        chosen = slice(begin, end)
        return Material(
            _rows(self.votes, chosen), self.labels[chosen], _rows(self.attributes, chosen), self.classes
        )

    def told(self, labels: Any) -> Material:
        """The same items with other labels."""
        return replace(self, labels=np.asarray(labels))

    def items(self) -> Iterator[tuple[dict[Any, Any] | None, Any, dict[Any, Any] | None]]:
        """Votes, label and attributes of one trial after the other, as `learn_one` takes them."""
        for t, label in enumerate(self.labels.tolist()):
            row = None if self.votes is None else dict(enumerate(self.votes[t].tolist()))
            cells = None if self.attributes is None else dict(enumerate(self.attributes[t].tolist()))
            yield row, label, cells

    def session(self, learner: Learner) -> Fusion:
        """A session that knows all classes from the start."""
        return Fusion(learner, classes=self.classes)

    def learn(self, fusion: Fusion) -> Run:
        """Let a session learn all of it."""
        return fusion.learn(self.votes, self.labels, attributes=self.attributes)


def _rows(part: np.ndarray | None, chosen: slice) -> np.ndarray | None:
    return None if part is None else part[chosen]


def layers_of(learner: Any) -> Iterator[Any]:
    """A learner and all that is inside it."""
    yield learner
    for member in [learner.inner] if hasattr(learner, "inner") else getattr(learner, "members", None) or ():
        yield from layers_of(member)


def rules_of(learner: Any) -> list[Any]:
    """The rules inside all techniques and committees."""
    return [
        layer for layer in layers_of(learner) if not (hasattr(layer, "inner") or hasattr(layer, "members"))
    ]


def sources_of(learner: Learner) -> list[Source]:
    """The sources all rules inside a learner are set on."""
    whole = [getattr(rule, "experts", None) or DEFAULT_SOURCE for rule in rules_of(learner)]
    return [part for source in whole for part in source.parts]


def needs_of(learner: Learner) -> set[str]:
    """What the learner must be given: "votes", "rows" or "nominal"."""
    return {part.needs for part in sources_of(learner) if part.needs}


def material(learner: Learner, trials: int, *, seed: int = 0, noise: float = 0.2) -> Material:
    """Votes that mostly tell the label: those of low number are right more often; one in seven abstains."""
    rng = np.random.default_rng(seed)
    short = any(isinstance(part, Attributes) and part.complement for part in sources_of(learner))
    k = 2 if short else 3
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
    return Material(
        None if attributes is not None and "votes" not in needs else votes, labels, attributes, list(range(k))
    )


def dense(votes: np.ndarray, k: int) -> np.ndarray:
    """Hard votes as scores: 1 for the class named, nan for every class where the expert abstains.

    >>> dense(np.array([[1, -1]]), 2)
    array([[[ 0.,  1.],
            [nan, nan]]])
    """
    scores = (votes[:, :, None] == np.arange(k)).astype(float)
    scores[votes < 0] = np.nan
    return np.asarray(scores)


def triplets(votes: np.ndarray) -> Triplets:
    """Hard votes as triplets."""
    item, expert = np.nonzero(votes >= 0)
    return Triplets(item, expert, votes[item, expert], items=len(votes))


def expect(condition: bool, sentence: str) -> None:
    """An AssertionError of one sentence unless the condition holds; checks also run under `python -O`."""
    if not condition:
        raise AssertionError(sentence)


def expect_same(one: Fusion, other: Fusion, what: str) -> None:
    """Two sessions that must be in the same state, bit for bit."""
    expect(one.classes == other.classes, f"{what}: the classes are {one.classes} and {other.classes}")
    expect(one.experts == other.experts, f"{what}: the experts are {one.experts} and {other.experts}")
    expect_same_state(one.state(), other.state(), what)


def expect_same_state(here: dict[str, np.ndarray], there: dict[str, np.ndarray], what: str) -> None:
    """Two states that must be the same, bit for bit."""
    expect(
        here.keys() == there.keys(),
        f"{what}: one state has {sorted(here.keys() ^ there.keys())}, the other not",
    )
    for name, array in here.items():
        other = there[name]
        if array.shape != other.shape or array.tobytes() != other.tobytes():
            raise AssertionError(f"{what}: {name} differs ({_first_difference(array, other)})")


def _first_difference(one: np.ndarray, other: np.ndarray) -> str:
    if one.shape != other.shape:
        return f"shapes {one.shape} and {other.shape}"
    at = np.flatnonzero(one.ravel() != other.ravel())
    place = int(at[0]) if len(at) else 0
    return f"at {place}: {one.ravel()[place]!r} and {other.ravel()[place]!r}"


def expect_same_guesses(one: Any, other: Any, what: str) -> None:
    """Two lists of guesses that must be the same."""
    for t, (here, there) in enumerate(zip(list(one), list(other), strict=True)):
        expect(here == there, f"{what}: trial {t} is guessed {here!r} and {there!r}")
