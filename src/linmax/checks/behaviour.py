"""Manners: what a user may take for granted of every learner."""

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
    dense,
    expect,
    expect_same,
    expect_same_guesses,
    expect_same_state,
    layers_of,
    material,
    triplets,
)
from linmax.fusion import Fusion, load
from linmax.kernels import trial as trials
from linmax.spec import Learner, name_of, parse


def check_repr_parses_back(learner: Learner) -> None:
    """`parse(repr(learner)) == learner`.

    >>> from linmax import Averaged, Winnow
    >>> check_repr_parses_back(Averaged(Winnow(1.3)))
    """
    back = parse(repr(learner))
    expect(back == learner, f"{learner!r} parses back as {back!r}")
    expect(repr(back) == repr(learner), f"{learner!r} prints as {back!r} when it is parsed back")


def check_bad_parameters_are_named(learner: Learner) -> None:
    """A parameter that cannot be is refused with a ValueError that names it."""
    for layer in layers_of(learner):
        for field in dataclasses.fields(layer):
            if field.name in ("inner", "members", "experts") or isinstance(getattr(layer, field.name), bool):
                continue
            try:
                made = dataclasses.replace(layer, **{field.name: math.nan})
            except ValueError as error:
                said = str(error)
                expect(
                    field.name in said,
                    f"{type(layer).__name__} refuses {field.name}=nan without naming it: {said}",
                )
            else:
                raise AssertionError(f"{type(layer).__name__} accepts {field.name}=nan: {made!r}")


def check_inputs_are_left_alone(learner: Learner) -> None:
    """Neither learning nor predicting writes into what it was given."""
    m = material(learner, 30)
    before = copy.deepcopy(m)
    fusion = m.session(learner)
    m.learn(fusion)
    fusion.predict(m.votes, attributes=m.attributes)
    fusion.scores(m.votes, attributes=m.attributes)
    for name in ("votes", "labels", "attributes"):
        old, new = getattr(before, name), getattr(m, name)
        expect(old is None or np.array_equal(old, new), f"{learner!r} changed the {name} it was given")


def check_predict_is_pure(learner: Learner) -> None:
    """`predict`, `scores`, `predict_one` and `explain_one` leave the session as it was."""
    m = material(learner, 30)
    fusion = m.session(learner)
    m.rows(0, 20).learn(fusion)
    before, classes, experts = fusion.state(), fusion.classes, fusion.experts
    fusion.predict(m.votes, attributes=m.attributes)
    fusion.scores(m.votes, attributes=m.attributes)
    for votes, _, cells in m.rows(20).items():
        fusion.predict_one(votes, attributes=cells)
        fusion.explain_one(votes, attributes=cells)
    if m.votes is not None:
        fusion.predict_one({"a newcomer": 0, 0: 1}, attributes=cells)
    expect_same_state(before, fusion.state(), f"{learner!r} before and after predictions")
    expect(fusion.classes == classes, f"{learner!r} came to know classes by predicting: {fusion.classes}")
    expect(fusion.experts == experts, f"{learner!r} came to know experts by predicting: {fusion.experts}")


def check_pieces_make_the_whole(learner: Learner) -> None:
    """One array, pieces of it, items, tickets answered at once: the same guesses and the same state."""
    m = material(learner, 40)
    whole = m.session(learner)
    guesses = m.learn(whole).guesses
    pieces = m.session(learner)
    cuts = [0, 1, 2, 10, 33, 40]
    parts = [m.rows(begin, end).learn(pieces).guesses for begin, end in itertools.pairwise(cuts)]
    expect_same_guesses(guesses, np.concatenate(parts), f"{learner!r} over an array and over pieces of it")
    expect_same(whole, pieces, f"{learner!r} over an array and over pieces of it")
    single, later = m.session(learner), m.session(learner)
    one_by_one, tickets = [], []
    for votes, label, cells in m.items():
        one_by_one.append(single.learn_one(votes, label, attributes=cells))
        ticket = later.predict_one(votes, attributes=cells, ticket=True)
        tickets.append(ticket.guess)
        later.learn_one(ticket, label)
    expect_same_guesses(guesses, one_by_one, f"{learner!r} over an array and one by one")
    expect_same(whole, single, f"{learner!r} over an array and one by one")
    expect_same_guesses(guesses, tickets, f"{learner!r} over an array and by tickets")
    expect_same(whole, later, f"{learner!r} over an array and by tickets")


