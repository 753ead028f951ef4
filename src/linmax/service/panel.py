"""One fusion in memory, and what it may grow to."""

from __future__ import annotations

import asyncio
from collections.abc import Set
from typing import Any

from linmax.fusion import Fusion
from linmax.service import replay
from linmax.service.messages import FusionSettings
from linmax.service.problems import ServiceError
from linmax.service.tokens import Token


class Panel:
    """One fusion in memory.

    Parameters
    ----------
    number, name
        Its number in the database, and its name.
    settings
        What it was created with.
    created
        When it was created.
    state
        Its state, from the log.
    waiting, expired
        How many predictions wait for a label, and how many have stopped to.
    """

    def __init__(
        self,
        number: int,
        name: str,
        settings: FusionSettings,
        created: float,
        state: replay.State,
        waiting: int,
        expired: int,
    ) -> None:
        self.number = number
        self.name = name
        self.settings = settings
        self.created = created
        self.lock = asyncio.Lock()
        self.waiting = waiting
        self.expired = expired
        self.amendments = 0  # since it was opened
        self.applied = 0  # how many of them the state has
        self.take(state)

    @property
    def rebuilding(self) -> bool:
        """Whether the state is not yet what the amendments in the log make it."""
        return self.applied != self.amendments

    def take(self, state: replay.State) -> None:
        """Go on from a state."""
        self.fusion: Fusion = state.fusion
        self.version = state.version
        self.snapshot = state.snapshot
        self.unsaved = state.learned

    def new_names(self, votes: dict[str, Any] | None, label: Any, attributes: dict[str, Any] | None) -> int:
        """Return how many new names an item has; an error says which limit they exceed."""
        names, limits = self.fusion.names, self.settings.limits
        experts = _missing(votes.keys() if votes else set(), names.experts.codes)
        classes = _missing(_named_classes(votes, label), names.classes.codes)
        columns = self._new_attributes(attributes) if attributes else []
        for what, new, known, limit in (
            ("experts", experts, len(names.experts), limits.experts),
            ("classes", classes, len(names.classes), limits.classes),
            ("attributes", columns, len(names.attributes) + len(names.values), limits.attributes),
        ):
            if new and known + len(new) > limit:
                raise ServiceError(
                    422,
                    "too_many_names",
                    f"{self.name} may have {limit} {what} and would have {known + len(new)}; raise its limit",
                )
        return len(experts) + len(classes) + len(columns)

    def _new_attributes(self, attributes: dict[str, Any]) -> list[str]:
        """Return the attributes of an item that are new, or have a new value if they are not numbers."""
        if self.fusion.needs <= {"votes"} and not self.fusion.chooses_learner:
            return []  # they are ignored
        numbers, values = self.fusion.names.attributes.codes, self.fusion.names.values.codes
        return [
            name
            for name, value in attributes.items()
            if value is not None
            and (name not in numbers or isinstance(value, str))
            and (name, value) not in numbers
            and (name, value) not in values
        ]

    def check_growth(
        self, token: Token, votes: dict[str, Any] | None, label: Any, attributes: dict[str, Any] | None
    ) -> None:
        """Raise an error if an item has names that are new, and the token may not add any."""
        if self.new_names(votes, label, attributes):
            self._require_growth(token)

    def check_label(
        self, token: Token, votes: dict[str, Any] | None, label: Any, attributes: dict[str, Any] | None
    ) -> None:
        """Raise an error if a label is new, and the token may not add any.

        Who predicted the item was allowed to bring the names of its votes and attributes.
        """
        new = self.new_names(votes, label, attributes)
        if new and new > self.new_names(votes, None, attributes):
            self._require_growth(token)

    def _require_growth(self, token: Token) -> None:
        if not token.allows("grow", self.name):
            raise ServiceError(
                403,
                "new_names",
                "the item has new experts, classes or attributes, which needs a token with the scope grow",
            )


def _named_classes(votes: dict[str, Any] | None, label: Any) -> set[Any]:
    """Return the classes that votes and a label name."""
    try:
        given = set(votes.values()) if votes else set()
    except TypeError:  # scores
        given = set()
        for vote in (votes or {}).values():
            given.update(vote if isinstance(vote, dict) else (vote,))
    given.add(label)
    given.discard(None)
    return given


def _missing(given: Set[Any], known: dict[Any, int]) -> list[Any]:
    """Return the names that are not known."""
    return [] if given <= known.keys() else [name for name in given if name not in known]
