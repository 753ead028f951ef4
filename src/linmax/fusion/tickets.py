"""Tickets: items that were predicted and whose label comes later."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple

from linmax.inputs.names import is_pandas_na, to_python


class Ticket(NamedTuple):
    """The prediction for an item whose label is still to come.

    Parameters
    ----------
    number
        The number under which the session stores the votes of the item.
    guess
        The predicted class.
    session
        The session that has issued the ticket.
    """

    number: int
    guess: Any
    session: str = ""


class Tickets:
    """The items of a session whose label is still to come; the oldest expire, and are counted.

    Parameters
    ----------
    limit
        How many items are stored at most.

    Attributes
    ----------
    expired : int
        How many items have been dropped because there were too many.
    given : int
        How many tickets have been issued.

    Examples
    --------
    >>> from linmax import Fusion, Winnow
    >>> fusion = Fusion(Winnow(1.2))
    >>> ticket = fusion.predict_one({"ann": "cat", "bob": "dog"}, ticket=True)
    >>> len(fusion.tickets), fusion.tickets.limit, fusion.tickets.expired
    (1, 10000, 0)
    >>> fusion.learn_one(ticket, "dog")
    'cat'
    >>> fusion.learn_one(ticket, "dog")
    Traceback (most recent call last):
    ...
    ValueError: ticket 0 was answered already or never given
    """

    def __init__(self, limit: int = 10_000) -> None:
        self.limit = limit
        self.session = secrets.token_hex(8)
        self.expired = 0
        self.given = 0
        self.waiting: OrderedDict[int, tuple[Any, Any]] = OrderedDict()

    @property
    def limit(self) -> int:
        """How many items are stored at most."""
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            raise ValueError(
                f"tickets require a whole number as their limit (got {limit!r}); a typical value is 10000"
            )
        self._limit = limit

    def __len__(self) -> int:
        return len(self.waiting)

    def issue(self, guess: Any, votes: Any, attributes: Any) -> Ticket:
        """Store an item; drop the oldest if there are too many."""
        ticket = Ticket(self.given, guess, self.session)
        self.waiting[ticket.number] = (to_plain(votes), to_plain(attributes))
        self.given += 1
        while len(self.waiting) > self.limit:
            self.waiting.popitem(last=False)
            self.expired += 1
        return ticket

    def answered(self, ticket: Ticket) -> None:
        """Forget an item whose label has been learned."""
        del self.waiting[ticket.number]

    def item(self, ticket: Ticket) -> tuple[Any, Any]:
        """Return the votes and attributes of a ticket."""
        if ticket.session not in ("", self.session):
            raise ValueError(f"ticket {ticket.number} is from another session; pass it to that one")
        if ticket.number in self.waiting:
            return self.waiting[ticket.number]
        oldest = next(iter(self.waiting), self.given)
        if 0 <= ticket.number < oldest and self.expired:
            raise ValueError(
                f"ticket {ticket.number} was answered or has expired ({self.limit} are kept); "
                "raise fusion.tickets.limit if labels come later than that"
            )
        raise ValueError(f"ticket {ticket.number} was answered already or never given")


def by_name(item: Any) -> Any:
    """Return a Series of pandas as a dict, and anything else as it is."""
    return item.to_dict() if type(item).__name__ == "Series" and hasattr(item, "to_dict") else item


def to_plain(item: Any) -> Any:
    """Return a copy of votes or attributes, made of what JSON can hold, that is learned as the original is.

    Missing values become None, members of an Enum their values, and scalars of numpy Python's.

    Parameters
    ----------
    item
        A dict, a list, an array, a Series, or one cell of these.

    Examples
    --------
    >>> import numpy as np
    >>> to_plain({"ann": float("nan"), "bob": {np.int64(3): np.float32(0.5)}})
    {'ann': None, 'bob': {3: 0.5}}
    """
    item = by_name(item)
    if isinstance(item, Mapping):
        return {to_python(_value(name)): to_plain(cell) for name, cell in item.items()}
    if isinstance(item, list | tuple):
        return [to_plain(cell) for cell in item]
    return _value(item)


def _value(cell: Any) -> Any:
    if isinstance(cell, Enum):
        return _value(cell.value)
    if hasattr(cell, "tolist"):
        return to_plain(cell.tolist())
    if cell is None or is_pandas_na(cell) or (isinstance(cell, float) and cell != cell):
        return None
    return float(cell) if isinstance(cell, Decimal | Fraction) else cell
