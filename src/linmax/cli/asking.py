"""Learners as they are written on a command line."""

from __future__ import annotations

import inspect
from typing import Any

from linmax import _registry, parse
from linmax.learner import Learner


def learner_of(text: str, what: str = "learner") -> Any:
    """What a term says; one that does not fit is told how it is written.

    >>> learner_of("Averaged(Winnow(1.2))")
    Averaged(Winnow(1.2))
    >>> learner_of("Winnow(1.2, 3)")
    Traceback (most recent call last):
    ValueError: Winnow is written Winnow(alpha), and options by their names (got Winnow(1.2, 3))
    """
    try:
        made = parse(text)
    except ValueError as error:
        if "__init__()" not in str(error):
            raise
        name = str(error).partition(" ")[0]
        parameters = inspect.signature(_registry.find(name)).parameters.values()
        takes = ", ".join(one.name for one in parameters if one.kind is not one.KEYWORD_ONLY)
        raise ValueError(
            f"{name} is written {name}({takes}), and options by their names (got {text})"
        ) from None
    if not isinstance(made, Learner):
        raise ValueError(f"{text} is no {what}; write one like Winnow(1.2)")
    return made
