"""One fusion in memory, and what it may grow to."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Set
from typing import Any

import msgspec
import numpy as np

from linmax.fusion import Fusion
from linmax.inputs.abstain import DEFAULT, Abstentions, read_abstain
from linmax.service.event_log.writes import Statement, Written
from linmax.service.fusions import replay
from linmax.service.messages.class_keys import class_fault, typed_votes
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import Expert, FusionSettings, check_name
from linmax.service.tokens import Token
from linmax.spec import parse

logger = logging.getLogger("linmax.service")

OWN_BYTES = 200_000  # of a session, without its arrays
SLOW = 0.002  # seconds of a call that others do not wait for
TURN = 0.005  # seconds after which others have their turn
MEASURE_AT = 1.1  # how many times as many names are worth a new estimate


class ServedPanel:
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
    last_id
        The last id of its items in their order, or a later one; empty if there are none.
    waiting, expired
        How many predictions wait for a label, and how many have stopped to.
    horizon, horizon_time
        The position up to which the log was compacted, and its time.
    """

    def __init__(
        self,
        number: int,
        name: str,
        settings: FusionSettings,
        created: float,
        state: replay.FusionState,
        last_id: str,
        waiting: int,
        expired: int,
        horizon: int = 0,
        horizon_time: float = 0.0,
    ) -> None:
        self.number = number
        self.name = name
        self.settings = settings
        self.created = created
        self.lock = asyncio.Lock()
        self.last_id = last_id
        self.waiting = waiting
        self.expired = expired
        self.horizon = horizon
        self.horizon_time = horizon_time
        self.amendments = 0  # since it was opened
        self.applied = 0  # how many of them the state has
        self.batch: tuple[list[Statement], Written]  # what the requests that run will submit
        self.turn = 0.0  # when they began
        self.arrivals: list[Any] = []  # single requests that wait for their turn
        self.missing: set[str] = set()  # ids that are known not to be in the log, while a batch is processed
        self.quick: set[Any] = set()  # calls of the model that take little time
        self.take(state)

    @property
    def rebuilding(self) -> bool:
        """Whether the state is not yet what the amendments in the log make it."""
        return self.applied != self.amendments

    def can_continue(self, amendments: int, position: int) -> bool:
        """Whether what was read up to a position, with so many amendments, goes on with the rest of the log.

        Not if there were more amendments since, or if a compaction has removed what comes next.
        """
        return amendments == self.amendments and position >= self.horizon

    @property
    def mistakes(self) -> int:
        """Wrong predictions among the trials, just before their labels were learned; new labels are wrong."""
        return self.fusion.mistakes + self.fusion.novel

    def take(self, state: replay.FusionState) -> None:
        """Continue from a state."""
        self.fusion: Fusion = state.fusion
        self.version = state.version
        self.snapshot = state.snapshot
        self.unsaved = state.learned
        self.version_of_names, self.names = -1, -1
        self.measure()
        if state.left_out:
            logger.warning(
                "%d items of %s cannot be learned any more; `linmax serve verify` says why",
                len(state.left_out), self.name,
            )  # fmt: skip

    def begin_batch(self) -> None:
        """Collect what the next requests write, for one transaction."""
        self.batch = [], Written()
        self.turn = time.perf_counter()

    def run_quickly(self, form: Any, call: Callable[..., Any], *values: Any) -> Any:
        """Call what is in `quick`, where it stays if it takes little time; see `ServedPanels.run`."""
        start = time.perf_counter()
        found = call(*values)
        if time.perf_counter() - start > SLOW:
            self.quick.discard(form)
        return found

    def measure(self) -> bool:
        """Estimate the memory of the session if it has new names; tell whether the estimate has changed."""
        if self.version_of_names == self.fusion.runner.version:
            return False
        self.version_of_names = self.fusion.runner.version
        names = sum(map(len, vars(self.fusion.names).values()))
        if self.names <= names <= self.names * MEASURE_AT:
            return False
        self.names = names
        self.bytes = OWN_BYTES + array_bytes(self.fusion)
        return True

    def new_names(self, votes: dict[str, Any] | None, label: Any, attributes: dict[str, Any] | None) -> int:
        """Return how many new names an item has; an error says which limit they exceed."""
        names, limits = self.fusion.names, self.settings.limits
        if votes is not None and not attributes and self._knows(votes, label):
            return 0
        votes = typed_votes(self.fusion, votes, label)
        experts = _missing(votes.keys() if votes else set(), names.experts.codes)
        silent = read_abstain(self.fusion.abstain, names.classes, None)
        classes = _missing(_named_classes(votes, label, silent), names.classes.codes)
        columns = self._new_attributes(attributes) if attributes else []
        if not (experts or classes or columns):
            return 0
        for name in (*experts, *columns):
            fault = check_name(name, Expert, "an expert or attribute")
            if fault:
                raise ServiceError(422, "bad_request", fault)
        for fault in filter(None, map(class_fault, classes)):
            raise ServiceError(422, "bad_request", fault)
        for what, new, known, limit in (
            ("experts", experts, len(names.experts), limits.experts),
            ("classes", classes, len(names.classes), limits.classes),
            ("attributes", columns, len(names.attributes) + len(names.values), limits.attributes),
        ):
            if new and known + len(new) > limit:
                raise ServiceError(
                    422,
                    "too_many_names",
                    f"{self.name} may have {limit} {what} and would have {known + len(new)}; an admin can"
                    " raise the limit",
                )
        return len(experts) + len(classes) + len(columns)

    def _knows(self, votes: dict[str, Any], label: Any) -> bool:
        """Whether the names of votes and a label are known, or abstain; not if votes are scores."""
        names = self.fusion.names
        known = names.classes.codes.keys()
        try:
            others = set(votes.values()) - known - {None}
        except TypeError:  # scores
            return False
        if not votes.keys() <= names.experts.codes.keys() or not (label is None or label in known):
            return False
        return not others or all(map(read_abstain(self.fusion.abstain, names.classes, None).includes, others))

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

    def check_taught_before(self, label: Any, attributes: dict[str, Any] | None) -> None:
        """Raise an error if items that were learned since may not fit what an earlier one is taught now.

        Parameters
        ----------
        label
            The new label of the earlier item.
        attributes
            The attributes of an item that is not learned at present.
        """
        names, abstain = self.fusion.names, self.fusion.abstain
        is_new = names.classes.get(label) < 0
        if abstain is DEFAULT and is_new and read_abstain(abstain, names.classes, None).includes(label):
            raise ServiceError(
                422,
                "bad_item",
                f"{label!r} is no class of {self.name}, and a vote that abstains; it cannot become a label of"
                " an item that others came after",
            )
        texts = {key[0] for key in names.attributes.codes if isinstance(key, tuple)} if attributes else set()
        for name, value in (attributes or {}).items():
            if name in texts and not isinstance(value, str | None):
                raise ServiceError(
                    422,
                    "bad_item",
                    f"the attribute {name!r} of the item is a number, and text in others, which may have been"
                    " learned since; learn the item anew with another id",
                )

    def _require_growth(self, token: Token) -> None:
        if not token.allows("grow", self.name):
            raise ServiceError(
                403,
                "new_names",
                "the item has new experts, classes or attributes, which needs a token with the scope grow",
            )


