"""The layout of the source: sizes of files and folders, and names that are used once."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import linmax

HOME = Path(linmax.__file__).parent
MOST_LINES = 420
MOST_FILES = 12
ALIKE = {"FusionClassifier", "LinearMaxClassifier"}
"""Classes that the adapters of scikit-learn and River both have, on purpose."""


def source_files() -> list[Path]:
    """All files of the package."""
    return sorted(HOME.rglob("*.py"))


def public_classes() -> Iterator[tuple[str, Path]]:
    """The name and the file of every class that does not begin with an underscore."""
    for path in source_files():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, path


def test_no_file_is_too_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in source_files()}
    assert {str(path): length for path, length in lengths.items() if length > MOST_LINES} == {}


def test_no_folder_has_too_many_files() -> None:
    files = defaultdict(set)
    for path in source_files():
        if path.name != "__init__.py":
            files[path.parent].add(path.name)
    assert {str(folder): len(names) for folder, names in files.items() if len(names) > MOST_FILES} == {}


def test_two_classes_never_share_a_name() -> None:
    homes = defaultdict(list)
    for name, path in public_classes():
        homes[name].append(path.relative_to(HOME).as_posix())
    assert {name: paths for name, paths in homes.items() if len(paths) > 1 and name not in ALIKE} == {}
