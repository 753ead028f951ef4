"""Experts read one by one: the label each names, for learners that count instead of adding scores."""

from __future__ import annotations

import numpy as np

from linmax.experts.votes import on_one_scale
from linmax.forms import Dense, Hard
from linmax.techniques.head import Stretch


def labels_voted(stretch: Stretch) -> np.ndarray:
    """The best class of every expert (trials, experts), the first of those that tie; -1 when it abstains."""
    if "labels voted" not in stretch.shared:
        stretch.shared["labels voted"] = _labels_voted(stretch)
    return stretch.shared["labels voted"]  # type: ignore[no-any-return]


def _labels_voted(stretch: Stretch) -> np.ndarray:
    tape = stretch.tape
    voted = np.full((stretch.length, stretch.batch.experts_seen), -1, dtype=np.int32)
    votes = on_one_scale(tape.data.votes, "onehot")
    if isinstance(votes, Hard):
        voted[:, : votes.codes.shape[1]] = votes.codes[tape.held :]
    elif isinstance(votes, Dense):
        values = votes.values[tape.held :]
        voted[:, : values.shape[1]] = np.where(values.any(axis=2), values.argmax(axis=2), -1)
    else:
        trial = np.repeat(np.arange(len(tape.labels)), np.diff(votes.indptr)) - tape.held
        new = (trial >= 0) & (votes.label >= 0)
        voted[trial[new], votes.expert[new]] = votes.label[new]
    return voted
