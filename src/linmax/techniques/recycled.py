"""Recycled: use the last instances again after every move."""

from dataclasses import dataclass, field

from linmax.learner import Learner
from linmax.techniques.base import Technique


@dataclass(frozen=True, repr=False)
class Recycled(Technique):
    """After a mistake pass over the latest instances and learn from those that are guessed wrong.

    An instance serves for at most `updates` updates, its own trial included; passes end when one moves
    nothing. Mesterharm & Hsu 2008, section VI (R-B). `updates=1` keeps the bound against an adversary;
    `updates=None` is for data without noise.

    >>> from linmax import Fusion, Perceptron, Recycled
    >>> from linmax.problems import majority
    >>> votes, labels = majority(1000, noise=0.0)
    >>> [Fusion(B).learn(votes, labels).mistakes for B in (Perceptron(), Recycled(Perceptron()))]
    [166, 78]
    """

    inner: Learner
    size: int = field(default=100, kw_only=True)  # instances kept
    updates: int | None = field(default=5, kw_only=True)  # per instance; None: no limit

    def __post_init__(self) -> None:
        """Refuse an empty buffer or no updates."""
        super().__post_init__()
        if not _whole(self.size) or not 1 <= self.size <= 1_000_000:
            raise ValueError(f"Recycled needs 1 <= size <= 1000000 (got {self.size!r}); 100 is usual")
        if self.updates is not None and (not _whole(self.updates) or self.updates < 1):
            raise ValueError(f"Recycled needs updates >= 1 or None (got {self.updates!r}); 5 is usual")


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
