"""Names of weights, owners and values, as a reader of a table takes them in."""

from __future__ import annotations

from typing import Any

LONGEST = 48  # letters of a name in a table


def readable(key: Any) -> str:
    """The name of a weight, or of whom it belongs to.

    >>> readable("ann"), readable(("ann", "spam")), readable(("ann", "spam", "ham"))
    ('ann', 'ann: spam', 'ann: spam -> ham')
    >>> readable("threshold"), readable(("threshold", "spam")), readable(("attribute", "size", "ham"))
    ('(thresholds)', 'threshold of spam', 'size for ham')
    >>> readable(("pair", ("day", "mon"), ("who", "ann"))), readable(("attribute", ("day", "mon")))
    ('day=mon & who=ann', 'day=mon')
    >>> readable(None), readable(7)
    ('(none)', '7')
    """
    match key:
        case None:
            return "(none)"
        case "threshold":
            return "(thresholds)"
        case ("threshold", label):
            return f"threshold of {readable(label)}"
        case ("pair", one, other):
            return f"{_value(one)} & {_value(other)}"
        case ("attribute", name):
            return _value(name)
        case ("attribute", name, label):
            return f"{_value(name)} for {readable(label)}"
        case (first, *rest) if isinstance(key, tuple):
            return f"{readable(first)}: {' -> '.join(map(readable, rest))}"
    return str(key)


def brief(value: Any, most: int = LONGEST) -> str:
    """Any value in a few letters, all of them printable.

    >>> brief({"spam": 0.7, "ham": 0.25}), brief(None), brief(True), brief(0.123456789)
    ('spam 0.7, ham 0.25', '', 'True', '0.1235')
    >>> brief("two\\nlines"), len(brief("x" * 99))
    ('two\\\\nlines', 48)
    """
    if value is None:
        return ""
    if isinstance(value, dict):
        text = ", ".join(f"{brief(name)} {brief(part)}" for name, part in list(value.items())[:most])
    elif isinstance(value, float):
        text = number(value)
    else:
        text = str(value)[: most + 1]
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= most else text[: most - 3] + "..."


def number(value: float) -> str:
    """A number in four digits.

    >>> number(0.5), number(-1234567.0), number(0.0)
    ('0.5', '-1.235e+06', '0')
    """
    return f"{value:.4g}"


def _value(name: Any) -> str:
    if isinstance(name, tuple) and len(name) == 2:
        return f"{name[0]}={name[1]}"
    return readable(name)
