"""Checks of behaviour: what every learner guarantees, whatever it computes."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from linmax.checks.fixtures import (
    assert_same_predictions,
    assert_same_session,
    assert_same_state,
    assert_true,
    make_data,
    nested_learners,
    one_hot,
    to_triplets,
    uncompiled_if_rare,
)
from linmax.fusion import Fusion, load
from linmax.kernels import trial
from linmax.spec import Learner, name_of, parse

SAVED_AFTER = (0, 1, 9, 10, 23, 24)  # of 24 trials: a buffer of 10 instances is nearly full, or full


def check_repr_parses_back(learner: Learner) -> None:
    """Check that `parse(repr(learner)) == learner`.

    Parameters
    ----------
    learner : Learner
        The learner to check.

    Examples
    --------
    >>> from linmax import Averaged, Winnow
    >>> check_repr_parses_back(Averaged(Winnow(1.3)))
    """
    parsed = parse(repr(learner))
    assert_true(parsed == learner, f"{learner!r} parses back as {parsed!r}")
    assert_true(repr(parsed) == repr(learner), f"{learner!r} has the repr {parsed!r} after parsing")


def check_bad_parameters_are_named(learner: Learner) -> None:
    """Check that an invalid parameter raises a ValueError that names it.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    for layer in nested_learners(learner):
        for field in dataclasses.fields(layer):
            if field.name in ("inner", "members", "experts") or isinstance(getattr(layer, field.name), bool):
                continue
            try:
                accepted = dataclasses.replace(layer, **{field.name: math.nan})
            except ValueError as error:
                message = str(error)
                assert_true(
                    field.name in message,
                    f"{type(layer).__name__} rejects {field.name}=nan without naming it: {message}",
                )
            else:
                raise AssertionError(f"{type(layer).__name__} accepts {field.name}=nan: {accepted!r}")


def check_inputs_unchanged(learner: Learner) -> None:
    """Check that neither learning nor predicting writes to its inputs.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 30)
    before = copy.deepcopy(data)
    fusion = data.session(learner)
    data.learn(fusion)
    fusion.predict(data.votes, attributes=data.attributes)
    fusion.scores(data.votes, attributes=data.attributes)
    for name in ("votes", "labels", "attributes"):
        old, new = getattr(before, name), getattr(data, name)
        assert_true(old is None or np.array_equal(old, new), f"{learner!r} changed its input {name}")


def check_predict_is_pure(learner: Learner) -> None:
    """Check that `predict`, `scores`, `predict_one` and `explain_one` do not change the session.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 30)
    fusion = data.session(learner)
    data.rows(0, 20).learn(fusion)
    before, classes, experts = fusion.state(), fusion.classes, fusion.experts
    fusion.predict(data.votes, attributes=data.attributes)
    fusion.scores(data.votes, attributes=data.attributes)
    with uncompiled_if_rare(learner):
        for votes, _, cells in data.rows(20).items():
            fusion.predict_one(votes, attributes=cells)
            fusion.explain_one(votes, attributes=cells)
        if data.votes is not None:
            for new_experts in ("ignore", "vote"):
                fusion.predict_one({"new expert": 0, 0: 1}, attributes=cells, new_experts=new_experts)
    assert_same_state(before, fusion.state(), f"{learner!r} before and after predictions")
    assert_true(fusion.classes == classes, f"{learner!r} added classes while predicting: {fusion.classes}")
    assert_true(fusion.experts == experts, f"{learner!r} added experts while predicting: {fusion.experts}")


