"""Slow, obvious committees: what all of them share, and V-Combine.

Members are the slow sessions of `oracles_session.py`, each with a run and sources of its own.  Every oracle
is given one item after the other: `scores(item)` and `predict(item)` never learn; `trial(item, y)`, also
called `learn`, guesses before it looks at y and returns the guess (y None: it only guesses).
Random choice, Weighted Majority and the mixture are in `oracles_majorities.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from tests.oracles.rules import Rule, Vector
from tests.oracles.session import Session, VoteMatrix, best, tally, twin_of

Item = dict[str, Any]


def items(rows: Iterable[Any], abstain: int = -1) -> list[Item]:
    """Items from dicts {expert: class or {class: score}}, or from a matrix with a column per expert."""
    made: list[Item] = []
    for row in rows:
        if isinstance(row, dict):
            votes = {e: vote if isinstance(vote, dict) else {vote: 1} for e, vote in row.items()}
        else:  # a silent column is named too: experts stand in the order of the columns
            votes = {e: {} if c == abstain else {int(c): 1} for e, c in enumerate(row)}
        made.append({"votes": votes})
    return made


class Member(Session):
    """One learner: a rule on its sources, perhaps averaged, perhaps recycled."""

    def __init__(
        self, rule: Rule, sources: Any = None, *, averaged: bool = False, recycled: Any = None
    ) -> None:
        super().__init__(rule, sources, averaged=averaged, recycled=recycled)
        self.moves = 0  # how often the rule moved, recycled instances included
        self.held = 0  # right guesses since it last did
        self.seen: list[dict[str, Any]] = []  # every instance: its item, its votes of then, its label

    def sessions(self) -> list[Member]:
        return [self]

    def move(self, z: Vector) -> bool:
        moved = super().move(z)
        self.moves += moved
        return moved

    def note_gap(self, scores: Vector) -> None:
        """Whole numbers are the same in any program: no doubt about their ties."""
        if not all(isinstance(score, int) for score in scores.values()):
            super().note_gap(scores)

    def look(self, item: Item) -> tuple[list[Any], list[VoteMatrix]]:
        """The classes known once these votes are, and each source's sub-experts."""
        votes = item.get("votes", {})
        experts = dict.fromkeys([*self.experts, *votes])
        named = [c for i in experts for c, value in votes.get(i, {}).items() if value]
        classes = list(dict.fromkeys([*self.classes, *named]))
        return classes, [source.sub_experts(item, classes) for source in self.sources]

    def scores(self, item: Item, w: Vector | None = None) -> Vector:
        """What the weights w say to an item of now; by default those that would guess it."""
        classes, parts = self.look(item)
        x = {i: vote for part in parts for i, vote in part.items() if any(vote.values())}
        if w is not None:
            return tally(w, x, classes)
        before = self.rule.twin()
        self.add_sub_experts(x)
        scores = tally(self.weights(), x, classes)
        self.rule = before
        return scores

    def trial(self, item: Item, y: Any) -> Any:
        _, frozen = self.look(item)
        moves, right = self.moves, self.right
        guess = super().trial(item, y)
        if y is not None:
            self.seen.append({"item": item, "frozen": frozen, "y": y})
            self.held = self.held + self.right - right if self.moves == moves else 0
        return guess

    def figure(self, recent: int) -> Fraction:
        """How good the hypothesis of now is: its accuracy on the latest instances.

        `recent=0`: the right guesses that were made since the rule last moved.
        """
        if recent == 0:
            return Fraction(self.held)
        w, latest, right = self.weights(), self.seen[-recent:], 0
        for entry in latest:
            scores = tally(w, self.old_votes(entry), self.classes)
            self.note_gap(scores)
            right += best(scores) == entry["y"]
        return Fraction(right, len(latest))


class Committee:
    """What all have in common: the members see the same trials, and every guess precedes its label."""

    def __init__(self, members: Sequence[Any], classes: Iterable[Any] = ()) -> None:
        self.members = list(members)
        self.trials = self.mistakes = self.right = self.novel = 0
        self.guesses: list[Any] = []  # one for each real trial
        for session in self.sessions():
            session.classes = list(classes)

    def scores(self, item: Item) -> Vector:
        """What decides the guess."""
        raise NotImplementedError

    def step(self, item: Item, y: Any, novel: bool) -> None:
        """The truth has come: members learn, and the committee with them."""
        raise NotImplementedError

    def predict(self, item: Item) -> Any:
        return best(self.scores(item))

    def trial(self, item: Item, y: Any) -> Any:
        scores = self.scores(item)
        self.note_gap(scores)
        guess, novel = best(scores), y not in scores
        if y is None:
            return guess
        self.step(item, y, novel)
        self.guesses.append(guess)
        self.trials += 1
        self.novel += novel
        self.right += not novel and guess == y
        self.mistakes += not novel and guess != y
        return guess

    def learn(self, item: Item, y: Any) -> Any:
        return self.trial(item, y)

    # what the sessions below know
    def sessions(self) -> list[Member]:
        return [session for member in self.members for session in member.sessions()]

    @property
    def classes(self) -> list[Any]:
        return self.sessions()[0].classes

    @property
    def smallest_gap(self) -> float:
        """The smallest relative difference that decided anything, as in Session; set it to start anew."""
        return min(session.smallest_gap for session in self.sessions())

    @smallest_gap.setter
    def smallest_gap(self, value: float) -> None:
        for session in self.sessions():
            session.smallest_gap = value

    def note_gap(self, scores: Vector) -> None:
        self.sessions()[0].note_gap(scores)

    def twin(self) -> Any:
        """A copy that can go on by itself; what never changes is shared."""
        return twin_of(self)


