"""Three problems that tell one shared hypothesis from one per class: 64 attributes of -1 or 1, 16 classes.

Fink, Shalev-Shwartz, Singer & Ullman, Online multiclass learning by interclass hypothesis sharing, 2006, the
synthetic data of sections 2 and 3. The attributes are 16 blocks of four; a block of four ones stands for 15.
"""

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from linmax.problems._common import Table, blocks
from linmax.validation import check_integer

BLOCKS = 16
BITS = 4  # in a block, the first counts 8
ONES = 15  # the number whose bits are all ones; also the last class
Numbers = NDArray[np.int32]


def shared(trials: int = 8000, *, seed: int = 0) -> Table:
    """All classes look at the same four attributes: the label is the binary number x1 x2 x3 x4.

    All 64 attributes are uniform. One vector suffices for all classes: (1/2, 1/2, 1/2, 1/2, 0, ...) on the
    products of an item with the first item of a class.

    Fink, Shalev-Shwartz, Singer & Ullman, 2006, section 2, the first dataset.

    >>> attributes, labels = shared(3)
    >>> attributes[:, :4]
    array([[ 1.,  1., -1., -1.],
           [-1.,  1.,  1.,  1.],
           [-1.,  1.,  1.,  1.]])
    >>> labels
    array([12,  7,  7])

    With a vector per class, each has to find out by itself which four:

    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Attributes
    >>> Fusion(Perceptron().on(Attributes())).learn(**shared()._asdict())
    Run(trials=8000, right=7057, mistakes=927, novel=16, ignored=0)
    """
    table, drawing, _ = _begin("shared", trials, seed)
    for rows in blocks(0, trials, BLOCKS * BITS):
        numbers = _drawn(drawing, rows, ONES + 1)
        _write(table, rows, numbers, numbers[:, 0])
    return table


def disjoint(trials: int = 8000, *, seed: int = 0) -> Table:
    """Every class looks at four attributes of its own: class r at block r, which is all ones for it alone.

    The label is uniform; its block is all ones, and every other block is redrawn while it is.

    Fink, Shalev-Shwartz, Singer & Ullman, 2006, section 2, the second dataset.

    >>> attributes, labels = disjoint(1000)
    >>> ones = attributes.reshape(1000, 16, 4).min(axis=2) == 1
    >>> bool((ones.sum(axis=1) == 1).all()), bool((ones.argmax(axis=1) == labels).all())
    (True, True)
    """
    table, drawing, naming = _begin("disjoint", trials, seed)
    for rows in blocks(0, trials, BLOCKS * BITS):
        numbers = _drawn(drawing, rows, ONES)  # uniform without all ones: what redrawing comes to
        labels = _named(naming, rows)
        numbers[np.arange(len(labels)), labels] = ONES
        _write(table, rows, numbers, labels)
    return table


def penguin(trials: int = 8000, *, seed: int = 0) -> Table:
    """Fifteen classes share the attributes they look at, and the last, the penguin, has its own.

    The label is uniform. Below 15 it is the binary number x1 x2 x3 x4, and x61 to x64 are redrawn while they
    are all ones; at 15 these are all ones, and x1 to x4 uniform.

    Fink, Shalev-Shwartz, Singer & Ullman, 2006, section 3, the third dataset.

    >>> attributes, labels = penguin(8000)
    >>> bool(((attributes[:, 60:].min(axis=1) == 1) == (labels == 15)).all())
    True
    >>> number = (attributes[:, :4] == 1) @ [8, 4, 2, 1]
    >>> bool((number == labels)[labels < 15].all()), round(float((number == labels)[labels == 15].mean()), 2)
    (True, 0.06)
    """
    table, drawing, naming = _begin("penguin", trials, seed)
    last = drawing.spawn(1)[0]
    for rows in blocks(0, trials, BLOCKS * BITS):
        numbers = _drawn(drawing, rows, ONES + 1)
        labels = _named(naming, rows)
        flies = labels < ONES
        others = last.integers(ONES, size=len(labels), dtype=np.int32)  # uniform without all ones
        numbers[:, 0] = np.where(flies, labels, numbers[:, 0])
        numbers[:, -1] = np.where(flies, others, ONES)
        _write(table, rows, numbers, labels)
    return table


def _begin(who: str, trials: int, seed: int) -> tuple[Table, Generator, Generator]:
    check_integer(who, "trials", trials, 0)
    check_integer(who, "seed", seed, 0)
    drawing, naming = np.random.default_rng(seed).spawn(2)
    return Table(np.empty((trials, BLOCKS * BITS)), np.empty(trials, dtype=np.int64)), drawing, naming


def _drawn(drawing: Generator, rows: slice, below: int) -> Numbers:
    """A number for each block of each row."""
    return drawing.integers(below, size=(rows.stop - rows.start, BLOCKS), dtype=np.int32)


def _named(naming: Generator, rows: slice) -> Numbers:
    """A class for each row."""
    labels: Numbers = naming.integers(ONES + 1, size=rows.stop - rows.start, dtype=np.int32)
    return labels


def _write(table: Table, rows: slice, numbers: Numbers, labels: NDArray[Any]) -> None:
    """The bits of the numbers as -1 and 1, the first of a block counting 8."""
    bits = numbers[:, :, None] >> np.arange(BITS)[::-1] & 1
    table.attributes[rows] = (2 * bits - 1).reshape(len(numbers), -1)
    table.labels[rows] = labels
