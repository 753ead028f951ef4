"""Drive a committee of the library and its oracle side by side, and compare all that voting keeps."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable
from typing import Any

import numpy as np

from linmax import Averaged, Combine, Fusion, Mixture, Recycled, Voted, WeightedMajority, WinnowSearch
from linmax.experts import Shared, Thresholds, Votes
from linmax.kernels.ensembles.voting import RESTARTS, SAVED, SLOT, SPACING, VOTING
from linmax.spec import Learner
from tests.helpers.compare_rules import CLASSES, EXPERTS, NEAR, oracle_of, renamed
from tests.oracles import class_statistics
from tests.oracles import committees as oracles_committees
from tests.oracles import majorities as oracles_majorities
from tests.oracles import session as oracles_session

Stream = list[tuple[dict[str, Any], Any]]


def random_stream(count: int, seed: int = 0, *, scores: bool = False, parts: str = "votes") -> Stream:
    """Experts and classes come one after the other; votes and labels are missing; some labels are novel."""
    rng = random.Random(seed)
    stream: Stream = []
    for t in range(count):
        classes, votes = CLASSES[: 2 + t // 25], {}
        for e in EXPERTS[: 2 + t // 10]:
            if rng.random() < 0.3:
                continue
            votes[e] = {rng.choice(classes): 1}
            if scores:
                votes[e] = {c: rng.randint(-3, 3) for c in classes if rng.random() < 0.8}
        said = sorted(max(vote, key=vote.__getitem__) for vote in votes.values() if vote)
        y = max(said, key=said.count) if said and rng.random() < 0.75 else rng.choice(classes)
        y = f"novel {t}" if rng.random() < 0.04 else y
        colours = {a: rng.randint(0, 2) for a in ("hue", "tone")}
        item: dict[str, Any] = {"votes": votes, "attributes": colours}
        if "words" in parts:
            item["attributes"] = {**{a: f"{a}{x}" for a, x in colours.items()}, "kind": "paint"}
        wanted = {"votes": "votes" in parts, "attributes": parts != "votes"}
        item = {name: part for name, part in item.items() if wanted[name]}
        stream.append((item, y if rng.random() < 0.92 else None))
    return stream


def slow(learner: Any, classes: Iterable[Any] = (), seed: int = 0) -> Any:
    """The oracle of a learner."""
    classes = list(classes)
    if isinstance(learner, Voted):
        options = {name: getattr(learner, name) for name in ("hypotheses", "window", "recent", "patience")}
        return slow(Combine([learner.inner], choose=learner.choose, **options), classes, seed)
    if isinstance(learner, WeightedMajority) and learner.members is None:
        return oracles_majorities.WeightedMajorityOfExperts(learner.multiplier, classes=classes)
    if not hasattr(learner, "members"):
        return _member(learner)
    members = [slow(member, classes, seed) for member in learner.members]
    if isinstance(learner, WinnowSearch):
        return oracles_majorities.WinnowSearch(members, learner.slots, learner.multiplier, classes)
    if isinstance(learner, WeightedMajority):
        return oracles_majorities.WeightedMajority(members, learner.multiplier, classes)
    if isinstance(learner, Mixture):
        return oracles_majorities.Mixture(
            members, classes, multiplier=learner.multiplier, share=learner.share
        )
    if learner.choose == "random":
        return oracles_majorities.RandomCombine(members, classes, hypotheses=learner.hypotheses, seed=seed)
    return oracles_committees.Combine(
        members, classes, hypotheses=learner.hypotheses, window=learner.window, recent=learner.recent,
        patience=learner.patience,
    )  # fmt: skip


def _member(learner: Any) -> oracles_committees.Member:
    options: dict[str, Any] = {}
    while hasattr(learner, "inner"):
        if isinstance(learner, Averaged):
            options["averaged"] = True
        if isinstance(learner, Recycled):
            options["recycled"] = (learner.size, learner.updates)
        learner = learner.inner
    sources = []
    for part in (learner.experts or Votes() + Thresholds()).parts:
        if isinstance(part, Shared):
            sets = None if part.sets is None else dict(part.sets)
            sources.append(class_statistics.Shared(part.map, part.statistic, sets))
            continue
        kind = getattr(oracles_session, type(part).__name__)
        sources.append(kind(part.as_) if isinstance(part, Votes) else kind())
    return oracles_committees.Member(oracle_of(learner), sources, **options)


def agree(fusion: Any, oracle: Any, *, exact: bool, where: str) -> None:
    """All that a voter stores: leader, counts, saved hypotheses and their sum."""
    predictor: Any = fusion.runner.predictor if isinstance(fusion, Fusion) else fusion
    hypotheses, n = predictor.hypotheses, predictor.hypotheses.numbers
    assert [int(x) for x in predictor.mistakes] == [m.mistakes for m in oracle.members], (
        f"{where}: other mistakes"
    )
    assert predictor.members.index(predictor.leader) == oracle.leader, f"{where}: another leader"
    if not oracle.h:
        return
    count = len(oracle.saved)
    assert n[SAVED] == count, f"{where}: {n[SAVED]} hypotheses are saved, not {count}"
    assert hypotheses.moment[:count].tolist() == [it.trial for it in oracle.saved], f"{where}: other moments"
    assert hypotheses.origin[:count].tolist() == [it.member for it in oracle.saved], f"{where}: other members"
    if not predictor.rules.random:
        facts = (oracle.restarts, oracle.g, oracle.j, oracle.voting)
        assert tuple(n[[RESTARTS, SPACING, SLOT, VOTING]].tolist()) == facts, f"{where}: other counts"
        assert hypotheses.figure[:count].tolist() == [float(f) for f in oracle.figures], (
            f"{where}: other figures"
        )
        assert predictor.leader_predicts() == oracle.ahead, f"{where}: another is ahead"
    total = np.zeros(len(hypotheses.total))
    for slot, saved in enumerate(oracle.saved):
        leaf = predictor.members[saved.member]
        row, at = np.zeros(len(total)), predictor._start(leaf)
        for key, _, place in leaf.run.sources.named_weights():
            row[at + place] = float(saved.weights.get(renamed(key), 0))
        size = 0.0 if exact else 1e-9 * np.abs(row).max()
        assert np.abs(hypotheses.saved[slot] - row).max() <= size, (
            f"{where}: another hypothesis in slot {slot}"
        )
        total += hypotheses.saved[slot]
    if not predictor.rules.random:
        assert hypotheses.total.tobytes() == total.tobytes(), f"{where}: another sum"


def follow(
    learner: Learner,
    stream: Stream,
    classes: Iterable[Any] = (),
    *,
    exact: bool = False,
    seed: int = 0,
    agreed: Any = agree,
) -> tuple[Fusion, Any, Stream]:
    """Give both the same trials one by one; the items on which the oracle was in doubt are left out."""
    fusion, oracle = Fusion(learner, classes=list(classes) or None, seed=seed), slow(learner, classes, seed)
    given = []
    for t, (item, y) in enumerate(stream):
        rehearsal = oracle if exact else oracle.twin()
        if not exact:
            rehearsal.smallest_gap = 1.0
        scores = oracle.scores(item) if t % 5 == 0 else None
        guess = rehearsal.trial(item, y)
        if not exact and rehearsal.smallest_gap < NEAR:
            continue
        where = f"{learner!r}, item {t}"
        votes, attributes = item.get("votes"), item.get("attributes")
        if scores is not None:
            _scores(fusion, item, scores, where)
        found = fusion.learn_one(copy.deepcopy(votes), y, attributes=attributes)
        assert found == guess, f"{where}: another guess"
        oracle = rehearsal
        given.append((item, y))
        if y is not None:
            assert fusion.classes == oracle.classes, f"{where}: other classes"
        agreed(fusion, oracle, exact=exact, where=where)
    facts = (fusion.trials, fusion.mistakes, fusion.novel)
    assert facts == (oracle.trials, oracle.mistakes, oracle.novel)
    return fusion, oracle, given


def _scores(fusion: Fusion, item: Any, scores: dict[Any, Any], where: str) -> None:
    votes, attributes = item.get("votes"), item.get("attributes")
    ours = fusion.scores(
        None if votes is None else [votes],
        attributes=None if attributes is None else [attributes],
        new_experts="vote",
    )
    theirs = [float(scores[c]) for c in fusion.classes]
    size = max(map(abs, theirs), default=1.0) + 1e-12
    assert np.allclose(ours[0], theirs, rtol=0, atol=1e-9 * size), f"{where}: scores {ours[0]}, not {theirs}"


def at_once(fusion: Fusion, stream: Stream) -> list[Any]:
    """The whole stream in one call; the guesses."""
    first = stream[0][0]
    votes = [item["votes"] for item, _ in stream] if "votes" in first else None
    attributes = [item["attributes"] for item, _ in stream] if "attributes" in first else None
    return fusion.learn(votes, [y for _, y in stream], attributes=attributes).guesses.tolist()