# --- V-Combine


class Saved(NamedTuple):
    t: int  # since the last restart
    trial: int  # since the start
    figure: Fraction
    member: int
    weights: Vector


def around(j: int, g: int, window: int) -> tuple[int, int]:
    """The first and the last trial of slot j's window, for hypotheses g trials apart."""
    half = min(window, g // 2) // 2
    return j * g - half, j * g + half


class Combine(Committee):
    """V-Combine (2008, section V); VR-Combine when the members recycle; one member: Voted."""

    def __init__(
        self,
        members: Sequence[Member],
        classes: Iterable[Any] = (),
        *,
        hypotheses: int = 20,
        window: int = 100,
        recent: int = 100,
        patience: int = 100,
    ) -> None:
        super().__init__(members, classes)
        self.h, self.window, self.recent, self.patience = hypotheses, window, recent, patience
        self.restarts = 0
        self.filled: list[list[int]] = []  # the trials of all h slots, each time that the last one closed
        self.leaders: list[int] = []  # b* at the start of each trial
        self.votes: list[Any] = []  # what voting would have guessed
        self.restart()

    def restart(self) -> None:
        self.saved: list[Saved] = []
        self.t, self.g, self.j = 0, 1, 1  # trials, distance, the slot that is open or comes next
        self.voting = 0  # voting's mistakes
        self.before = [member.mistakes for member in self.members]

    @property
    def leader(self) -> int:
        """b*: the fewest mistakes since the start; of equals, the first."""
        return min(range(len(self.members)), key=lambda m: self.members[m].mistakes)

    def since(self, m: int) -> int:
        """The mistakes of a member since the last restart."""
        return int(self.members[m].mistakes - self.before[m])

    @property
    def ahead(self) -> bool:
        return self.h > 0 and self.since(self.leader) < self.voting

    @property
    def positions(self) -> list[int]:
        return [it.t for it in self.saved]

    @property
    def figures(self) -> list[Fraction]:
        return [it.figure for it in self.saved]

    def vote(self, item: Item) -> Vector:
        """The raw scores of all saved hypotheses and of b*'s current one, added up."""
        mine: Vector = self.members[self.leader].scores(item)
        total: Vector = dict.fromkeys(mine, 0)
        for scores in [*(self.members[it.member].scores(item, it.weights) for it in self.saved), mine]:
            total = {c: total[c] + scores[c] for c in total}
        return total

    def scores(self, item: Item) -> Vector:
        mine: Vector = self.members[self.leader].scores(item)
        return mine if self.ahead else self.vote(item)

    def step(self, item: Item, y: Any, novel: bool) -> None:
        scores = self.vote(item)
        self.note_gap(scores)
        vote = best(scores)
        self.leaders.append(self.leader)
        self.votes.append(vote)
        for member in self.members:
            member.trial(item, y)
        self.voting += not novel and vote != y
        self.t += 1
        if self.h > 0:
            self.save()
        if self.ahead and self.t >= self.patience * 2**self.restarts:
            self.restarts += 1
            self.restart()

    def save(self) -> None:
        """Keep b*'s new hypothesis if the open window has no better one; then thin out what is full."""
        first, last = around(self.j, self.g, self.window)
        if not first <= self.t <= last:
            return
        m = self.leader
        figure, w = self.members[m].figure(self.recent), self.members[m].weights()
        new = Saved(self.t, self.trials + 1, figure, m, w)
        if self.t == first:
            self.saved.append(new)
        elif figure > self.saved[-1].figure:
            self.saved[-1] = new
        if self.t < last:
            return
        if self.j < self.h:
            self.j += 1
            return
        self.filled.append(self.positions)
        self.saved = self.saved[1::2]  # slots 2, 4, ... become 1, 2, ...; of one slot, none is kept
        self.g, self.j = 2 * self.g, self.h // 2 + 1
