"""Columns of a wide table with a number per expert and class, or with the probability of one class."""

from __future__ import annotations

import math
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from linmax.panels.roles import names
from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.column_role import ColumnRole
from linmax.panels.roles.evidence import Evidence
from linmax.panels.roles.profile import ColumnProfile
from linmax.streams.schema import StreamError, short_list, short_repr
from linmax.validation import DataWarning

Split = tuple[str, str]
MAX_SPOILED = 0.1
"""The largest share of cells of a column of numbers that are none."""
MAX_STRAY = 0.01
"""The largest share of numbers out of range in a column of probabilities or confidences from 0 to 1."""
ROUNDING = 1e-6
"""How far a probability may be above 1."""
PER_CENT = re.compile(r"\d+(\.\d+)?\s*%")
LARGEST = sys.float_info.max


def find_scores(free: list[ColumnProfile], classes: ClassNames, evidence: Evidence) -> list[ColumnRole]:
    """Return the columns that are named after an expert and a class, and hold numbers.

    Integers are scores if an expert has a column for every class, and they are not classes themselves.

    Parameters
    ----------
    free : list of ColumnProfile
        The columns that may hold scores.
    classes : ClassNames
        The classes.
    evidence : Evidence
        The rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from linmax.panels.roles.profile import profile_column
    >>> data = pa.table({"gpt4_ham": [0.1, 0.8], "gpt4_spam": [0.9, 0.2], "price": [1.5, 2.5]})
    >>> profiles = [profile_column(name, data[name]) for name in data.column_names]
    >>> for role in find_scores(profiles, ClassNames(["ham", "spam"]), Evidence(data)):
    ...     print(role.name, role.expert, role.label)
    gpt4_ham gpt4 ham
    gpt4_spam gpt4 spam
    """
    numbers = {one.name: one for one in free if one.type in ("number", "integer") and not one.is_constant}
    by_name = {str(name).lower(): str(name) for name in classes.names}
    if not by_name:
        return []
    split = {name: names.split_class(name, by_name) for name in numbers}
    found: dict[str, Split] = {name: part for name, part in split.items() if part is not None}
    twice = {part for part, count in Counter(found.values()).items() if count > 1}
    found = {
        name: (names.split_at_class(name, by_name) or part) if part in twice else part
        for name, part in found.items()
    }
    by_expert: dict[str, list[str]] = {}
    for name, (expert, _) in found.items():
        by_expert.setdefault(expert, []).append(name)
    roles = []
    for columns in by_expert.values():
        own = [numbers[name] for name in columns]
        if _are_scores(own, found, by_name, list(numbers), evidence):
            roles += [
                ColumnRole(one.name, "score", "a number per class", *found[one.name])
                for one in own
                if len(own) > 1 or one.type == "number"
            ]
    return roles or _one_expert(numbers, by_name, evidence)


def _are_scores(
    own: list[ColumnProfile],
    found: dict[str, Split],
    by_name: dict[str, str],
    every: list[str],
    evidence: Evidence,
) -> bool:
    """Whether the columns of one expert hold scores, not votes of experts that are numbered like classes."""
    decimals = any(one.type == "number" for one in own)
    complete = len(own) == len(by_name)
    if complete and all(set(names.words_of(found[one.name][0])) <= names.COUNT_WORDS for one in own):
        return len(own) > 1  # votes_0 and votes_1
    if all(re.fullmatch(r"-?\d+", name) for name in by_name):
        stems = {re.sub(r"\d+$", "", one.name) for one in own}
        if any(re.sub(r"\d+$", "", name) in stems and name not in found for name in every):
            return False  # model_0, model_1 and model_2 with classes 0 and 1
        if len(own) > 1:
            return evidence.sum_is_constant([one.name for one in own]) or (decimals and len(by_name) > 2)
        return decimals
    return decimals or (complete and len(own) > 1)


def _one_expert(
    numbers: dict[str, ColumnProfile], by_name: dict[str, str], evidence: Evidence
) -> list[ColumnRole]:
    """Return columns that are named after the classes alone: the scores of one expert."""
    own = {name: by_name[name.lower()] for name in numbers if name.lower() in by_name}
    if len(own) < max(len(by_name), 2):
        return []
    if all(re.fullmatch(r"-?\d+", name) for name in own) and not evidence.sum_is_constant(list(own)):
        return []
    return [ColumnRole(name, "score", "a number per class", "scores", label) for name, label in own.items()]


