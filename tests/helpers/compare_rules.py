"""Drive the library and an oracle side by side, trial by trial, and compare all weights after each.

Two float programs that add in another order split exact ties differently and then drift apart.  So an item
on which anything would be decided by less than NEAR, in the oracle, is given to neither.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from linmax import Averaged, Cycle, Fusion, Recycled, Rule, Triplets
from linmax.kernels.structs import MISTAKES
from linmax.spec import registered
from tests.oracles import rules as oracles
from tests.oracles.session import Session
from tests.oracles.sharing import MAPS

NEAR = 1e-9
CLASSES = ["a", "b", "c", "d"]
EXPERTS = [f"e{i}" for i in range(6)]
FORMS = ("hard", "dense", "triplets", "dicts")

Item = dict[str, Any]

# how a technique is written, and what it asks of the oracle
TECHNIQUES: dict[str, tuple[Any, dict[str, Any]]] = {
    "plain": (lambda rule: rule, {}),
    "averaged": (Averaged, {"averaged": True}),
    "recycled": (lambda rule: Recycled(rule, size=6, updates=2), {"recycled": (6, 2)}),
    "averaged recycled": (
        lambda rule: Averaged(Recycled(rule, size=6, updates=2)),
        {"averaged": True, "recycled": (6, 2)},
    ),
    "recycled averaged": (
        lambda rule: Recycled(Averaged(rule), size=6, updates=2),
        {"averaged": True, "recycled": (6, 2)},
    ),
}


def own_rules() -> dict[str, type[Rule]]:
    """Every rule that linmax brings along."""
    found = {n: it for n, it in registered().items() if isinstance(it, type) and issubclass(it, Rule)}
    return {name: rule for name, rule in found.items() if rule.__module__.startswith("linmax.rules.")}


def oracle_of(rule: Rule) -> oracles.Rule:
    """The slow rule of the same name and parameters."""
    fields = [field for field in dataclasses.fields(rule) if field.name != "experts"]
    positional = [getattr(rule, field.name) for field in fields if not field.kw_only]
    options = {field.name: getattr(rule, field.name) for field in fields if field.kw_only}
    if isinstance(rule.rivals, Cycle):
        options |= {"rivals": "cycle", "rounds": rule.rivals.rounds}
    slow: oracles.Rule = getattr(oracles, type(rule).__name__)(*positional, **options)
    return slow


def items(
    form: str, count: int, seed: int = 0, *, silent: float = 0.2, whole: bool = False
) -> Iterator[tuple[Item, Any]]:
    """Random votes; the label is what a weighted vote of the panel says, or noise."""
    rng = random.Random(f"{form} {seed}")
    for _ in range(count):
        votes = {}
        for e in EXPERTS:
            if rng.random() < silent:
                continue
            if form == "hard":
                votes[e] = {rng.choice(CLASSES): 1}
            else:
                score = (lambda: rng.randint(-3, 3)) if whole else (lambda: rng.uniform(-1, 1))
                votes[e] = {c: score() for c in CLASSES}
        trust = {c: sum((i + 1) * votes.get(e, {}).get(c, 0) for i, e in enumerate(EXPERTS)) for c in CLASSES}
        best = max(CLASSES, key=trust.__getitem__)
        yield {"votes": votes}, best if rng.random() < 0.7 else rng.choice(CLASSES)


def give(fusion: Fusion, item: Item, y: Any, form: str) -> Any:
    """One trial in one of the forms; the guess."""
    votes = item.get("votes")
    if form == "hard":
        row = [next(iter(votes.get(e, {None: 1}))) for e in EXPERTS]
        return fusion.learn(np.array([row], dtype=object), [y]).guesses[0]
    if form == "dense":
        scores = [[votes.get(e, {}).get(c, 0.0) for c in fusion.classes] for e in EXPERTS]
        return fusion.learn(np.array([scores], dtype=float), [y]).guesses[0]
    if form == "triplets":
        cells = [(0, e, c, float(x)) for e, vote in votes.items() for c, x in vote.items()]
        return fusion.learn(Triplets(*map(list, zip(*cells, strict=True)), items=1), [y]).guesses[0]
    return fusion.learn_one(votes, y, attributes=item.get("attributes"))


def renamed(key: Any) -> Any:
    """The oracle's name of a sub-expert, from the library's; experts have names that begin with e."""
    if isinstance(key, str):
        return ("vote", key)
    kind, *rest = key
    if kind == "threshold":
        return key
    if kind == "attribute":
        return key if len(rest) == 2 else ("complement", *rest)
    if kind == "pair":
        return ("pair", frozenset(map(tuple, rest)))
    name = str(kind).split(" ")[0]  # what follows tells sources of a kind apart
    if name in MAPS:
        return ("shared", name, *rest)
    return ("split", *key) if len(key) == 2 else ("says", *key)


def agree(fusion: Fusion, session: Session, *, exact: bool, where: str) -> None:
    ours, theirs = fusion.weights, session.weights()
    assert set(theirs) <= set(map(renamed, ours)), f"{where}: sub-experts are missing"
    size = max((abs(float(w)) for w in theirs.values()), default=0.0)
    for key, weight in ours.items():
        truth = float(theirs.get(renamed(key), 0))
        near = weight == truth if exact else abs(weight - truth) <= 1e-9 * size
        assert near, f"{where}: the weight of {key} is {weight}, not {truth}"


def follow(
    fusion: Fusion,
    session: Session,
    stream: Iterable[tuple[Item, Any]],
    form: str = "dicts",
    *,
    exact: bool = False,
) -> int:
    """Give both the same trials; how many there were."""
    done = 0
    for t, (item, y) in enumerate(stream):
        rehearsal = session.twin()
        rehearsal.smallest_gap = 1.0
        guess = rehearsal.trial(item, y)
        if not exact and rehearsal.smallest_gap < NEAR:
            continue
        session = rehearsal
        done += 1
        where = f"{fusion.learner!r}, {form}, item {t}"
        given = give(fusion, item, y, form)
        assert given == guess or fusion.decisions.decides, (
            f"{where}: another guess"
        )  # the cheapest, with costs
        assert fusion.classes == session.classes, f"{where}: other classes"
        agree(fusion, session, exact=exact, where=where)
    mistakes = int(fusion.runner.totals()[MISTAKES])  # of the class with the highest score
    assert (fusion.trials, mistakes, fusion.novel) == (session.trials, session.mistakes, session.novel)
    return done
