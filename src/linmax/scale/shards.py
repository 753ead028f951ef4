"""`mix`: one panel in shards that learn at the same time, and are mixed: faster, with weaker guarantees."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax import inputs
from linmax.fusion import Fusion
from linmax.inputs import Names
from linmax.panels.roles.column_role import PanelOptions
from linmax.panels.streamed.table import EmptyTableError
from linmax.rules.base import Rule
from linmax.rules.logistic import Logistic
from linmax.rules.passive_aggressive import PassiveAggressive
from linmax.rules.perceptron import Perceptron
from linmax.scale.dataset import RowReader
from linmax.scale.engine import open_engine
from linmax.scale.partition import Partition, list_partitions
from linmax.spec import Learner, parse
from linmax.streams.chunk import concat_chunks
from linmax.techniques import NaiveBayes
from linmax.validation import check_integer

State = dict[str, NDArray[Any]]
ADDING = (Perceptron, PassiveAggressive, Logistic)
"""Rules that add to their weights, so that a mean of weights is a hypothesis of the same kind."""


class MixResult(NamedTuple):
    """What shards have learned together.

    Attributes
    ----------
    fusion : Fusion
        The mixed session.
    mistakes : ndarray of int of shape (epochs, shards)
        The mistakes of each shard in each epoch, by its own session.
    trials : int
        The labelled items of all shards.
    given_up : str
        What the result lacks, compared with one pass over the whole panel; one sentence.
    """

    fusion: Fusion
    mistakes: NDArray[np.int64]
    trials: int
    given_up: str

    @property
    def mixed_mistakes(self) -> float:
        """The sum over all epochs of the mean mistakes of a shard, which the theorem bounds."""
        return float(self.mistakes.mean(axis=1).sum())


class MixPlan(NamedTuple):
    """What all shards share: the learner, the names in their order, how rows are read, and the seed."""

    learner: str
    classes: list[Any]
    experts: list[Any]
    reader: dict[str, Any] | None
    seed: int


def mix(
    learner: Learner | str,
    shards: str | os.PathLike[str] | Sequence[Any],
    *,
    epochs: int = 1,
    seed: int = 0,
    cluster: Any = None,
    workers: int | None = None,
    on_epoch: Callable[[int, MixResult], None] | None = None,
    **columns: Any,
) -> MixResult:
    """Let shards of one panel learn at the same time, and mix what they have learned.

    For rules that add to their weights, each epoch starts all shards with the same weights, and ends with the
    mean of their weights (iterative parameter mixing). For `NaiveBayes`, the counts of all shards are added.

    This saves time, and gives up guarantees. For the Perceptron and separable data, the *mean* over shards of
    the mistakes, summed over epochs, is at most R² / γ² (`linmax.bounds.parameter_mixing_bound`), so the
    total may be larger by the number of shards. For other adding rules nothing is proved. The final counts of
    `NaiveBayes` are those of one pass; its mistakes on the way are not.

    Parameters
    ----------
    learner
        `Perceptron`, `PassiveAggressive` or `Logistic` on votes, or `NaiveBayes`.
    shards
        A data set, of which each file is a shard, or a list of pairs of votes and labels.
    epochs
        How often each shard is learned. `NaiveBayes` counts once.
    seed
        The seed of each session.
    cluster, workers
        Where the tasks run: see `open_engine`.
    on_epoch
        Called with the number of each epoch and the result so far.
    **columns
        The roles of the columns of a data set, as for `keyed`.

    Returns
    -------
    MixResult

    Raises
    ------
    ValueError
        If the learner is another one; the sentence says why it cannot be mixed.

    References
    ----------
    McDonald, Hall & Mann, Distributed training strategies for the structured perceptron, NAACL 2010.

    Examples
    --------
    >>> from linmax import Perceptron
    >>> from linmax.problems import majority
    >>> from linmax.scale import mix
    >>> votes, labels = majority(2000, noise=0)
    >>> halves = [(votes[:1000], labels[:1000]), (votes[1000:], labels[1000:])]
    >>> result = mix(Perceptron(), halves, epochs=3, workers=1)
    >>> result.mistakes.sum(axis=1).tolist()[0] > result.mistakes.sum(axis=1).tolist()[-1]
    True
    >>> mix("Winnow(1.2)", halves)
    Traceback (most recent call last):
    ValueError: Winnow(1.2) cannot be mixed: a mean of weights that were multiplied ...
    """
    made = parse(learner) if isinstance(learner, str) else learner
    check_mixable(made)
    check_integer("mix", "epochs", epochs, 1)
    if isinstance(made, NaiveBayes) and epochs > 1:
        raise ValueError(f"NaiveBayes counts every item once; pass epochs=1 (got {epochs})")
    sources, reader = _sources(shards, columns)
    with open_engine(cluster, workers) as engine:
        named = engine.gather(engine.map(names_of, sources, reader))
        sources = [source for source, one in zip(sources, named, strict=True) if one is not None]
        found = [one for one in named if one is not None]
        classes = list(dict.fromkeys(name for one in found for name in one[0]))
        experts = list(dict.fromkeys(name for one in found for name in one[1]))
        plan = MixPlan(repr(made), classes, experts, reader, seed)
        fusion = _session(plan)
        mistakes, trials = np.zeros((0, len(sources)), np.int64), 0
        result = MixResult(fusion, mistakes, trials, given_up(made, len(sources)))
        for epoch in range(epochs):
            before = fusion.state()
            parts = engine.gather(engine.map(learn_shard, sources, before, plan))
            fusion.set_state(_mixed(before, [part[0] for part in parts], adds=isinstance(made, NaiveBayes)))
            row = np.array([[part[1] for part in parts]], np.int64)
            trials = sum(part[2] for part in parts)
            result = result._replace(mistakes=np.concatenate((result.mistakes, row)), trials=trials)
            if on_epoch is not None:
                on_epoch(epoch, result)
    return result


def check_mixable(learner: Learner) -> None:
    """Refuse learners whose states cannot be mixed.

    Parameters
    ----------
    learner
        The learner.

    Raises
    ------
    ValueError
        With the reason.
    """
    if isinstance(learner, NaiveBayes):
        return
    if type(learner) in ADDING:
        if Fusion(learner).needs == {"votes"}:
            return
        reason = "only rules on votes are, because all shards must know all names from the start"
    elif "Winnow" in type(learner).__name__:
        reason = "a mean of weights that were multiplied is no hypothesis of the rule, and no bound is known"
    elif isinstance(learner, Rule):
        reason = "its weights depend on a scale that shards do not share, and no bound is known"
    else:
        reason = "no bound is known for mixed averages and committees, and they were not shown to gain"
    raise ValueError(f"{learner!r} cannot be mixed: {reason}; use Perceptron() or NaiveBayes()")


def given_up(learner: Learner, shards: int) -> str:
    """Return what mixing gives up, in one sentence.

    Parameters
    ----------
    learner, shards
        The learner, and the number of shards.
    """
    if shards == 1:
        return "Nothing: there is one shard."
    if isinstance(learner, NaiveBayes):
        return (
            "The final counts are those of one pass; the mistakes on the way are not, because no shard saw"
            " the others."
        )
    if isinstance(learner, Perceptron) and learner == Perceptron(experts=learner.experts):
        return (
            f"On separable data the total of mistakes is bounded by {shards} R²/γ², {shards} times the bound"
            " of one pass; without a margin nothing is proved."
        )
    return f"No bound on the mistakes of {learner!r} is known for shards; the result is measured only."


def names_of(source: Any, reader: dict[str, Any] | None) -> tuple[list[Any], list[Any]] | None:
    """Return the classes and the experts of a shard, as they appear in it; None if it has no rows.

    Parameters
    ----------
    source, reader
        The shard, and how it is read.
    """
    read = _read(source, reader)
    if read is None:
        return None
    votes, labels = read
    batch = inputs.read(votes, labels, None, Names(), needs=frozenset({"votes"}))
    return list(batch.new_classes), list(batch.new_experts)


def learn_shard(source: Any, state: State, plan: MixPlan) -> tuple[State, int, int]:
    """Let a session with a given state learn a shard; return its new state, its mistakes and its trials.

    Parameters
    ----------
    source, state, plan
        The shard, the state, and what all shards share.
    """
    read = _read(source, plan.reader)
    assert read is not None, "shards without rows have been left out"
    votes, labels = read
    fusion = _session(plan)
    fusion.set_state(state)
    run = fusion.learn(votes, labels)
    return fusion.state(), run.mistakes, run.trials


def _session(plan: MixPlan) -> Fusion:
    # nothing is calibrated: the scores of different shards are not those of one hypothesis
    return Fusion(plan.learner, classes=plan.classes, experts=plan.experts, seed=plan.seed, calibrate="none")


def _sources(shards: Any, columns: dict[str, Any]) -> tuple[list[Any], dict[str, Any] | None]:
    listed = isinstance(shards, Sequence) and not isinstance(shards, str)
    if listed and not shards:
        raise ValueError("there is no shard; pass a data set, or a list of pairs of votes and labels")
    if listed and not all(isinstance(one, str | os.PathLike) for one in shards):
        if not all(isinstance(one, tuple) and len(one) == 2 for one in shards):
            raise ValueError("shards are the files of a data set, or pairs (votes, labels); pass one of both")
        return list(shards), None
    options = PanelOptions.from_keywords("mix", columns)
    partitions = list_partitions(shards)
    for partition in partitions:
        with contextlib.suppress(EmptyTableError):
            return list(partitions), RowReader.infer(partition, options).as_json()
    raise ValueError(f"no file of the data set has rows (the first is {partitions[0].name}); pass others")


def _read(source: Any, reader: dict[str, Any] | None) -> tuple[Any, Any] | None:
    if reader is None or not isinstance(source, Partition):
        return source[0], source[1]
    rows = RowReader.from_json(reader)
    chunks = [rows.chunk(table, source.name) for table in rows.tables(source)]
    if not chunks:
        return None
    chunk = concat_chunks(chunks)
    return chunk.votes, chunk.labels


def _mixed(before: State, states: list[State], *, adds: bool) -> State:
    """Return the mean of states, or the sum of what they have added; counts of trials are added."""
    mixed: State = {}
    for name, old in before.items():
        values = np.stack([state[name] for state in states])
        if name.rpartition(".")[2] == "counts" or adds:
            mixed[name] = (old + (values - old).sum(axis=0)).astype(old.dtype)
        elif name.rpartition(".")[2] == "spoken":
            mixed[name] = values.max(axis=0)
        elif (values == values[0]).all():
            mixed[name] = values[0]
        else:
            mixed[name] = values.sum(axis=0) / len(states)
    return mixed