def are_counts(columns: list[ColumnProfile]) -> bool:
    """Whether columns of scores count the votes of several experts for each class."""
    whole = all(one.type == "integer" and one.low is not None and one.low >= 0.0 for one in columns)
    return len(columns) > 1 and whole and max(one.high or 0.0 for one in columns) > 1.0


def positive_class(classes: ClassNames) -> Any:
    """Return the class that a probability speaks of if its name has none, such as 1 or yes."""
    return next((one for one in map(classes.find, names.POSITIVE) if one is not None), None)


def find_probabilities(free: list[ColumnProfile], classes: ClassNames) -> list[ColumnRole]:
    """Return the columns with a probability of the positive one of two classes, such as 1 or yes.

    Their numbers are from 0 to 1. Unless their name says that they are probabilities, some are below 0.5 and
    some above.

    Parameters
    ----------
    free : list of ColumnProfile
        The columns that may hold probabilities.
    classes : ClassNames
        The classes.
    """
    positive = positive_class(classes)
    if len(classes.names) != 2 or positive is None:
        return []
    roles = []
    for one in free:
        if one.type != "number" or one.low is None or one.high is None:
            continue
        if one.low < 0.0 or one.high > 1.0 + ROUNDING:
            continue
        stem = names.split_suffix(one.name, names.CONFIDENCE_WORDS)
        if stem is not None or one.low < 0.5 < one.high:
            expert, reason = stem[0] if stem else one.name, f"a probability of class {positive}"
            roles.append(ColumnRole(one.name, "score", reason, expert, str(positive), is_probability=True))
    return roles


def spoiled_by(one: ColumnProfile, low: float = -LARGEST, high: float = LARGEST) -> str | None:
    """Return the cell that keeps a column from being numbers in a range, if nearly all of its cells are.

    Parameters
    ----------
    one : ColumnProfile
        The column.
    low, high : float
        The range.

    Examples
    --------
    >>> spoiled_by(ColumnProfile("p_gpt4", "text", 100, 0, 3, {"0.7": 60, "0.1": 39, "error": 1}))
    "'error'"
    """
    if _share(one, low, high) < 1.0 - MAX_SPOILED:
        return None
    for value in one.counts:
        if not low <= number_of(value) <= high:
            return repr(value)
    if one.low is None or one.high is None:  # it is not among the most frequent values
        return None if one.type in ("integer", "number", "empty") else "a cell that is no number"
    return repr(one.high) if one.high > high else repr(one.low) if one.low < low else None


def _share(one: ColumnProfile, low: float, high: float) -> float:
    """Return the share of the cells of a column, or of the most frequent, that are numbers in a range."""
    inside = sum(count for value, count in one.counts.items() if low <= number_of(value) <= high)
    return inside / max(1, sum(one.counts.values()))


def _is_stray(one: ColumnProfile, largest: float) -> bool:
    """Whether the few cells that spoil a column are errors: no numbers, or hardly any out of range."""
    return one.low is None or _share(one, 0.0, largest + ROUNDING) >= 1.0 - MAX_STRAY


