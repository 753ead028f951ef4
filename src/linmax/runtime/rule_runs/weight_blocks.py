"""The weights of a rule run in blocks: theta and w of which most are 0, because few pairs of classes meet."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linmax._jit.vectors import WIDTH
from linmax.experts.base import State
from linmax.kernels.blocks import PAGE
from linmax.kernels.forms.base import smallest_share
from linmax.runtime.layout import Columns, WeightLayout
from linmax.runtime.tables import (
    BlockTable,
    blocks_of,
    check_places,
    in_eights,
    most_votes,
    write_blocks,
)
from linmax.validation import check_array

COLUMNS = ("theta", "w")
BOTH = (0, 1)


class WeightBlocks(BlockTable):
    """Theta and w of a rule that adapts its steps. Sources that are not sparse have all of their blocks.

    Parameters
    ----------
    layout
        The layout of the weights.
    """

    def __init__(self, layout: WeightLayout) -> None:
        super().__init__(layout.shapes, len(COLUMNS), np.float32)
        self.follow(layout)

    def follow(self, layout: WeightLayout) -> None:
        """Follow a layout with more capacity."""
        self.layout = layout
        self.reshape(layout.shapes)
        for number, block in enumerate(layout.blocks):
            if not block.part.sparse:
                self.fill(number)

    def most_blocks(self, votes: Any, classes: int) -> tuple[int, int]:
        """Return how many blocks and pages a trial may add at most.

        The shares of the rivals in z add up to 1, so that few of them are large.
        """
        single = most_votes(votes) * sum(block.part.sparse for block in self.layout.blocks)
        large = int(1.0 / smallest_share(classes)) + 2  # type: ignore[no-untyped-call]
        blocks = min(-(-classes // WIDTH), large)
        return single * blocks, single * min(blocks, classes // (WIDTH * PAGE) + 2)

    def add_columns(self, columns: Columns, layout: WeightLayout) -> None:
        """Take over weights that are in arrays."""
        begin = 0
        for block in layout.blocks:
            places, values = blocks_of([block.view(columns[name]) for name in COLUMNS])
            self.restore(places + begin, layout.shapes, BOTH, values)
            begin += math.prod(in_eights(block.shape))

    def saved(self, layout: WeightLayout) -> State:
        """Return the blocks as they are in model files."""
        places, (theta, w) = self.state(layout.shapes, BOTH)
        return {"places": places, "theta": theta, "w": w}

    def add_saved(self, state: State, layout: WeightLayout) -> None:
        """Take over what `saved` returned."""
        self.restore(state["places"], layout.shapes, BOTH, [state[name] for name in COLUMNS])

    def by_key(self, sources: Any) -> dict[Any, float]:
        """Return the weights that are stored, by key."""
        found: dict[Any, float] = {}
        places = np.sort(self.numbers())[:, None] * WIDTH + np.arange(WIDTH)
        sizes, names = sources.sizes_of_names(), sources.names
        for part, at, shape in self.layout.blocks:
            if part.sparse:
                own = places[(places >= at) & (places < at + math.prod(shape))]
                indices = np.array(np.unravel_index(own - at, shape)).T
                indices = indices[(indices < part.shape(sizes)).all(axis=1)]
                keys = [part.key_at(names, tuple(place)) for place in indices.tolist()]
            else:
                named = list(part.keys(names, None))
                indices = np.array([place for _, place in named], dtype=np.int64).reshape(-1, len(shape))
                keys = [key for key, _ in named]
            steps = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
            found |= zip(keys, self.gather(at + indices @ np.array(steps), 1).tolist(), strict=True)
        return found


def columns_of(state: State, layout: WeightLayout) -> Columns:
    """Return weights as arrays, given their blocks as they are in model files."""
    columns = {name: np.zeros(layout.size) for name in COLUMNS}
    begin = 0
    for block in layout.blocks:
        size = math.prod(in_eights(block.shape))
        here = (state["places"] >= begin) & (state["places"] < begin + size)
        for name, column in columns.items():
            write_blocks(state["places"][here] - begin, state[name][here], block.view(column))
        begin += size
    return columns


def check_weights(state: State, layout: WeightLayout, *, in_blocks: bool) -> None:
    """Raise a ValueError if a state does not have the weights of a layout, as arrays or in blocks."""
    blocks = sum(math.prod(in_eights(shape)) for shape in layout.shapes)
    for name in COLUMNS:
        if in_blocks:
            check_places(state, name, "places", blocks, np.float32)
        else:
            check_array(state, name, (layout.size,), np.float64)
    check_array(state, "spoken", (layout.voters if in_blocks else layout.size,), np.uint8, 0, 2)
