"""The catalogue of everything that a learner can be built from, read from the registry."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from typing import Any, NamedTuple

from linmax.experts import Source
from linmax.rules import Rule
from linmax.spec import Learner, Term, registered, show
from linmax.techniques import Committee, NaiveBayes, Regression

HIDDEN_FIELDS = ("experts",)
"""Fields that are set with ``.on(...)``."""
KINDS: dict[str, Any] = {
    "rule": Rule,
    "ensemble": (Committee, NaiveBayes, Regression),
    "technique": Learner,
    "source": Source,
}
"""The kinds of classes; the first that matches counts, because rules are learners, too."""
PRESET = "preset"


class Entry(NamedTuple):
    """An entry of the catalogue.

    Attributes
    ----------
    name : str
        The registered name.
    kind : str
        One of `KINDS`, or "preset".
    summary : str
        The first line of its docstring.
    formula : str
        The second paragraph of the docstring of a rule; otherwise empty.
    parameters : tuple of str
        The parameters with their defaults, such as "alpha=1.2".
    claims : frozenset of str
        The mathematical checks that a rule has to pass.
    """

    name: str
    kind: str
    summary: str
    formula: str
    parameters: tuple[str, ...]
    claims: frozenset[str]


def catalogue(*, own: bool = False) -> list[Entry]:
    """Return all registered rules, ensembles, techniques, sources and presets, each kind sorted by name.

    Parameters
    ----------
    own : bool, default=False
        Whether to return only what is part of linmax.

    Returns
    -------
    entries : list of Entry
        The entries.

    Examples
    --------
    >>> from linmax.report import catalogue
    >>> winnow = next(entry for entry in catalogue() if entry.name == "Winnow")
    >>> winnow.kind, winnow.parameters
    ('rule', ('alpha=1.2',))
    """
    found = []
    for name, thing in registered().items():
        if isinstance(thing, type) and issubclass(thing, Term) and (_is_own(thing) or not own):
            kind = next((kind for kind, base in KINDS.items() if issubclass(thing, base)), None)
            if kind is not None:
                found.append(_entry(name, kind, thing))
        elif getattr(thing, "is_preset", False):
            found.append(_entry(name, PRESET, thing))
    return sorted(found, key=lambda entry: ([*KINDS, PRESET].index(entry.kind), entry.name))


def options() -> tuple[str, ...]:
    """Return the options that every rule takes, with their defaults.

    Examples
    --------
    >>> from linmax.report import options
    >>> options()
    ('slack=0.0', "rivals='top'", 'ties=False')
    """
    return tuple(_parameter(field) for field in _fields(Rule))


def _is_own(thing: type) -> bool:
    """Return whether a class is defined in a module of linmax."""
    module = sys.modules.get(thing.__module__) if thing.__module__.startswith("linmax.") else None
    return getattr(module, thing.__name__, None) is thing


def _entry(name: str, kind: str, thing: Any) -> Entry:
    paragraphs = (inspect.getdoc(thing) or "").split("\n\n")
    summary, *_ = paragraphs[0].split("\n")
    if kind == PRESET:
        arguments = inspect.signature(thing).parameters.values()
        defaults = tuple(f"{argument.name}={argument.default!r}" for argument in arguments)
        return Entry(name, kind, summary, "", defaults, frozenset())
    formula = " ".join(paragraphs[1].split()) if kind == "rule" and len(paragraphs) > 1 else ""
    parameters = tuple(_parameter(field) for field in _fields(thing))
    if kind == "rule":
        parameters = tuple(parameter for parameter in parameters if parameter not in options())
    return Entry(name, kind, summary, formula, parameters, getattr(thing, "claims", frozenset()))


def _fields(thing: Any) -> list[dataclasses.Field[Any]]:
    """Return the fields of a dataclass; those that may be positional come first."""
    fields = [field for field in dataclasses.fields(thing) if field.name not in HIDDEN_FIELDS]
    return sorted(fields, key=lambda field: field.kw_only is True)


def _parameter(field: dataclasses.Field[Any]) -> str:
    if isinstance(field.default, tuple) and len(field.default) > 3:
        return f"{field.name}=({show(field.default[0])}, ..., {show(field.default[-1])})"
    if field.default is not dataclasses.MISSING:
        return f"{field.name}={show(field.default)}"
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.name}={show(field.default_factory())}"
    return field.name
