"""Learners and sources as values: their registry, their text (`repr`), and `parse`, which reads it back."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import functools
import inspect
import keyword
import math
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar, overload

import numpy as np

Thing = TypeVar("Thing")
Function = TypeVar("Function", bound=Callable[..., Any])

RESERVED = ("inf", "nan")
MAX_LENGTH = 1_000_000  # characters that `parse` reads
MAX_PRESET_LENGTH = 20_000  # with presets, each of which may make 62 learners; `repr` writes none
UNLIMITED = 2**62  # updates of a recycled instance where there is no limit

_registry: dict[str, Any] = {}
_names: dict[Any, str] = {}


# --- the registry


@overload
def register(name: str) -> Callable[[Thing], Thing]: ...
@overload
def register(name: Thing) -> Thing: ...
def register(name: Any) -> Any:
    """Register a rule, link, map or kernel of your own under a name that `repr`, `parse` and `load` know.

    Parameters
    ----------
    name
        The name, a Python identifier. Used as a plain decorator, ``@register``, the class or function is
        registered under its own name.

    Examples
    --------
    >>> import linmax
    >>> @linmax.register
    ... def cube(theta):
    ...     return theta * theta * theta
    >>> linmax.QuasiAdditive("cube")
    QuasiAdditive('cube')
    >>> @linmax.register("fifth_power")
    ... def power(theta):
    ...     return theta**5
    >>> linmax.parse("QuasiAdditive('fifth_power')")
    QuasiAdditive('fifth_power')
    """
    if isinstance(name, type) or inspect.isfunction(name):
        return register(name.__name__)(name)
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED:
        raise ValueError(f"a registered name must be a Python identifier that is not reserved (got {name!r})")

    def add(thing: Thing) -> Thing:
        if not (isinstance(thing, type) or inspect.isfunction(thing)):
            raise ValueError(f"only a class or a function can be registered as {name!r} (got {thing!r})")
        other = _registry.get(name)
        if other is not None and _origin(other) != _origin(thing):
            raise ValueError(
                f"{name!r} is registered already, by {'.'.join(_origin(other))}; choose another name"
            )
        _registry[name] = thing
        _names.setdefault(thing, name)
        return thing

    return add


def _origin(thing: Any) -> tuple[str, str]:
    return thing.__module__, thing.__qualname__


def registered() -> dict[str, Any]:
    """Return everything that is registered, by name."""
    return dict(_registry)


def restore_registry(things: dict[str, Any]) -> None:
    """Make the registry what `registered` has returned earlier."""
    _registry.clear()
    _registry.update(things)
    _names.clear()
    for name, thing in things.items():
        _names.setdefault(thing, name)


def find(name: str) -> Any:
    """Return what is registered under a name, or None."""
    return _registry.get(name)


def name_of(thing: Any) -> str | None:
    """Return the name under which something is registered, or None."""
    return _names.get(thing)


# --- values


class UnknownNameError(ValueError):
    """The text of a learner uses a name that is not registered."""


class Term:
    """A frozen dataclass whose `repr` is the call that makes it; options are shown where they differ.

    A class of linmax's own is registered when it is defined, a user's by `linmax.register`.
    """

    once_positional: ClassVar[tuple[str, ...]] = ()  # options without a name in texts of earlier versions

    def __init_subclass__(cls, abstract: bool = False, **options: Any) -> None:
        """Register what is linmax's own and has a public name."""
        super().__init_subclass__(**options)
        if cls.__module__.startswith("linmax.") and not (abstract or cls.__name__.startswith("_")):
            register(cls.__name__)(cls)
        if "__hash__" not in vars(cls):  # otherwise the dataclass would generate one, without the cache
            cls.__hash__ = Term.__hash__  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        """Turn numbers of numpy into Python's own, so that a term prints as it parses."""
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, np.generic):
                object.__setattr__(self, field.name, value.item())

    def __hash__(self) -> int:
        """Return the hash of the fields, computed once: nested learners are looked up often."""
        found: int | None = self.__dict__.get("_hash")
        if found is None:
            fields = dataclasses.fields(self)  # type: ignore[arg-type]
            found = hash((type(self), *(getattr(self, one.name) for one in fields if one.compare)))
            object.__setattr__(self, "_hash", found)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the hash, which differs between processes."""
        return {name: value for name, value in vars(self).items() if name != "_hash"}

    @classmethod
    def _name(cls) -> str:
        return name_of(cls) or f"<unregistered {cls.__qualname__}>"

    def __repr__(self) -> str:
        positional, options = [], []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if not field.kw_only:
                positional.append(show(value))
            elif field.repr and value != field.default:
                options.append(f"{field.name}={show(value)}")
        return f"{self._name()}({', '.join(positional + options)})"


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """What a learner asks of the run of its rule.

    Parameters
    ----------
    averages
        Whether predictions are made with the mean of all hypotheses.
    buffer
        How many of the latest instances are kept for recycling.
    updates
        How many updates a buffered instance may cause; 0 without recycling.
    """

    averages: bool = False
    buffer: int = 0
    updates: int = 0


class Learner(Term, abstract=True):
    """A rule, a technique around a learner, or an ensemble of learners."""

    ensemble: ClassVar[bool] = False  # does it predict with anything but one run of one rule?

    def run_options(self) -> RunOptions:
        """Return what this learner asks of the run of its rule."""
        return RunOptions()

    def predictor(self, runner: Any) -> Any:
        """Return the object that predicts for this learner while `runner` runs it."""
        return runner.rule_predictor(self)

    def on(self, source: Any) -> Self:
        """Return the same learner on another source of sub-experts.

        A technique passes the source on to the learner inside, an ensemble to all its members; a learner that
        reads the experts' votes directly, such as `NaiveBayes`, stays as it is.

        Parameters
        ----------
        source
            A source of `linmax.experts`, or a sum of them.

        Examples
        --------
        >>> from linmax import Averaged, Perceptron
        >>> from linmax.experts import PerClass, Votes
        >>> Averaged(Perceptron()).on(Votes() + PerClass())
        Averaged(Perceptron().on(Votes() + PerClass()))
        """
        inner = getattr(self, "inner", None)
        if inner is not None:
            return dataclasses.replace(self, inner=inner.on(source))  # type: ignore[type-var]
        return dataclasses.replace(self, experts=source)  # type: ignore[type-var]

    @property
    def rule(self) -> Any:
        """The rule inside all techniques; an ensemble has none."""
        learner: Any = self
        while hasattr(learner, "inner"):
            learner = learner.inner
        return learner if learner is self else learner.rule


def check_source(owner: str, source: Any) -> None:
    """Raise a ValueError unless `.on(...)` was given a source, or None for the default."""
    if source is not None and not (isinstance(source, Term) and hasattr(source, "parts")):
        raise ValueError(
            f"{owner} requires a source in .on(...), such as Votes() + PerClass() (got {short(source)})"
        )


def show(value: Any) -> str:
    """Return the text of a value inside a term."""
    if callable(value) and not isinstance(value, type):
        name = name_of(value)
        return repr(name) if name else "<unregistered>"
    if type(value) is tuple:
        return f"({', '.join(map(show, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def short(thing: Any) -> str:
    """Return the text of something in at most 60 characters."""
    return _shortened(repr(thing))


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def preset(function: Function) -> Function:
    """Let `parse` call a function that makes a learner, or several.

    Parameters
    ----------
    function
        The function; it is registered under its own name.
    """
    function.is_preset = True  # type: ignore[attr-defined]
    return register(function.__name__)(function)


# --- parsing


def parse(text: str) -> Any:
    """Return the learner or source that a text describes; the text is never executed.

    Parameters
    ----------
    text
        What `repr` has printed, or the same written by hand.

    Returns
    -------
    Learner or Source

    Examples
    --------
    >>> import linmax
    >>> linmax.parse("Averaged(Recycled(Winnow(1.2), size=50))")
    Averaged(Recycled(Winnow(1.2), size=50))
    >>> linmax.parse("Perceptron().on(Votes() + PerClass())")
    Perceptron().on(Votes() + PerClass())
    >>> linmax.parse("Averaged(Winow(1.2))")
    Traceback (most recent call last):
    ...
    linmax.spec.UnknownNameError: there is no 'Winow'; did you mean 'Winnow'?
    """
    if not isinstance(text, str):
        raise ValueError(f"a learner is written as text (got {text!r})")
    if not text.strip():
        raise ValueError("an empty text is not a learner; write it like Averaged(Winnow(1.2))")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the text of a learner has at most {MAX_LENGTH:,} characters (got {len(text):,})")
    if "<unregistered" in text:
        raise ValueError(f"{short(text)} has an unregistered part; give it a name with @linmax.register")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        if len(text) > MAX_PRESET_LENGTH and any(map(_is_preset, ast.walk(tree))):
            raise ValueError(
                f"a text with presets has at most {MAX_PRESET_LENGTH:,} characters (got {len(text):,})"
            )
        return _value(tree.body)
    except (SyntaxError, RecursionError, MemoryError, UnicodeError):
        raise ValueError(
            f"{_shortened(text)} is not a learner; write it like Averaged(Winnow(1.2))"
        ) from None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Name(id="inf"):
            return math.inf
        case ast.List(elts=items):
            return [_value(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item) for item in items)
        case ast.Dict(keys=keys, values=values) if all(isinstance(key, ast.Constant) for key in keys):
            return {_value(key): _value(value) for key, value in zip(keys, values, strict=True) if key}
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _add(_value(left), _value(right))
        case ast.Call(func=ast.Attribute(value=learner, attr="on"), args=arguments, keywords=options):
            made = _value(learner)
            if not isinstance(made, Learner):
                raise ValueError(f"{short(made)} is not a learner, so it has no .on(...)")
            if len(arguments) != 1 or options:
                raise ValueError(
                    f".on(...) takes one source, such as Votes() + PerClass() (got {_unparsed(node)})"
                )
            return made.on(_value(arguments[0]))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=options):
            named = {option.arg: _value(option.value) for option in options if option.arg}
            if len(named) < sum(option.arg is not None for option in options):
                raise ValueError(f"{name} is given a parameter twice in {_unparsed(node)}")
            if len(named) < len(options):
                raise ValueError(f"** does not belong in a learner (got {_unparsed(node)}); write name=value")
            return _call(name, [_value(one) for one in arguments], named)
        case ast.Name(id=name) if find(name) is not None:
            raise ValueError(f"{name} needs its brackets: write {name}()")
        case ast.Name(id=name) if name not in RESERVED:
            raise _unknown(name)
    raise ValueError(f"{_unparsed(node)} does not belong in a learner; write it like Averaged(Winnow(1.2))")


def _unparsed(node: ast.AST) -> str:
    return _shortened(ast.unparse(node))


def _is_preset(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and getattr(find(node.id), "is_preset", False)


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, Term) and isinstance(right, Term):
        try:
            return left + right  # type: ignore[operator]
        except TypeError:
            pass
    raise ValueError(f"only sources of experts can be added (got {short(left)} + {short(right)})")


def _call(name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
    thing = find(name)
    if not _is_callable(thing):
        raise _unknown(name)
    positional, required, names = _parameters(thing)
    for option in options:
        if option not in names:
            near = difflib.get_close_matches(option, names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{name} has no parameter {option!r}{hint}")
    by_position = (*positional, *getattr(thing, "once_positional", ()))
    if len(arguments) > len(by_position):
        takes = f"only {' and '.join(positional)}" if positional else "no parameter"
        others = [one for one in names if one not in (*positional, "experts")]  # experts are set with .on
        hint = f"; name the others: {', '.join(others)}" if others else ""
        raise ValueError(f"{name} takes {takes} by position (got {len(arguments)}){hint}")
    for parameter, value in zip(by_position, arguments, strict=False):
        if parameter in options:
            raise ValueError(f"{name} is given {parameter} twice, by position and by name")
        options[parameter] = value
    for parameter in required:
        if parameter not in options:
            raise ValueError(f"{name} requires {parameter}; write {name}({parameter}, ...)")
    try:
        return thing(**options)
    except TypeError as error:
        raise ValueError(f"{name} rejects its parameters: {error}") from None


@functools.cache
def _parameters(thing: Any) -> tuple[list[str], list[str], list[str]]:
    """Return the names of the positional parameters, of those without a default, and of all."""
    found = inspect.signature(thing).parameters.values()
    positional = [one.name for one in found if one.kind is not one.KEYWORD_ONLY]
    return positional, [one.name for one in found if one.default is one.empty], [one.name for one in found]


def _unknown(name: str) -> UnknownNameError:
    """Return the error for a name that is not registered; it suggests the nearest one that is."""
    names = {other.lower(): other for other, thing in _registry.items() if _is_callable(thing)}
    near = difflib.get_close_matches(name[:100].lower(), names, n=1, cutoff=0.7)
    hint = f"did you mean {names[near[0]]!r}?" if near else "`linmax learners` lists all registered names"
    return UnknownNameError(f"there is no {short(name)}; {hint}")


def _is_callable(thing: Any) -> bool:
    return (isinstance(thing, type) and issubclass(thing, Term)) or getattr(thing, "is_preset", False)
