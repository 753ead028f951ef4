"""Every public class and function has a numpydoc docstring that documents all of its parameters."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

MODULES = [
    "linmax",
    "linmax.experts",
    "linmax.rules",
    "linmax.problems",
    "linmax.streams",
    "linmax.evaluate",
    "linmax.report",
    "linmax.bounds",
    "linmax.checks",
    "linmax.svm",
    "linmax.adapters.sklearn",
    "linmax.adapters.river",
    "linmax.client",
    "linmax.evaluate.without_labels",
    "linmax.panels",
    "linmax.scale",
    "linmax.service.local",
]
CLASSES = [
    "linmax.Fusion",
    "linmax.client.Client",
    "linmax.scale.KeyedModels",
    "linmax.service.local.LocalServer",
]
"""Classes whose methods are checked, too."""
HEADER = re.compile(r"^(?P<title>[A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)


def public_names(module: Any) -> list[str]:
    """The names in `__all__` or `__dir__`; without these, what the module itself defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    if "__dir__" in vars(module):
        return dir(module)
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]


def documented() -> Iterator[tuple[str, Any]]:
    """Every public class and function once, and the public methods of some classes, also inherited ones."""
    seen: set[int] = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in public_names(module):
            thing = getattr(module, name)
            if (
                callable(thing)
                and hasattr(thing, "__module__")
                and not _is_alias(thing)
                and id(thing) not in seen
            ):
                seen.add(id(thing))
                yield f"{module_name}.{name}", thing
    for path in CLASSES:
        module_name, _, class_name = path.rpartition(".")
        cls = getattr(importlib.import_module(module_name), class_name)
        for name, method in inspect.getmembers(cls, inspect.isroutine):
            if not name.startswith("_") and method.__module__.startswith("linmax."):
                yield f"{path}.{name}", method


def _is_alias(thing: Any) -> bool:
    """Whether this is a type alias, which has no docstring of its own."""
    return not (inspect.isclass(thing) or inspect.isroutine(thing) or hasattr(thing, "__wrapped__"))


def sections(doc: str) -> dict[str, str]:
    """The text of each section of a numpydoc docstring, by its title."""
    parts = HEADER.split(inspect.cleandoc(doc))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def documented_names(section: str) -> set[str]:
    """The names in a section of parameters: `x : int`, `x, y : int` or `*args : Any`."""
    names: set[str] = set()
    for line in section.splitlines():
        if line and not line.startswith(" "):
            names |= {name.strip().lstrip("*") for name in line.partition(" : ")[0].split(",")}
    return names


def fields(thing: Any) -> set[str] | None:
    """The public fields of a dataclass or NamedTuple; None for anything else."""
    if dataclasses.is_dataclass(thing):
        names = [field.name for field in dataclasses.fields(thing) if field.init]
    elif inspect.isclass(thing) and hasattr(thing, "_fields"):
        names = list(thing._fields)
    else:
        return None
    return {name for name in names if not name.startswith("_")}


def parameters(thing: Any) -> set[str]:
    """The public parameters of a function, or those of the `__init__` of a class."""
    if inspect.isclass(thing):
        inherited = not any(
            "__init__" in vars(base) for base in thing.__mro__ if base.__module__ != "builtins"
        )
        if inherited or inspect.isabstract(thing):
            return set()
    names = inspect.signature(thing).parameters
    return {name for name in names if name not in ("self", "cls") and not name.startswith("_")}


@pytest.mark.parametrize("thing", [pytest.param(thing, id=name) for name, thing in documented()])
def test_a_public_thing_has_a_numpydoc_docstring(thing: Any) -> None:
    doc = inspect.getdoc(thing) if not inspect.isclass(thing) else vars(thing).get("__doc__")
    assert doc, "it has no docstring"
    doc = inspect.cleandoc(doc)
    summary, _, rest = doc.partition("\n")
    assert summary.endswith("."), f"the summary line does not end with a period: {summary!r}"
    assert not rest or rest.startswith("\n"), f"the summary is longer than one line: {summary!r}"
    found = sections(doc)
    documented_here = documented_names(found.get("Parameters", ""))
    if fields(thing) is not None:  # a result that linmax returns lists its fields as attributes
        documented_here |= documented_names(found.get("Attributes", ""))
    wanted = fields(thing)
    missing = (parameters(thing) if wanted is None else wanted) - documented_here
    assert not missing, f"the Parameters section lacks {', '.join(sorted(missing))}"


def test_the_parser_reads_the_names_of_parameters() -> None:
    doc = """Summary.

    Parameters
    ----------
    x, y : int
        Two numbers.
    *rest : Any
        Others.

    Returns
    -------
    z : int
        Their sum.
    """
    found = sections(doc)
    assert list(found) == ["Parameters", "Returns"]
    assert documented_names(found["Parameters"]) == {"x", "y", "rest"}