def check_chunks_equal_whole(learner: Learner) -> None:
    """Check that one array, chunks, single items and tickets give the same predictions and state.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 40)
    whole = data.session(learner)
    predictions = data.learn(whole).guesses
    chunked = data.session(learner)
    cuts = [0, 1, 2, 10, 33, 40]
    parts = [data.rows(begin, end).learn(chunked).guesses for begin, end in itertools.pairwise(cuts)]
    assert_same_predictions(
        predictions, np.concatenate(parts), f"{learner!r} over an array and over chunks of it"
    )
    assert_same_session(whole, chunked, f"{learner!r} over an array and over chunks of it")
    single, later = data.session(learner), data.session(learner)
    one_by_one, tickets = [], []
    with uncompiled_if_rare(learner):  # attributes of a single item are sparse rows, another format
        for votes, label, cells in data.items():
            one_by_one.append(single.learn_one(votes, label, attributes=cells))
            ticket = later.predict_one(votes, attributes=cells, ticket=True)
            tickets.append(ticket.guess)
            later.learn_one(ticket, label)
    assert_same_predictions(predictions, one_by_one, f"{learner!r} over an array and one by one")
    assert_same_session(whole, single, f"{learner!r} over an array and one by one")
    assert_same_predictions(predictions, tickets, f"{learner!r} over an array and by tickets")
    assert_same_session(whole, later, f"{learner!r} over an array and by tickets")


def check_saving_changes_nothing(learner: Learner) -> None:
    """Check that a session resumed after any trial continues as if uninterrupted.

    After every trial it is resumed from its state in memory, after some also from a file.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 24)
    whole = data.session(learner)
    predictions = data.learn(whole).guesses
    fusion, first = data.session(learner), list[Any]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.linmax"
        for cut in range(len(data.labels) + 1):
            copies = {"copied": copy.deepcopy(fusion)}
            if cut in SAVED_AFTER:
                fusion.save(path)
                copies["saved"] = load(path)
            for how, resumed in copies.items():
                what = f"{learner!r} {how} after {cut} of {len(data.labels)} trials"
                # no empty array is learned: its format is another one, with a kernel of its own
                second: Any = data.rows(cut).learn(resumed).guesses if cut < len(data.labels) else []
                assert_true(resumed.learner == learner, f"{what} is loaded as {resumed.learner!r}")
                assert_same_predictions(predictions, [*first, *second], what)
                assert_same_session(whole, resumed, what)
            if cut < len(data.labels):
                first += data.rows(cut, cut + 1).learn(fusion).guesses.tolist()


def check_vote_formats_agree(learner: Learner) -> None:
    """Check that hard votes, one-hot scores and triplets give the same predictions and state.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 60)
    assert data.votes is not None
    hard = Fusion(learner, classes=data.classes, experts=range(data.votes.shape[1]))
    predictions = data.learn(hard).guesses
    for name, votes in (
        ("one-hot scores", one_hot(data.votes, len(data.classes))),
        ("triplets", to_triplets(data.votes)),
    ):
        other = Fusion(learner, classes=data.classes, experts=range(data.votes.shape[1]))
        with uncompiled_if_rare(learner):
            others = other.learn(votes, data.labels, attributes=data.attributes).guesses
        assert_same_predictions(predictions, others, f"{learner!r} on hard votes and on {name}")
        assert_same_session(hard, other, f"{learner!r} on hard votes and on {name}")


def check_deterministic(learner: Learner) -> None:
    """Check that the same trials give the same predictions and state.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 60)
    one, other = data.session(learner), data.session(learner)
    assert_same_predictions(data.learn(one).guesses, data.learn(other).guesses, f"{learner!r} run twice")
    assert_same_session(one, other, f"{learner!r} run twice")


def check_compiles_once(learner: Learner) -> None:
    """Check that a learner with other parameters runs without compiling anything new.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 20)
    data.learn(data.session(learner))
    before = trial.run.compilations()
    for other in _with_other_parameters(learner):
        data.learn(data.session(other))
        more = trial.run.compilations() - before
        assert_true(
            more == 0, f"{other!r} compiled {more} kernels after {learner!r} had run on the same data"
        )


def check_memory_is_bounded(learner: Learner) -> None:
    """Check that the state does not grow once all names are known.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 2000)
    fusion = data.session(learner)
    data.rows(0, 1000).learn(fusion)
    before = sum(array.nbytes for array in fusion.state().values())
    data.rows(1000).learn(fusion)
    after = sum(array.nbytes for array in fusion.state().values())
    assert_true(
        after <= 1.2 * before + 1000,
        f"the state of {learner!r} has {before} bytes after 1000 trials and {after} after 2000",
    )


def is_registered(learner: Learner) -> bool:
    """Whether the learner has a repr that parses back, so that it can be saved."""
    return "<unregistered" not in repr(learner) and all(
        name_of(type(layer)) for layer in nested_learners(learner)
    )


def _with_other_parameters(learner: Any) -> Iterator[Any]:
    """Yield the learner with one number changed at a time, by a hundredth, or by one if it is an integer."""
    if hasattr(learner, "inner"):
        yield from (
            dataclasses.replace(learner, inner=inner) for inner in _with_other_parameters(learner.inner)
        )
    for field in dataclasses.fields(learner):
        value = getattr(learner, field.name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        step = 1 if isinstance(value, int) and value > 1 else max(abs(value), 1.0) / 100
        for other in (value + step, value - step):
            try:
                changed = dataclasses.replace(learner, **{field.name: other})
            except ValueError:
                continue
            if changed != learner:
                yield changed
                break