def number_of(value: Any) -> float:
    """Return the number that a cell is, NaN if it is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def find_confidences(
    free: list[ColumnProfile], expert_of: Callable[[str], str | None]
) -> tuple[list[ColumnRole], list[DataWarning]]:
    """Return the columns that say how sure an expert is, from 0 to 1 or in per cent, and what is in doubt.

    Parameters
    ----------
    free : list of ColumnProfile
        The columns that have no role.
    expert_of : callable
        Returns the expert whose confidences a column has by its name, None if there is none.
    """
    roles, warnings = [], []
    for one in free:
        expert = expert_of(one.name)
        if expert is None or one.type == "empty":
            continue
        nearly_all = _share(one, 0.0, 1.0 + ROUNDING) >= 1.0 - MAX_STRAY
        largest = 1.0 if nearly_all and _share(one, ROUNDING, 1.0 - ROUNDING) > 0.5 else 100.0
        cell = spoiled_by(one, 0.0, largest + ROUNDING)
        is_number = one.type in ("number", "integer") and one.low is not None and one.high is not None
        if cell is None and is_number and (one.low or 0.0) >= 0.0 and (one.high or 0.0) <= 100.0:
            role = ColumnRole(one.name, "confidence", f"goes with {expert}", expert)
            roles.append(role._replace(is_per_cent=is_per_cent(one)))
            continue
        warnings.append(
            DataWarning(
                "missing-scores", "grave" if cell and _is_stray(one, largest) else "note",
                f"{short_repr(one.name)} is not read as how sure {short_repr(expert)} is, because it has"
                f" {cell or short_list(map(repr, one.examples), 2)}; write numbers from 0 to"
                f" {largest:g}, or pass --ignore {shlex.quote(one.name)}",
            )
        )  # fmt: skip
    return roles, warnings


def is_per_cent(one: ColumnProfile) -> bool | None:
    """Return whether the confidences in a column are from 0 to 100, not from 0 to 1; None if all are 0.

    Parameters
    ----------
    one : ColumnProfile
        The column.
    """
    return one.high > 1.0 + ROUNDING if one.high else None


def other_scale(one: ColumnRole, high: float | None, file: str) -> StreamError:
    """Return the error of confidences in a file that have another scale than those that were learned.

    Parameters
    ----------
    one : ColumnRole
        The column, with the scale that was learned.
    high : float or None
        The largest number in the file, if it is known.
    file : str
        The file.
    """
    most = "other numbers" if high is None else f"numbers up to {high:.9g}"
    learned, fix = (100, "multiply them by 100") if one.is_per_cent else (1, "divide them by 100")
    return StreamError(
        f"{file}: {short_repr(one.name)} has {most}, and the model learned from confidences from 0 to"
        f" {learned} there; {fix}"
    )


def spoiled_probabilities(
    free: list[ColumnProfile], classes: ClassNames, roles: Iterable[ColumnRole]
) -> Iterator[DataWarning]:
    """Warn about columns that are no probabilities because of a few cells only, or of the sign of per cent.

    Parameters
    ----------
    free : list of ColumnProfile
        The columns that have no role.
    classes : ClassNames
        The classes.
    roles : iterable of ColumnRole
        The other columns. If none of them is a probability, the warning is a note, and the name of a column
        must say that it is one: it may be an attribute, such as ``rain_prob``.
    """
    by_class = {str(name).lower(): str(name) for name in classes.names}
    free = list(free)
    for one in free:
        shares = [float(str(value).rstrip(" %")) for value in one.counts if PER_CENT.fullmatch(str(value))]
        split = names.split_class(one.name, by_class) or names.split_suffix(one.name, names.CONFIDENCE_WORDS)
        if 2 * len(shares) > len(one.counts) and (split or min(shares) < 50.0 < max(shares) <= 100.0):
            yield DataWarning(
                "missing-scores", "note",
                f"{short_repr(one.name)} has percentages such as {one.examples[0]!r}, which are not read;"
                " write numbers from 0 to 1 if these are probabilities or scores, or pass --ignore"
                f" {shlex.quote(one.name)}",
            )  # fmt: skip
    if len(classes.names) != 2 or positive_class(classes) is None:
        return
    others = any(one.is_probability for one in roles)
    for one in free:
        named = names.split_suffix(one.name, names.CONFIDENCE_WORDS) is not None
        cell = spoiled_by(one, 0.0, 1.0 + ROUNDING) if named or others else None
        inside = [x for x in map(number_of, one.counts) if 0.0 <= x <= 1.0]
        if cell is None or not (min(inside) < 0.5 < max(inside) and any(x % 1.0 for x in inside)):
            continue
        is_stray = _is_stray(one, 1.0)
        if not (is_stray or others):
            continue
        yield DataWarning(
            "missing-scores", "grave" if is_stray and others else "note",
            f"{short_repr(one.name)} is not read as probabilities, because it has {cell}; correct the cell,"
            f" or pass --ignore {shlex.quote(one.name)} if these are none",
        )  # fmt: skip
