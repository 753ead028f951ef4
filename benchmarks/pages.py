"""One page of all parts whose figures are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import parts

HEAD = """\
# Benchmarks

Made by `make bench` out of the JSON files in this folder. Everything that is compared was measured in
one run, in turn. A figure is the median; least and most stand beside it or in the JSON file.

"""
MORE = """
## More

- `fuse.json`, by `make bench-fuse`: a file of ten million rows beside Vowpal Wabbit.
- `sharing.json`, by `make bench-sharing`: what hypothesis sharing and kernels cost
  ([more](../../docs/sharing.md)).
- `adapters.json`, by `make bench-adapters`: beside the ensembles of scikit-learn and River
  ([more](../../docs/adapters.md)).
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
    pages: list[str] = []
    made_on: dict[str, list[str]] = {}
    for name in parts.names():
        kept = folder / f"{stem(name, quick)}.json"
        if not kept.exists():
            continue
        results = json.loads(kept.read_text(encoding="utf-8"))
        picture = kept.with_suffix(".png")
        parts.draw(name, results, picture)
        shown = f"![{name}]({picture.name})\n\n" if picture.exists() else ""
        text = parts.module(name).page(results)
        head, newline, rest = text.partition("\n")
        pages.append(f"{head}{newline}{newline}{shown}{rest.lstrip(newline)}")
        made_on.setdefault(machine(results), []).append(name)
    page = folder / ("quick.md" if quick else "README.md")
    told = "".join(f"{', '.join(names)}: {where}.\n\n" for where, names in made_on.items())
    page.write_text(HEAD + told + "\n".join(pages) + MORE, encoding="utf-8")
    return page


def machine(results: dict[str, Any]) -> str:
    """What a part was measured on and with."""
    versions = ", ".join(f"{name} {version}" for name, version in results.get("versions", {}).items())
    return f"{results.get('machine', 'a machine that is not told')}; {versions}"
