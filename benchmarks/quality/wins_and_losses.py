"""Counts and lists of wins and losses."""

from __future__ import annotations

from collections import Counter

from benchmarks.quality.batch_baseline import BATCH
from benchmarks.quality.compare import Row
from benchmarks.quality.linmax_methods import LINMAX
from benchmarks.quality.tables import mean_mistakes

VERDICTS = ("ahead", "level", "behind", "one order only")


def counts(rows: list[Row], kinds: dict[str, str]) -> str:
    """Return how often linmax is ahead of the best peer, level with it, and behind."""
    lines = []
    for kind, name in [("", "all problems"), *kinds.items()]:
        found = [row for row in rows if kind in ("", row["kind"])]
        if not found:
            continue
        lines.append(f"- {name}: {_counted(found, 'best peer')}; {_filed(found)}; ")
        mixed = [row for row in found if "mixture" in row]
        if mixed:
            lines[-1] += f"the mixture on attributes {_counted(mixed, 'mixture')}; "
        lines[-1] += f"with hindsight on both sides {_counted(found, 'best of both')}.\n"
    return "".join(lines)


def _counted(rows: list[Row], key: str) -> str:
    found = Counter(row[key]["verdict"] for row in rows)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict])


def _filed(rows: list[Row]) -> str:
    """Return the counts for the order of the file, where one mistake decides."""
    found = [row["best peer"]["filed"]["mean"] for row in rows if "filed" in row["best peer"]]
    if not found:
        return "no file order"
    signs = Counter("ahead" if one > 0 else "behind" if one < 0 else "equal" for one in found)
    said = ", ".join(f"{signs[sign]} {sign}" for sign in ("ahead", "equal", "behind") if signs[sign])
    return f"in file order {said}"


def losses(rows: list[Row]) -> str:
    """List the problems on which a peer makes fewer mistakes than linmax's default."""
    lines = []
    for row in rows:
        found = row["best peer"]
        if found["mean"] < 0:
            error = "" if found["standard_error"] is None else f" ± {100 * found['standard_error']:.2f}"
            points = f"{-100 * found['mean']:.2f}{error}"
            lines.append(f"- {row['name']}: {found['best']} by {points} points over random orders")
            lines[-1] += f" ({found['verdict']}).\n"
        filed = found.get("filed")
        if filed and filed["mean"] < 0:
            points = f"{-100 * filed['mean']:.2f}"
            lines.append(f"- {row['name']}: {filed['best']} by {points} points in file order.\n")
    return "".join(lines) or "None.\n"


def late_losses(rows: list[Row]) -> str:
    """List the peers with fewer mistakes than linmax's default in the second half of a pass."""
    lines = []
    for row in rows:
        ours, late = mean_mistakes(row["late"][LINMAX]), row["late"]
        known = {name: mean_mistakes(of) for name, of in late.items() if name.startswith(("VW", "River"))}
        best = min(known, key=lambda name: known[name]) if known else None
        if best and known[best] < ours:
            lines.append(f"- {row['name']}: {best}, {known[best]:.1f} mistakes against {ours:.1f}.\n")
    return "".join(lines) or "None.\n"


def plurality_better(rows: list[Row]) -> str:
    """List the problems on which the plurality makes fewer mistakes than linmax's default."""
    names = [
        row["name"]
        for row in rows
        if "plurality" in row["mistakes"]
        and mean_mistakes(row["mistakes"]["plurality"]) < mean_mistakes(row["mistakes"][LINMAX])
    ]
    return "; ".join(names) or "none"


def batch_better(rows: list[Row]) -> str:
    """List the problems where scikit-learn makes fewer mistakes in the second half."""
    names = []
    for row in rows:
        late = {name: mean_mistakes(row["late"][name]) for name in (LINMAX, BATCH[row["form"]])}
        if late[BATCH[row["form"]]] < late[LINMAX]:
            names.append(row["name"])
    return "; ".join(names) or "none"
