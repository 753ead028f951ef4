"""Names for what users write themselves: a repr, a command line and a model file hold only the name."""

import inspect
import keyword
from collections.abc import Callable
from typing import Any, TypeVar

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
