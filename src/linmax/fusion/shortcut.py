"""Whether an item may take the fast path, which is made when first asked for, and anew for new names."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from linmax._jit import interpreting
from linmax.fusion.single import Single, SurpriseError
from linmax.techniques.council import Council
from linmax.techniques.head import UnfitError


class Shortcut:
    """The fast path of a council for items that are dicts of what the learner needs."""

    def __init__(self, council: Council, needs: Set[str], abstain: Any) -> None:
        self.council, self.abstain = council, abstain
        self.votes = dict if "votes" in needs else type(None)
        self.attributes = dict if "rows" in needs else type(None)
        self.single: Single | None = None
        self.closed = False  # a learner that keeps several items has none

    def trial(self, votes: Any, attributes: Any, label: Any) -> int | None:
        """The guess as a code, or None when the item must take the general path; a label is learned."""
        single = self.single
        if single is None or single.version != (self.council.version, interpreting()):
            single = self._made()
        if single is None or type(votes) is not self.votes or type(attributes) is not self.attributes:
            return None
        try:
            return single.trial(votes, attributes, label)
        except (KeyError, TypeError, SurpriseError):
            return None

    def _made(self) -> Single | None:
        if self.closed or not len(self.council.names.classes):
            return None
        self.council.fit()
        try:
            self.single = Single(self.council, self.abstain)
        except UnfitError:
            self.closed = True
            return None
        return self.single
