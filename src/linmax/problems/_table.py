"""What a generated problem without experts gives: attributes and the truth, as data."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Table(NamedTuple):
    """Attributes and truth as data, one row a trial; unpacks as ``attributes, labels``.

    >>> import numpy as np
    >>> attributes, labels = Table(np.array([[1.0, -1.0, -1.0]]), np.array([2]))
    >>> attributes.shape, labels.tolist()
    ((1, 3), [2])
    """

    attributes: NDArray[np.float64]  # (trials, attributes)
    labels: NDArray[np.int64]  # (trials,)
