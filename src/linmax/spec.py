"""Names for what users write themselves: a repr, a command line and a model file hold only the name."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import inspect
import keyword
import math
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

Thing = TypeVar("Thing")

RESERVED = ("inf", "nan")

_things: dict[str, Any] = {}


def register(name: str) -> Callable[[Thing], Thing]:
    """Give a rule, a link, a map or a kernel of your own a name that `repr`, `parse` and `load` understand.

    >>> import linmax
    >>> @linmax.register("cube")
    ... def cube(theta):
    ...     return theta * theta * theta
    >>> linmax.QuasiAdditive("cube")
    QuasiAdditive('cube')
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED:
        raise ValueError(f"a registered name is a Python identifier that means nothing yet (got {name!r})")

    def keep(thing: Thing) -> Thing:
        if not (isinstance(thing, type) or inspect.isfunction(thing)):
            raise ValueError(f"only a class or a function can be registered as {name!r} (got {thing!r})")
        other = _things.get(name)
        if other is not None and _home(other) != _home(thing):
            raise ValueError(
                f"{name!r} is registered already, by {'.'.join(_home(other))}; choose another name"
            )
        _things[name] = thing
        return thing

    return keep


def _home(thing: Any) -> tuple[str, str]:
    return thing.__module__, thing.__qualname__


def registered() -> dict[str, Any]:
    """Everything that has a name, by name."""
    return dict(_things)


def find(name: str) -> Any:
    """The thing of that name, or None."""
    return _things.get(name)


def name_of(thing: Any) -> str | None:
    """The name a thing is registered under, or None."""
    return next((name for name, other in _things.items() if other is thing), None)


Function = TypeVar("Function", bound=Callable[..., Any])

LONGEST = 20_000  # characters of a term that `parse` looks at


class UnknownNameError(ValueError):
    """A term uses a name that is not registered."""


class Term:
    """A frozen dataclass that prints as the call that makes it: options only when they differ.

    A class of linmax's own is registered by being defined; a user's by `@linmax.register(name)`.
    """

    def __init_subclass__(cls, abstract: bool = False, **options: Any) -> None:
        """Register what is linmax's own and has a public name."""
        super().__init_subclass__(**options)
        if cls.__module__.startswith("linmax.") and not (abstract or cls.__name__.startswith("_")):
            register(cls.__name__)(cls)

    def __post_init__(self) -> None:
        """Numbers of numpy become Python's own, so that a term prints as it parses."""
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, np.generic):
                object.__setattr__(self, field.name, value.item())

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


def show(value: Any) -> str:
    """A value inside a term, as text."""
    if callable(value) and not isinstance(value, type):
        name = name_of(value)
        return repr(name) if name else "<unregistered>"
    if type(value) is tuple:
        return f"({', '.join(map(show, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def parse(text: str) -> Any:
    """The learner or source that a `repr` describes.

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
    if len(text) > LONGEST:
        raise ValueError(f"a learner is written in at most {LONGEST} characters (got {len(text)})")
    if "<unregistered" in text:
        raise ValueError(f"{text} uses something unregistered; give it a name with @linmax.register")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _value(tree.body)
    except (SyntaxError, RecursionError, MemoryError, UnicodeError):
        raise ValueError(f"{_short(text)} is not a learner; write it like Averaged(Winnow(1.2))") from None


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
        case ast.Dict(keys=keys, values=values) if all(key is not None for key in keys):
            return {_value(key): _value(value) for key, value in zip(keys, values, strict=True) if key}
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _add(_value(left), _value(right))
        case ast.Call(func=ast.Attribute(value=learner, attr="on"), args=[source], keywords=[]):
            made = _value(learner)
            if not hasattr(made, "on"):
                raise ValueError(f"{made!r} is not a learner, so it has no .on(...)")
            return made.on(_value(source))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=options):
            named = {option.arg: _value(option.value) for option in options}
            if len(named) < len(options):
                raise ValueError(f"{name} is given a parameter twice in {_short(ast.unparse(node))}")
            return _call(name, [_value(one) for one in arguments], named)
        case ast.Name(id=name) if find(name) is not None:
            raise ValueError(f"{name} needs its brackets: write {name}()")
    raise ValueError(
        f"{_short(ast.unparse(node))} does not belong in a learner; write it like Averaged(Winnow(1.2))"
    )


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, Term) and isinstance(right, Term):
        try:
            return left + right  # type: ignore[operator]
        except TypeError:
            pass
    raise ValueError(f"only sources of experts add up (got {_short(repr(left))} + {_short(repr(right))})")


def _call(name: str, arguments: list[Any], options: dict[str | None, Any]) -> Any:
    thing = find(name)
    if not _makes(thing):
        names = [other for other, it in registered().items() if _makes(it)]
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
        hint = f"did you mean {near[0]!r}?" if near else "is the import that registers it missing?"
        raise UnknownNameError(f"there is no {name!r}; {hint}")
    known = list(inspect.signature(thing).parameters)
    for option in options:
        if option not in known:
            near = difflib.get_close_matches(str(option), known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{name} has no parameter {option!r}{hint}")
    try:
        return thing(*arguments, **{str(key): value for key, value in options.items()})
    except TypeError as error:
        raise ValueError(f"{name} cannot be made so: {error}") from None


def _makes(thing: Any) -> bool:
    return (isinstance(thing, type) and issubclass(thing, Term)) or getattr(thing, "ready_made", False)


def ready_made(function: Function) -> Function:
    """Let `parse` understand a function that makes a learner, or several."""
    function.ready_made = True  # type: ignore[attr-defined]
    return register(function.__name__)(function)


def short(thing: Any) -> str:
    """Something as text of at most a line."""
    return _short(repr(thing))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


UNLIMITED = 2**62  # updates of a recycled instance where there is no limit


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
        How many updates a kept instance may cause; 0 without recycling.
    """

    averages: bool = False
    buffer: int = 0
    updates: int = 0


class Learner(Term, abstract=True):
    """A rule, or a technique around a learner."""

    ensemble: ClassVar[bool] = False  # does it predict with more than one run of a rule, or with none?

    def run_options(self) -> RunOptions:
        """What this learner asks of the run of its rule."""
        return RunOptions()

    def predictor(self, runner: Any) -> Any:
        """The object that predicts for this learner while `runner` runs it."""
        return runner.rule_predictor(self)

    def on(self, source: Any) -> Self:
        """The same learner on another source of sub-experts.

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
        """The rule inside all techniques."""
        learner: Any = self
        while hasattr(learner, "inner"):
            learner = learner.inner
        return learner