def check_saving_changes_nothing(learner: Learner) -> None:
    """Saved and loaded at any cut, a session goes on as if nothing had been."""
    m = material(learner, 24)
    whole = m.session(learner)
    guesses = m.learn(whole).guesses
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.linmax"
        for cut in range(len(m.labels) + 1):
            fusion = m.session(learner)
            first = m.rows(0, cut).learn(fusion).guesses
            fusion.save(path)
            resumed = load(path)
            second = m.rows(cut).learn(resumed).guesses
            what = f"{learner!r} saved after {cut} of {len(m.labels)} trials"
            expect(resumed.learner == learner, f"{what} is loaded as {resumed.learner!r}")
            expect_same_guesses(guesses, [*first, *second], what)
            expect_same(whole, resumed, what)


def check_forms_agree(learner: Learner) -> None:
    """Hard votes, the same as one-hot scores, and as triplets: the same guesses and the same state."""
    m = material(learner, 60)
    assert m.votes is not None
    hard = Fusion(learner, classes=m.classes, experts=range(m.votes.shape[1]))
    guesses = m.learn(hard).guesses
    for name, votes in (("one-hot scores", dense(m.votes, len(m.classes))), ("triplets", triplets(m.votes))):
        other = Fusion(learner, classes=m.classes, experts=range(m.votes.shape[1]))
        found = other.learn(votes, m.labels, attributes=m.attributes).guesses
        expect_same_guesses(guesses, found, f"{learner!r} on hard votes and on {name}")
        expect_same(hard, other, f"{learner!r} on hard votes and on {name}")


def check_deterministic(learner: Learner) -> None:
    """The same trials give the same state and the same guesses."""
    m = material(learner, 60)
    one, other = m.session(learner), m.session(learner)
    expect_same_guesses(m.learn(one).guesses, m.learn(other).guesses, f"{learner!r} run twice")
    expect_same(one, other, f"{learner!r} run twice")


def check_compiles_once(learner: Learner) -> None:
    """Once a learner has run, the same with other parameters runs without compiling anything."""
    m = material(learner, 20)
    m.learn(m.session(learner))
    before = trials.run.compilations()
    for other in _with_other_parameters(learner):
        m.learn(m.session(other))
        more = trials.run.compilations() - before
        expect(more == 0, f"{other!r} compiled {more} kernels after {learner!r} had run on the same data")


def check_memory_is_bounded(learner: Learner) -> None:
    """When all names are known, what a session keeps grows no more."""
    m = material(learner, 2000)
    fusion = m.session(learner)
    m.rows(0, 1000).learn(fusion)
    before = sum(array.nbytes for array in fusion.state().values())
    m.rows(1000).learn(fusion)
    after = sum(array.nbytes for array in fusion.state().values())
    expect(
        after <= 1.2 * before + 1000,
        f"{learner!r} keeps {before} bytes after 1000 trials and {after} after 2000",
    )


def is_registered(learner: Learner) -> bool:
    """Can the learner be written down and saved?"""
    return "<unregistered" not in repr(learner) and all(name_of(type(layer)) for layer in layers_of(learner))


def _with_other_parameters(learner: Any) -> Iterator[Any]:
    """The learner with one number changed at a time, by a hundredth (or one, if it is whole)."""
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
                made = dataclasses.replace(learner, **{field.name: other})
            except ValueError:
                continue
            if made != learner:
                yield made
                break
