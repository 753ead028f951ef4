"""What fixed weights could have done, had all labels been known: nobody can be asked to do as well."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linmax.evaluate.progress import plurality
from linmax.fusion import Fusion
from linmax.rules.perceptron import Perceptron
from linmax.techniques import Averaged

PASSES = 20
VOTES = 1 << 22  # that are gone over in all passes: more of them tell little more


def in_hindsight(said: NDArray[np.int32], truth: NDArray[np.int32], classes: int) -> tuple[int, int]:
    """How many of the last trials fixed weights have wrong that were fitted to these very labels.

    The weights are those that do best of three: the mean of all that the Perceptron has in many passes, equal
    ones (the plurality), and all for one (the best expert). They predict the same trials.

    >>> said = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 5, np.int32)
    >>> in_hindsight(said, said[:, 1], classes=2)
    (20, 0)
    """
    some = max(1, VOTES // (PASSES * max(said.shape[1], 1)))
    said, truth = said[-some:], truth[-some:]
    fusion = Fusion(Averaged(Perceptron(start="equal")), classes=range(classes))
    fusion.learn(said, truth, passes=PASSES)
    wrong = [(fusion.predict(said) != truth).sum(), (plurality(said, classes) != truth).sum()]
    return len(truth), int(min(*wrong, *(said != truth[:, None]).sum(axis=0)))
