"""Columns of doubtful votes: those that agree with the labels by chance only, and those that are not read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from linmax.panels.roles import names
from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.column_role import ColumnRole
from linmax.panels.roles.evidence import MIN_ITEMS, SIGNIFICANT, Evidence
from linmax.panels.roles.profile import ColumnProfile
from linmax.panels.roles.wide_scores import positive_class
from linmax.streams.schema import short_list
from linmax.validation import DataWarning

MAX_CHECKED = 200
"""Columns of votes that are compared with the labels."""
PARTLY, PARTLY_NUMBERS = 0.2, 0.8
"""Columns of texts and of integers that name classes in so many cells, but too few to vote, are noted."""


def chance_votes(
    roles: Sequence[ColumnRole], label: ColumnProfile, classes: ClassNames, evidence: Evidence
) -> DataWarning | None:
    """Return a note on columns that have to do with the labels no more than by chance, while others do.

    A column that names other classes than the label, but always the same ones, has much to do with it. All
    of them vote: to choose experts by labels that are still to be predicted would be cheating.

    Parameters
    ----------
    roles : sequence of ColumnRole
        The roles that are known.
    label : ColumnProfile
        The column of labels.
    classes : ClassNames
        The classes.
    evidence : Evidence
        The rows.
    """
    voting = [one.name for one in roles if one.role == "expert"]
    if len(voting) > MAX_CHECKED or evidence.data is None or label.present < MIN_ITEMS:
        return None
    informed, doubtful = [], []
    for name in voting:
        deviations, items = evidence.agreement(name, label.name, classes)
        if max(abs(deviations), evidence.association(name, label.name, classes)) >= SIGNIFICANT:
            informed.append(name)
        elif items >= MIN_ITEMS:
            doubtful.append(name)
    for one in roles:
        if one.role != "score":
            continue
        is_unnamed = one.expert == one.name  # a probability without a word that says so
        positive = positive_class(classes)
        if is_unnamed and not evidence.separates(one.name, label.name, positive, classes):
            doubtful.append(one.name)
        else:
            informed.append(one.name)
    words = {word for name in informed for word in _series_words(name)}
    dropped = [name for name in doubtful if not words & _series_words(name)]
    if not informed or not dropped:
        return None
    return DataWarning(
        "chance-votes", "note",
        f"{short_list(dropped)}: the values are read as votes, but agree with the labels no more than by"
        " chance; pass --ignore if these are no experts",
    )  # fmt: skip


def _series_words(name: str) -> set[str]:
    """Return what the names of a series have in common: the first and the last word, without numbers."""
    words = [re.sub(r"\d+$", "", word) for word in names.words_of(name)]
    if len(words) < 2:
        return set(words) - {name.lower(), ""}
    return {words[0], words[-1]} - {""}


def partial_votes(columns: Sequence[ColumnProfile], classes: ClassNames) -> DataWarning | None:
    """Return a note on columns that do not vote although many of their values are classes.

    Parameters
    ----------
    columns : sequence of ColumnProfile
        Columns that do not vote, and that may be those of experts.
    classes : ClassNames
        The classes.

    Examples
    --------
    >>> unsure = ColumnProfile("gpt4", "text", 100, 0, 3, {"maybe": 60, "ham": 30, "spam": 10})
    >>> partial_votes([unsure], ClassNames(["ham", "spam"])).text.partition(":")[0]
    'gpt4 (40%)'
    """
    found = {}
    for one in columns:
        least = {"text": PARTLY, "free text": PARTLY, "integer": PARTLY_NUMBERS}.get(one.type, 2.0)
        share = 0.0 if one.is_constant or one.is_unique else classes.share(one.counts)
        if share >= least:
            found[one.name] = share
    if not found:
        return None
    shown = short_list([f"{name} ({share:.0%})" for name, share in found.items()])
    return DataWarning(
        "partial-votes", "note",
        f"{shown}: some values are classes, but too few for a column of votes, so it does not vote; name all"
        " experts with --experts if it is one",
    )  # fmt: skip