def form_of(votes: dict[str, Any] | None, attributes: Any) -> tuple[bool, bool, bool]:
    """Return what decides which kernels an item needs: the first time, they may have to be compiled."""
    scores = bool(votes) and type(next(iter(votes.values()))) is dict  # type: ignore[union-attr]
    return votes is None, scores, attributes is None


def _named_classes(votes: dict[str, Any] | None, label: Any, silent: Abstentions) -> set[Any]:
    """Return the classes that votes and a label name, without votes that abstain."""
    named, given = {label}, votes.values() if votes else ()
    try:
        single = set(given)
    except TypeError:  # scores
        named.update(*(vote for vote in given if isinstance(vote, dict)))
        single = {vote for vote in given if not isinstance(vote, dict)}
    named |= {vote for vote in single if vote in silent.ambiguous or not silent.includes(vote)}
    named.discard(None)
    return named


def _missing(given: Set[Any], known: dict[Any, int]) -> list[Any]:
    """Return the names that are not known."""
    return [] if given <= known.keys() else [name for name in given if name not in known]


def array_bytes(owner: Any) -> int:
    """Return the size of all arrays that an object of linmax holds; none is copied.

    Parameters
    ----------
    owner
        The object.

    Examples
    --------
    >>> array_bytes({"weights": [np.zeros(8), np.zeros((2, 8))[0]], "name": "ann"})
    192
    """
    found, seen, rest = 0, set[int](), [owner]
    while rest:
        one = rest.pop()
        if isinstance(one, np.ndarray) and isinstance(one.base, np.ndarray):
            one = one.base  # all of it is in memory
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            found += one.nbytes
        elif isinstance(one, dict):
            rest.extend(one.values())
        elif isinstance(one, list | tuple):
            rest.extend(one)
        elif type(one).__module__.startswith("linmax."):
            rest.extend(getattr(one, "__dict__", {}).values())
    return found


def timed(call: Callable[..., Any], *values: Any) -> tuple[Any, float]:
    """Return what a call returns, and the seconds of this thread that it took."""
    start = time.thread_time()
    return call(*values), time.thread_time() - start


def normal_settings(settings: FusionSettings) -> bytes:
    """Return settings as JSON, in which equal learners have equal texts, and True is not 1."""
    learner = settings.learner and repr(parse(settings.learner))
    normal = msgspec.structs.replace(settings, learner=learner, classes=settings.classes or None)
    return msgspec.json.encode(normal, order="sorted")
