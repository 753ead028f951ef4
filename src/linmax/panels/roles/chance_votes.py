"""Columns of doubtful votes: those that agree with the labels by chance only, and those that are not read."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from linmax.panels.roles import names
from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.column_role import ColumnRole
from linmax.panels.roles.evidence import MIN_ITEMS, SIGNIFICANT, Evidence
from linmax.panels.roles.profile import ColumnProfile
from linmax.panels.roles.wide.scores import positive_class
from linmax.streams.schema import short_list
from linmax.validation import DataWarning

MAX_CHECKED = 200
"""Columns of votes that are compared with the labels."""
PARTLY, PARTLY_NUMBERS = 0.2, 0.8
"""Columns of texts and of integers that name classes in so many cells, but too few to vote, are noted."""
MENTIONED, MIN_LETTERS, MAX_NAMED = 0.8, 3, 4
"""Texts that mention one class are noted, too, if so many do, and classes have so many letters."""
ANSWER_WORDS = "(?:the |final |my )*(?:answer|option|choice|class|label|category|verdict)"
"""What may stand before a class, however short it is, such as in "Option A" and "(A)"."""


def chance_votes(
    roles: Sequence[ColumnRole],
    label: ColumnProfile,
    classes: ClassNames,
    evidence: Evidence,
    declared: Collection[str] = (),
) -> DataWarning | None:
    """Return a note on columns that have to do with the labels no more than by chance; a grave one if all do.

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
    declared : collection of str
        Columns that the format says are experts', which are not in doubt.
    """
    voting = [one.name for one in roles if one.role == "expert"]
    if len(classes.names) < 2:  # whoever votes agrees by chance as often as anybody can
        return None
    if len(voting) > MAX_CHECKED or evidence.data is None or label.present < MIN_ITEMS:
        return None
    informed, doubtful = [], []
    for name in voting:
        if name in declared:
            informed.append(name)
            continue
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
        if (
            one.name not in declared
            and is_unnamed
            and not evidence.separates(one.name, label.name, positive, classes)
        ):
            doubtful.append(one.name)
        else:
            informed.append(one.name)
    words = {word for name in informed for word in _series_words(name)}
    dropped = [name for name in doubtful if not words & _series_words(name)]
    if doubtful and not informed:
        return DataWarning(
            "chance-votes", "grave",
            f"none of the columns that are read as votes ({short_list(doubtful)}) agrees with the labels more"
            " than by chance, so they may be attributes; name the experts with --experts if they are votes",
        )  # fmt: skip
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
    'some columns may be experts, but do not vote'
    """
    found = {}
    for one in columns:
        least = {"text": PARTLY, "free text": PARTLY, "integer": PARTLY_NUMBERS}.get(one.type, 2.0)
        share = 0.0 if one.is_constant or one.is_unique else classes.share(one.counts)
        if share >= least:
            found[one.name] = f"{share:.0%} of the values are classes"
        elif not one.is_unique and _differ_by_zeros(one, classes):
            found[one.name] = f"{short_list(one.examples, 3)} differ from classes by leading zeros"
        elif one.distinct == 2 and classes.are_other_words(one.counts):
            found[one.name] = f"{short_list(one.examples)} are other words for the classes"
        elif one.type in ("text", "free text") and not one.is_constant and _mention_classes(one, classes):
            found[one.name] = f"texts such as {one.examples[0]!r} mention classes, but are no classes"
    if not found:
        return None
    shown = "; ".join(f"{name} ({why})" for name, why in list(found.items())[:MAX_NAMED])
    return DataWarning(
        "partial-votes", "note",
        f"some columns may be experts, but do not vote: {shown}{'; ...' * (len(found) > MAX_NAMED)}; write"
        " classes alone, or name all experts with --experts",
    )  # fmt: skip


def _differ_by_zeros(one: ColumnProfile, classes: ClassNames) -> bool:
    """Whether most values of a column name a class with other zeros before it, as 1 and 01."""
    bare = {str(name).lstrip("0") for name in classes.names if str(name).isdecimal()}
    hits = sum(count for value, count in one.counts.items() if str(value).lstrip("0") in bare)
    return hits >= PARTLY_NUMBERS * max(1, sum(one.counts.values()))


def _mention_classes(one: ColumnProfile, classes: ClassNames) -> bool:
    """Whether most texts of a column are a class with other signs, or have one class among their words."""
    known = {str(name).casefold() for name in classes.names}
    some_class = "(" + "|".join(map(re.escape, sorted(known, key=len, reverse=True))) + ")"
    answer = re.compile(rf"\W*(?:(?:{ANSWER_WORDS})\b(?:\W*is\b)?)?\W*{some_class}\W*")
    mention = re.compile(rf"\b{some_class}\b")
    is_word = not any(len(name) < MIN_LETTERS or name.isdecimal() for name in known)
    some = list(one.counts.items())[:MAX_CHECKED]
    hits = sum(
        count
        for value, count in some
        if answer.fullmatch(text := str(value).casefold())
        or (is_word and len(set(mention.findall(text))) == 1)
    )
    return hits >= MENTIONED * sum(count for _, count in some)
