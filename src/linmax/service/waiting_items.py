"""The votes of items that wait for their labels, as codes, so that a batch of labels is learned at once."""

from __future__ import annotations

from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from linmax.fusion import Fusion
from linmax.service.chunks import Chunk
from linmax.service.stored_items import Item
from linmax.service.vote_codes import Codes, KnownNames


class Waiting(NamedTuple):
    """Items that wait.

    Attributes
    ----------
    items : list of Item
        The items.
    votes : ndarray of int32
        Their votes, as from `KnownNames.encode_votes`.
    predictions : list
        Their predictions.
    """

    items: list[Item]
    votes: Codes
    predictions: list[Any]


def read_waiting(items: list[Item], fusion: Fusion) -> Waiting:
    """Return items up to the first that has new names, scores or attributes.

    Parameters
    ----------
    items
        The items.
    fusion
        The session that learns them.
    """
    found = _read_chunks(items, fusion)
    if found is not None:
        return found
    names = KnownNames(fusion)
    stored = takewhile(
        lambda one: one.attributes is None and names.have(one.votes),
        [item.read() for item in items],
    )
    known = list(stored)
    table = names.encode_votes([one.votes or {} for one in known])
    if table is None:
        return Waiting([], np.empty((0, 0), np.int32), [])
    return Waiting(items[: len(known)], table, [one.prediction for one in known])


def _read_chunks(items: list[Item], fusion: Fusion) -> Waiting | None:
    """Return items that are all in chunks with known names; None if there are others."""
    places: dict[int, list[int]] = {}
    chunks = [item.stored for item in items]
    for place, chunk in enumerate(chunks):
        places.setdefault(id(chunk), []).append(place)
    positions = np.array([item.position for item in items], np.int64)
    experts, classes = fusion.names.experts.codes, fusion.names.classes.codes
    votes = np.empty((len(items), len(experts)), np.int32)
    predictions = np.empty(len(items), np.int32)
    for chosen in places.values():
        chunk = chunks[chosen[0]]
        if not isinstance(chunk, Chunk):
            return None
        rows = chunk.rows(positions[chosen])
        codes, predicted = chunk.votes_for(experts, classes, rows), chunk.predictions_for(classes, rows)
        if codes is None or predicted is None:
            return None
        votes[chosen], predictions[chosen] = codes, predicted
    names = [*fusion.names.classes.names, None]
    return Waiting(items, votes, list(map(names.__getitem__, predictions.tolist())))
