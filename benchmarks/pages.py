"""One page of all parts whose figures are there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import fuse, parts

RESULTS = Path(__file__).with_name("results")
HEAD = """\
# Benchmarks

Made by `make bench` out of the JSON files in this folder; it takes some 18 minutes, less when guesses of
peers are kept from before, and `make bench ARGS=--quick` one. All that is timed is timed in turn, in one
run on a machine that does nothing else. A figure is the median; least and most stand beside it or in the
JSON file. Real data are read from `../shared/data`, or from where `--data` says; without them only generated
problems are run. The JSON files also say with which versions they were made.

"""
MORE = """
## More

- `sharing.json`, by `make bench-sharing`: what hypothesis sharing and kernels cost
  ([more](../../docs/sharing.md)).
- `adapters.json`, by `make bench-adapters`: beside the ensembles of scikit-learn and River
  ([more](../../docs/adapters.md)).
- `guard.json`, by `make bench-guard`: what can be counted, and ratios to plain C, kept to see what moves.
"""


def stem(name: str, quick: bool) -> str:
    """What the files of a part are called."""
    return f"{name}-quick" if quick else name


def keep(name: str, results: dict[str, Any], folder: Path, quick: bool) -> None:
    """Write what a part has measured; the file appears when it is whole."""
    target = folder / f"{stem(name, quick)}.json"
    unfinished = target.with_suffix(".part")
    unfinished.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(target)


def build(folder: Path, quick: bool) -> Path:
    """Draw and write all parts that are there."""
    for name, results in kept(folder, quick):
        parts.draw(name, results, folder / f"{stem(name, quick)}.png")
    page = folder / ("quick.md" if quick else "README.md")
    page.write_text(text(folder, quick), encoding="utf-8")
    return page


def kept(folder: Path, quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parts that are there, and what they have measured."""
    for name in parts.names():
        file = folder / f"{stem(name, quick)}.json"
        if file.exists():
            yield name, json.loads(file.read_text(encoding="utf-8"))


def text(folder: Path, quick: bool) -> str:
    """The page."""
    pages: list[str] = []
    made_on: dict[str, list[str]] = {}
    for name, results in kept(folder, quick):
        picture = folder / f"{stem(name, quick)}.png"
        shown = f"![All figures of {name}, drawn]({picture.name})\n\n" if picture.exists() else ""
        head, newline, rest = parts.module(name).page(results).partition("\n")
        pages.append(f"{head}{newline}{newline}{shown}{rest.lstrip(newline)}")
        made_on.setdefault(machine(results), []).append(name)
    told = "".join(f"{', '.join(names)}: {where}.\n\n" for where, names in made_on.items())
    large = folder / "fuse.json"
    if large.exists() and not quick:
        pages.append(fuse.page(json.loads(large.read_text(encoding="utf-8"))))
    return HEAD + told + "\n".join(pages) + MORE


def machine(results: dict[str, Any]) -> str:
    """What a part was measured on and with."""
    versions = ", ".join(f"{name} {version}" for name, version in results.get("versions", {}).items())
    return f"{results.get('machine', 'a machine that is not told')}; {versions}"


if __name__ == "__main__":
    build(RESULTS, quick=False)
