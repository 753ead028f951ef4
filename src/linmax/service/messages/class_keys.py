"""Classes as keys of JSON objects: keys are text, and classes may be numbers or truth values.

One rule holds for scores in requests and probabilities in answers: the key of a class is its JSON text, so
the class 7 has the key "7", and true the key "true". The key of a text is the text itself. Which class a key
of scores means depends on the kind of the classes that the fusion knows; before it knows any, of the label,
or of the votes of other experts on the item that are classes. If nothing tells the kind, a prediction is the
key, which `is_class` compares with the label that comes later.
"""

from __future__ import annotations

import re
from typing import Any

from linmax.fusion import Fusion

WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,19}")
TRUTH = {"true": True, "false": False}


def class_key(label: Any) -> str:
    """Return the key of a class.

    Parameters
    ----------
    label
        The class.

    Examples
    --------
    >>> class_key("spam"), class_key(7), class_key(True)
    ('spam', '7', 'true')
    """
    if isinstance(label, bool):
        return "true" if label else "false"
    return str(label)


def class_of(key: str, kind: type) -> Any:
    """Return the class that a key means, if classes are of a kind; a key that means none stays text.

    Parameters
    ----------
    key
        The key.
    kind
        str, int or bool.

    Examples
    --------
    >>> class_of("7", int), class_of("true", bool), class_of("7", str)
    (7, True, '7')
    >>> class_of("7.0", int), class_of("07", int)
    (7, '07')
    """
    if kind is int and WHOLE_NUMBER.fullmatch(key.removesuffix(".0")):
        number = int(key.removesuffix(".0"))
        return number if class_fault(number) is None else key
    return TRUTH.get(key, key) if kind is bool else key


def class_fault(name: Any) -> str | None:
    """Return a sentence about a class that cannot be stored: a number of more than 64 bits.

    Parameters
    ----------
    name
        The class.

    Examples
    --------
    >>> class_fault(2**64 - 1), class_fault("1" * 30)
    (None, None)
    >>> class_fault(2**64)
    'the class 18446744073709551616 has more than 64 bits; use smaller numbers, or text'
    """
    if not isinstance(name, int) or -(2**63) <= name < 2**64:
        return None
    return f"the class {str(name)[:100]} has more than 64 bits; use smaller numbers, or text"


def is_class(prediction: Any, label: Any) -> bool:
    """Tell whether a prediction is the class of a label, also if it was made before the kind was known.

    Parameters
    ----------
    prediction
        The prediction, or the key of one.
    label
        The label.

    Examples
    --------
    >>> is_class(7, 7), is_class("7", 7), is_class("true", True), is_class("7", "8"), is_class(1, True)
    (True, True, True, False, False)
    """
    if type(prediction) is str:
        return bool(prediction == (label if type(label) is str else class_key(label)))
    return type(prediction) is type(label) and bool(prediction == label)


def typed_votes(fusion: Fusion, votes: dict[str, Any] | None, label: Any = None) -> dict[str, Any] | None:
    """Return votes in which the keys of scores are classes.

    Parameters
    ----------
    fusion
        The session that reads them.
    votes
        The votes.
    label
        Their label, if it is known: its kind counts if the session knows no class, and else that of the votes
        that are classes.

    Examples
    --------
    >>> typed_votes(Fusion(classes=[1, 2]), {"ann": {"1": 0.9, "2": 0.1}, "bob": 2})
    {'ann': {1: 0.9, 2: 0.1}, 'bob': 2}
    >>> typed_votes(Fusion(), {"ann": {"true": 0.9}}, False)
    {'ann': {True: 0.9}}
    >>> typed_votes(Fusion(), {"ann": {"1": 0.9}, "bob": 2})
    {'ann': {1: 0.9}, 'bob': 2}
    """
    if votes is None:
        return None
    names = fusion.names.classes.names
    known = names[0] if names else label
    if known is None:
        known = next((vote for vote in votes.values() if type(vote) in (str, int, bool)), None)
    kind = type(known)
    if kind not in (int, bool):
        return votes
    return {
        expert: {class_of(key, kind): score for key, score in vote.items()} if type(vote) is dict else vote
        for expert, vote in votes.items()
    }


def same_label(one: Any, other: Any) -> bool:
    """Return whether two labels are the same; 1 and true are not."""
    return bool(one == other) and type(one) is type(other)
