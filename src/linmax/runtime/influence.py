"""What answers of experts can change: the hypotheses that may predict an item, as tables of score changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from linmax._jit import addresses, compilation
from linmax.experts.base import Source
from linmax.kernels.structs import TRIALS
from linmax.rules.base import SCALE, Rule
from linmax.runtime.layout import WeightLayout

Hypothesis = list[tuple[Source, np.ndarray]]
"""Sources, and their weights in the shape of the source."""

MOST_CELLS = 1 << 24  # numbers of a table


@dataclass(frozen=True, eq=False)  # influences equal themselves only, so that they are keys of dicts
class Influences:
    """What answers of experts add to the scores of an item.

    Which hypothesis predicts may depend on who votes: a new expert changes the scale of Winnow's weights. The
    hypothesis then lies between two cases.

    Parameters
    ----------
    base : ndarray of shape (cases, classes)
        The scores without votes, as far as they do not depend on attributes.
    of_attributes : bool
        Whether attributes add to the scores, too.
    diagonal : ndarray of shape (cases, experts, classes)
        What a vote for a class adds to that class.
    table : ndarray of shape (cases, experts, classes, classes)
        What a vote for a class adds to every class; without classes if there is no such source.
    scales : dict of str to ndarray of shape (cases, experts)
        The parts of `diagonal` that rescaled scores are multiplied by, by scale.
    raw : bool
        Whether scores also count as they are, so that they are bounded only in a range.
    labels_only : bool
        Whether scores count in another way than multiplied by these numbers.
    """

    base: np.ndarray
    of_attributes: bool
    diagonal: np.ndarray
    table: np.ndarray
    scales: dict[str, np.ndarray]
    raw: bool
    labels_only: bool = False


def influences(
    hypotheses: Sequence[Hypothesis], experts: np.ndarray, k: int, names: Any
) -> Influences | None:
    """Return what answers of some experts add through these hypotheses; None if that is not known.

    Parameters
    ----------
    hypotheses
        The cases.
    experts
        The codes of the experts; for all of them there is space in the weights.
    k
        The number of classes; the last may be one without a name.
    names
        The names of the session.
    """
    cases, n = len(hypotheses), len(experts)
    base, diagonal = np.zeros((cases, k)), np.zeros((cases, n, k))
    table, scales = np.zeros((cases, n, 0, 0)), dict[str, np.ndarray]()
    of_attributes = raw = False
    for case, hypothesis in enumerate(hypotheses):
        for source, weights in hypothesis:
            found = source.influence(weights, experts, k, names)
            if found is None:
                if source.needs == "votes":
                    return None
                of_attributes = True
                continue
            if found.constant is not None:
                base[case] += found.constant
            if found.diagonal is not None:
                diagonal[case] += found.diagonal
                raw |= found.scale == "raw"
                if found.scale != "raw" and k:
                    scales.setdefault(found.scale, np.zeros((cases, n)))[case] += found.diagonal[:, 0]
            if found.table is not None:
                if table.shape[3] == 0:
                    if cases * n * k * k > MOST_CELLS:
                        return None
                    table = np.zeros((cases, n, k, k))
                table[case] += found.table
                raw = True
    return Influences(base, of_attributes, diagonal, table, scales, raw)


class Leaf(NamedTuple):
    """A part of a mixture of probabilities whose scores are linear in the votes.

    Parameters
    ----------
    g
        Its share in the probabilities.
    influences
        What answers add to its scores.
    members
        If it is a stack, what answers add to the scores of its members, and the weight of each.
    """

    g: float
    influences: Influences
    members: tuple[tuple[Influences, float], ...] = ()


def scaled(found: Influences, factor: float) -> Influences:
    """Return what answers add if all scores are multiplied by a number."""
    return replace(
        found,
        base=factor * found.base,
        diagonal=factor * found.diagonal,
        table=factor * found.table,
        scales={scale: factor * weights for scale, weights in found.scales.items()},
    )


def weighted_sum(parts: Sequence[tuple[Influences, float]]) -> Influences:
    """Return the sum of what several learners add, each times a number, in the first case of each.

    Parameters
    ----------
    parts
        What each learner adds, and its number.
    """
    first = parts[0][0]
    k, n = first.base.shape[1], first.diagonal.shape[1]
    total = Influences(
        np.zeros((1, k)), any(one.of_attributes for one, _ in parts), np.zeros((1, n, k)),
        np.zeros((1, n, k, k) if any(one.table.shape[3] for one, _ in parts) else (1, n, 0, 0)),
        {}, any(one.raw for one, _ in parts), any(one.labels_only for one, _ in parts),
    )  # fmt: skip
    for one, factor in parts:
        total.base[:] += factor * one.base[:1]
        total.diagonal[:] += factor * one.diagonal[:1]
        if one.table.shape[3]:
            total.table[:] += factor * one.table[:1]
        for scale, weights in one.scales.items():
            total.scales[scale] = total.scales.get(scale, 0.0) + factor * weights[:1]
    return total


def split_vector(layout: WeightLayout, vector: np.ndarray) -> Hypothesis:
    """Return a vector over all weights as a hypothesis."""
    return [(block.part, block.view(vector)) for block in layout.blocks]


def hypotheses_of_run(run: Any, mean: bool) -> list[np.ndarray] | None:
    """Return the weights with which a rule run predicts, where sub-experts that never voted do so now.

    Such sub-experts have the weight with which they would start. Where they change the scale of all weights,
    two vectors are returned: none of them votes, and all do. None: the weights are too many for an array.
    """
    if run.table is not None:
        return None
    columns = run.columns
    w = columns["w"].astype(np.float64)
    scales = [float(run.s[SCALE])]
    new = np.zeros(0, dtype=np.int64)
    if run.rule.first() != 0.0 if run.in_place else run.tracks_spoken:  # else new ones start with weight 0
        new = np.flatnonzero(columns["spoken"] == 0)
        w[new] = columns["first"][new]
        if not run.in_place and len(new) and type(run.rule).join is not Rule.join:
            w[new], scale = _joined(run, columns["first"][new], _in_use(run)[new])
            scales += [scale] if scale != scales[0] else []
    if not mean:
        return [scale * w for scale in scales]
    sums = columns["past"] + w * (run.total[0] - columns["since"])
    sums[new] = 0.0
    return [(sums + w * scale) / (int(run.counts[TRIALS]) + 1) for scale in scales]


def _in_use(run: Any) -> np.ndarray:
    """Return which weights belong to experts and classes that exist, and are not spare capacity."""
    found = np.zeros(run.layout.size, dtype=bool)
    for block in run.layout.blocks:
        block.view(found)[tuple(map(slice, block.part.shape(run.sources.sizes)))] = True
    return found


def _joined(run: Any, theta: np.ndarray, in_use: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the weights of new sub-experts in units of the scale, and the scale if all in use vote."""
    values, kind = np.unique(theta, return_inverse=True)
    with compilation.interpreted():
        p = addresses.parameters(run.rule.parameters())
        first, s = np.zeros(len(values)), run.s.copy()
        for i in range(len(values)):
            own, w = run.s.copy(), np.zeros(1)
            run.rule.join(p, own, values[i : i + 1].astype(np.float64), w, np.arange(1))
            first[i] = w[0]
        if in_use.any():
            run.rule.join(p, s, values.astype(np.float64), np.zeros(len(values)), kind[in_use])
    return first[kind], float(s[SCALE])
