"""What there is to build a learner from, found in the registry: nothing is listed by hand."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from typing import Any, NamedTuple

from linmax import spec as _registry
from linmax.experts import Source
from linmax.rules import Rule
from linmax.spec import Learner, Term, show
from linmax.techniques import Committee, NaiveBayes

HIDDEN = ("experts",)  # set with .on(...)
KINDS: dict[str, Any] = {  # the first that fits: a rule is a learner, too
    "rule": Rule,
    "committee": (Committee, NaiveBayes),
    "technique": Learner,
    "source": Source,
}
READY = "ready made"


class Entry(NamedTuple):
    """One thing a learner can be built from."""

    name: str
    kind: str  # one of KINDS
    summary: str  # the first line of its docstring
    formula: str  # the second paragraph of a rule's
    parameters: tuple[str, ...]  # such as "alpha=1.2"
    claims: frozenset[str]  # the mathematical checks that a rule is put through


def catalogue(*, own: bool = False) -> list[Entry]:
    """Rules, committees, techniques, sources and what is ready made, each kind by name.

    With `own=True` only what linmax brings along.

    >>> from linmax.report import catalogue
    >>> winnow = next(entry for entry in catalogue() if entry.name == "Winnow")
    >>> winnow.kind, winnow.parameters, winnow.formula
    ('rule', ('alpha=1.2',), 'theta += z; w = alpha ** theta / (sum over those who have spoken)')
    """
    found = []
    for name, thing in _registry.registered().items():
        if isinstance(thing, type) and issubclass(thing, Term) and (_is_own(thing) or not own):
            kind = next((kind for kind, base in KINDS.items() if issubclass(thing, base)), None)
            if kind is not None:
                found.append(_entry(name, kind, thing))
        elif getattr(thing, "ready_made", False):
            found.append(_entry(name, READY, thing))
    return sorted(found, key=lambda entry: ([*KINDS, READY].index(entry.kind), entry.name))


def options() -> tuple[str, ...]:
    """The options that every rule takes.

    >>> from linmax.report import options
    >>> options()
    ('slack=0.0', "rivals='top'", 'ties=False')
    """
    return tuple(_parameter(field) for field in _fields(Rule))


def _is_own(thing: type) -> bool:
    home = sys.modules.get(thing.__module__) if thing.__module__.startswith("linmax.") else None
    return getattr(home, thing.__name__, None) is thing


def _entry(name: str, kind: str, thing: Any) -> Entry:
    paragraphs = (inspect.getdoc(thing) or "").split("\n\n")
    summary, *_ = paragraphs[0].split("\n")
    formula = " ".join(paragraphs[1].split()) if kind == "rule" and len(paragraphs) > 1 else ""
    if kind == READY:
        given = inspect.signature(thing).parameters.values()
        return Entry(name, kind, summary, "", tuple(f"{it.name}={it.default!r}" for it in given), frozenset())
    parameters = tuple(_parameter(field) for field in _fields(thing))
    if kind == "rule":
        parameters = tuple(parameter for parameter in parameters if parameter not in options())
    return Entry(name, kind, summary, formula, parameters, getattr(thing, "claims", frozenset()))


def _fields(thing: Any) -> list[dataclasses.Field[Any]]:
    """In the order in which they are written: what may be given without its name comes first."""
    fields = [field for field in dataclasses.fields(thing) if field.name not in HIDDEN]
    return sorted(fields, key=lambda field: field.kw_only is True)


def _parameter(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"{field.name}={show(field.default)}"
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.name}={show(field.default_factory())}"
    return field.name
