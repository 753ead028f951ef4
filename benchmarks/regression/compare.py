"""Compare figures with the baseline: which changed, and by more than the tolerance?"""

from __future__ import annotations

from typing import Any, NamedTuple

Figures = dict[str, Any]

EXACT, CODE, RATIO = "exact", "code", "ratio"
TOLERANCE = {EXACT: 0.02, CODE: 0.05, RATIO: 0.15}  # relative change of a figure
NOT_COMPARABLE = {
    EXACT: "another Python or numpy",
    CODE: "another machine, Python or numba",
    RATIO: "another machine or numba",
}
DEPENDS_ON = {EXACT: ("python", "numpy"), CODE: ("python", "numba", "machine"), RATIO: ("numba", "machine")}


class Change(NamedTuple):
    """A figure in the baseline and now.

    Parameters
    ----------
    name : str
        The name of the figure.
    old, now : float or None
        Its values; None if it is missing.
    status : str
        "more", "less", "gone", "new", why it cannot be compared, or an empty text.
    """

    name: str
    old: float | None
    now: float | None
    status: str

    @property
    def wrong(self) -> bool:
        """Whether the change is beyond the tolerance."""
        return self.status in ("more", "less", "gone", "new")


def changes(old: Figures, now: Figures) -> list[Change]:
    """Compare every figure of the baseline or of now."""
    found = []
    for name in dict.fromkeys([*old["figures"], *now["figures"]]):
        before, after = (figures["figures"].get(name) for figures in (old, now))
        kind = (after or before)["kind"]
        values = [None if one is None else float(one["value"]) for one in (before, after)]
        found.append(Change(name, *values, status(*values, kind, old, now)))
    return found


def status(before: float | None, after: float | None, kind: str, old: Figures, now: Figures) -> str:
    """Return how a figure changed; some cannot be compared after a change of machine or versions."""
    if before is None or after is None:
        return "new" if before is None else "gone"
    if any(old["with"].get(name) != now["with"].get(name) for name in DEPENDS_ON[kind]):
        return NOT_COMPARABLE[kind]
    if abs(after - before) <= TOLERANCE[kind] * abs(before):
        return ""
    return "more" if after > before else "less"
