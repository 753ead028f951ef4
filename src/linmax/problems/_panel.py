"""What a generated problem gives: the experts' votes and the truth, as data."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Panel(NamedTuple):
    """Experts and truth as data, one row a trial; unpacks as ``votes, labels``.

    >>> import numpy as np
    >>> votes, labels = Panel(np.array([[2, 0, -1]], dtype=np.int32), np.array([2]))
    >>> votes.shape, labels.tolist()
    ((1, 3), [2])
    """

    votes: NDArray[np.int32]  # (trials, experts), -1 abstains
    labels: NDArray[np.int64]  # (trials,)
