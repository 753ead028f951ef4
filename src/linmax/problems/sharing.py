"""Problems of hypothesis sharing: 16 classes that share the attributes they depend on, or do not.

There are 64 attributes of -1 or 1, in 16 blocks of four. A block stands for a binary number whose first bit
counts 8; four ones stand for 15.
"""

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from linmax.problems._common import AttributeData, row_ranges
from linmax.validation import check_integer

BLOCKS = 16
BITS = 4  # per block
ONES = 15  # the number whose bits are all ones, and the last class
Numbers = NDArray[np.int32]


def shared(trials: int = 8000, *, seed: int = 0) -> AttributeData:
    """Generate a problem in which all classes depend on the same four attributes.

    The 64 attributes are uniform in {-1, 1}. The label is the binary number of the first four:

    label = 8 b1 + 4 b2 + 2 b3 + b4,  b_i = (x_i + 1) / 2

    One vector is right for all classes: (1/2, 1/2, 1/2, 1/2, 0, ...) on the products of an item with the
    first item of a class.

    Parameters
    ----------
    trials : int, default 8000
        The number of trials.
    seed : int, default 0
        The seed.

    Returns
    -------
    data : AttributeData
        The attributes and the labels.

    References
    ----------
    M. Fink, S. Shalev-Shwartz, Y. Singer and S. Ullman (2006). Online multiclass learning by interclass
    hypothesis sharing, section 2, the first dataset.

    Examples
    --------
    >>> from linmax.problems import shared
    >>> attributes, labels = shared(3)
    >>> attributes[:, :4]
    array([[ 1.,  1., -1., -1.],
           [-1.,  1.,  1.,  1.],
           [-1.,  1.,  1.,  1.]])
    >>> labels
    array([12,  7,  7])

    With one vector per class, each class has to learn which four attributes matter:

    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Attributes
    >>> Fusion(Perceptron().on(Attributes())).learn(**shared()._asdict())
    Run(trials=8000, right=7057, mistakes=927, novel=16, ignored=0)
    """
    data, number_rng, _ = _allocate("shared", trials, seed)
    for rows in row_ranges(0, trials, BLOCKS * BITS):
        numbers = _draw_numbers(number_rng, rows, ONES + 1)
        _write(data, rows, numbers, numbers[:, 0])
    return data


def disjoint(trials: int = 8000, *, seed: int = 0) -> AttributeData:
    """Generate a problem in which every class depends on four attributes of its own.

    The label r is uniform. Its block is all ones, x_{4r+1} = ... = x_{4r+4} = 1; every other block is drawn
    again while it is all ones.

    Parameters
    ----------
    trials : int, default 8000
        The number of trials.
    seed : int, default 0
        The seed.

    Returns
    -------
    data : AttributeData
        The attributes and the labels.

    References
    ----------
    M. Fink, S. Shalev-Shwartz, Y. Singer and S. Ullman (2006). Online multiclass learning by interclass
    hypothesis sharing, section 2, the second dataset.

    Examples
    --------
    >>> from linmax.problems import disjoint
    >>> attributes, labels = disjoint(1000)
    >>> ones = attributes.reshape(1000, 16, 4).min(axis=2) == 1
    >>> bool((ones.sum(axis=1) == 1).all()), bool((ones.argmax(axis=1) == labels).all())
    (True, True)
    """
    data, number_rng, label_rng = _allocate("disjoint", trials, seed)
    for rows in row_ranges(0, trials, BLOCKS * BITS):
        numbers = _draw_numbers(number_rng, rows, ONES)  # uniform without ONES, as drawing again gives
        labels = _draw_labels(label_rng, rows)
        numbers[np.arange(len(labels)), labels] = ONES
        _write(data, rows, numbers, labels)
    return data


def penguin(trials: int = 8000, *, seed: int = 0) -> AttributeData:
    """Generate a problem in which fifteen classes share their attributes and the last has its own.

    The label r is uniform. For r < 15, x_1 ... x_4 are the bits of r, and x_61 ... x_64 are drawn again while
    they are all ones. For r = 15, the penguin, x_61 = ... = x_64 = 1, and x_1 ... x_4 are uniform.

    Parameters
    ----------
    trials : int, default 8000
        The number of trials.
    seed : int, default 0
        The seed.

    Returns
    -------
    data : AttributeData
        The attributes and the labels.

    References
    ----------
    M. Fink, S. Shalev-Shwartz, Y. Singer and S. Ullman (2006). Online multiclass learning by interclass
    hypothesis sharing, section 3, the third dataset.

    Examples
    --------
    >>> from linmax.problems import penguin
    >>> attributes, labels = penguin(8000)
    >>> bool(((attributes[:, 60:].min(axis=1) == 1) == (labels == 15)).all())
    True
    >>> number = (attributes[:, :4] == 1) @ [8, 4, 2, 1]
    >>> bool((number == labels)[labels < 15].all()), round(float((number == labels)[labels == 15].mean()), 2)
    (True, 0.06)
    """
    data, number_rng, label_rng = _allocate("penguin", trials, seed)
    last_rng = number_rng.spawn(1)[0]
    for rows in row_ranges(0, trials, BLOCKS * BITS):
        numbers = _draw_numbers(number_rng, rows, ONES + 1)
        labels = _draw_labels(label_rng, rows)
        others = labels < ONES
        last = last_rng.integers(ONES, size=len(labels), dtype=np.int32)  # uniform without ONES
        numbers[:, 0] = np.where(others, labels, numbers[:, 0])
        numbers[:, -1] = np.where(others, last, ONES)
        _write(data, rows, numbers, labels)
    return data


def _allocate(problem: str, trials: int, seed: int) -> tuple[AttributeData, Generator, Generator]:
    """Check the parameters; return empty arrays and the generators of numbers and of labels."""
    check_integer(problem, "trials", trials, 0)
    check_integer(problem, "seed", seed, 0)
    number_rng, label_rng = np.random.default_rng(seed).spawn(2)
    data = AttributeData(np.empty((trials, BLOCKS * BITS)), np.empty(trials, dtype=np.int64))
    return data, number_rng, label_rng


def _draw_numbers(rng: Generator, rows: slice, below: int) -> Numbers:
    """Draw a number for each block of each row."""
    return rng.integers(below, size=(rows.stop - rows.start, BLOCKS), dtype=np.int32)


def _draw_labels(rng: Generator, rows: slice) -> Numbers:
    """Draw a class for each row."""
    labels: Numbers = rng.integers(ONES + 1, size=rows.stop - rows.start, dtype=np.int32)
    return labels


def _write(data: AttributeData, rows: slice, numbers: Numbers, labels: NDArray[Any]) -> None:
    """Write the bits of the numbers as -1 and 1."""
    bits = numbers[:, :, None] >> np.arange(BITS)[::-1] & 1
    data.attributes[rows] = (2 * bits - 1).reshape(len(numbers), -1)
    data.labels[rows] = labels
