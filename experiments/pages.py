"""What is left of an experiment: its figures as JSON, a page of Markdown, and the picture as PNG and SVG."""

from __future__ import annotations

import io
import json
import os
import platform
import re
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from experiments.interface import Experiment, Figures, Table, Verdict
from linmax import __version__
from linmax._files import write_atomic

RESULTS = Path(__file__).parent / "results"
LIBRARIES = ("numpy", "numba", "scipy", "scikit-learn")


def write_all(experiment: Experiment, figures: Figures, facts: dict[str, Any], folder: Path) -> list[Path]:
    """Write the files of an experiment; each wholly or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    base = folder / experiment.name
    whole = {"experiment": experiment.name, "title": experiment.title, **facts, "figures": figures}
    made = {base.with_suffix(".json"): as_json(whole).encode()}
    made[base.with_suffix(".md")] = page(
        experiment, figures, facts, drawn=experiment.draw is not None
    ).encode()
    made |= {base.with_suffix(suffix): content for suffix, content in pictures(experiment, figures).items()}
    for path, content in made.items():
        write_atomic(path, content)
    return list(made)


def made_again(experiment: Experiment, folder: Path = RESULTS) -> dict[Path, bytes]:
    """The page and the pictures as the kept figures would have them now."""
    kept = read(experiment, folder)
    if kept is None:
        return {}
    base, drawn = folder / experiment.name, experiment.draw is not None
    made = {base.with_suffix(".md"): page(experiment, kept["figures"], kept, drawn=drawn).encode()}
    return made | {base.with_suffix(kind): one for kind, one in pictures(experiment, kept["figures"]).items()}


def as_json(whole: dict[str, Any]) -> str:
    """Indented, with lists of numbers on one line.

    >>> print(as_json({"seeds": [0, 1], "curve": {"points": [1.5, None]}}), end="")
    {
     "seeds": [0, 1],
     "curve": {
      "points": [1.5, null]
     }
    }
    """
    text = json.dumps(whole, indent=1, allow_nan=False, ensure_ascii=False)
    return (
        re.sub(
            r"\[[^\[\]{}\"]*\]",
            lambda one: re.sub(r"\s+", " ", one[0]).replace("[ ", "[").replace(" ]", "]"),
            text,
        )
        + "\n"
    )


def read(experiment: Experiment, folder: Path = RESULTS) -> dict[str, Any] | None:
    """The kept results of an experiment; None when there are none."""
    path = folder / f"{experiment.name}.json"
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and "figures" in kept else None


def facts(runs: int, quick: bool, seconds: float) -> dict[str, Any]:
    """How the figures came about: enough to make them again, and to know what they cost."""
    return {
        "runs": runs,
        "seeds": list(range(runs)),
        "quick": quick,
        "seconds": round(seconds, 1),  # of all cells together, on one core
        "versions": {"linmax": __version__, "python": platform.python_version()}
        | {name: version(name) for name in LIBRARIES},
        "machine": {
            "system": platform.system(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
        },
    }


def page(experiment: Experiment, figures: Figures, facts: dict[str, Any], *, drawn: bool) -> str:
    """The results as Markdown."""
    count = "1 run" if facts["runs"] == 1 else f"{facts['runs']} runs"
    kind = "a quick look, not the whole; " if facts["quick"] else ""
    parts = [f"# {experiment.title}\n\nMade by `linmax reproduce {experiment.name}`: {kind}{count}.\n"]
    if experiment.fitted:
        parts.append(f"\nFitted: {experiment.fitted}\n")
    if drawn:
        parts.append(f"\n![{experiment.title}]({experiment.name}.png)\n")
    verdicts = experiment.judge(figures)
    for table in (summary(verdicts), *experiment.tables(figures)):
        parts.append(f"\n## {table.title}\n\n{markdown(table.head, table.lines)}")
        parts.append(f"\n{table.note}\n" if table.note else "")
    return "".join(parts)


def summary(verdicts: Iterable[Verdict]) -> Table:
    """The claims with what became of them."""
    head = ["claim", "where", "paper", "linmax", "verdict", "why"]
    lines = [[v.claim, v.source, v.paper, v.found, v.judgement, v.why] for v in verdicts]
    return Table("what the paper claims", head, lines)


def markdown(head: list[str], lines: Iterable[list[str]]) -> str:
    """A table of Markdown.

    >>> print(markdown(["who", "|z|"], [["ann", "1"]]), end="")
    | who | \\|z\\| |
    | --- | --- |
    | ann | 1 |
    """
    rows = [[cell.replace("|", "\\|") for cell in line] for line in (head, *lines)]
    rows.insert(1, ["---"] * len(head))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def pictures(experiment: Experiment, figures: Figures) -> dict[str, bytes]:
    """The picture as PNG and SVG, by suffix; the same figures give the same bytes."""
    if experiment.draw is None:
        return {}
    from matplotlib import rc_context  # takes a while to import
    from matplotlib.figure import Figure

    made = {}
    with rc_context({"svg.hashsalt": experiment.name, "svg.fonttype": "none"}):
        picture = Figure(figsize=experiment.size, dpi=120, layout="constrained")
        experiment.draw(figures, picture)
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            content = io.BytesIO()
            picture.savefig(content, format=kind, metadata=metadata)
            made[f".{kind}"] = content.getvalue()
    return made
