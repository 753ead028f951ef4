"""The column of labels of a wide table, and the classes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from linmax.panels.roles import names
from linmax.panels.roles.classes import MIN_LABELS, ClassNames, ignore_case
from linmax.panels.roles.column_role import ProfiledTable
from linmax.panels.roles.evidence import Evidence
from linmax.panels.roles.profile import ColumnProfile
from linmax.panels.roles.wide.one_hot import ZERO_ONE
from linmax.streams.schema import short_list, short_repr

MIN_SHARE = 0.5
"""A column of texts votes if at least this share of its values are classes."""
MAX_INTEGERS = 20
"""With few labels, columns with more different integers say nothing about the classes."""


class LabelFinder:
    """Finds the column of labels of a wide table, or says what must be known first.

    Parameters
    ----------
    table : ProfiledTable
        The table.
    free : list of ColumnProfile
        The columns that have no role yet.
    experts : list of str or None
        The columns that the user names as experts.
    evidence : Evidence
        The rows.

    Attributes
    ----------
    label, reason : str or None
        The column, and why.
    problem : str or None
        One sentence that says what to type.
    suggestion : dict of str to str
        Options that solve the problem.
    """

    def __init__(
        self,
        table: ProfiledTable,
        free: list[ColumnProfile],
        experts: list[str] | None,
        evidence: Evidence,
    ) -> None:
        self.file, self.profiles = table.file, table.profiles
        self.options, self.hints = table.options, table.hints
        self.free, self.experts, self.evidence = free, experts, evidence
        self.declared = frozenset((*table.hints.get("experts", ()), *table.hints.get("scores", ())))
        self.file_experts = frozenset(table.hints.get("file_experts", ()))
        self.label: str | None = None
        self.reason = ""
        self.problem: str | None = None
        self.suggestion: dict[str, str] = {}

    def find(self) -> None:
        """Set the label and the reason, or the problem."""
        is_free = self.hints.get("label") in {one.name for one in self.free}
        if self.options.label == "":
            return
        if self.hints.get("problem") and not self.options.label:
            self.problem, self.suggestion = self.hints["problem"], dict(self.hints.get("suggestion", {}))
            return
        if self.options.label:
            found: tuple[str, str] | None = (self.options.label, "named by --label")
        elif is_free:
            found = (self.hints["label"], "as the format says")
        else:
            found = self._candidate()
        if found is None:
            return
        profile = self.profiles[found[0]]
        if profile.type in ("time", "free text", "empty", "number"):
            what = {"number": "numbers with decimals", "empty": "nothing", "time": "dates or times"}
            examples = f" (such as {short_list(profile.examples, 2)})" if profile.examples else ""
            self.problem = (
                f"column {short_repr(found[0])} of {self.file} holds {what.get(profile.type, profile.type)}"
                f"{examples}, which cannot be classes; name the column of labels"
                f" with --label (there is {short_list(self._possible() or self.profiles)})"
            )
            return
        self.label, self.reason = found
        if not self.options.label:
            self.reason = self.hints.get("reasons", {}).get(self.label, self.reason)

    def _candidate(self) -> tuple[str, str] | None:
        """Return the column of labels and why; None if there is none, or a problem is noted."""
        free = [one for one in self.free if one.name not in (self.experts or ()) and one.type != "empty"]
        free = [one for one in free if one.name not in self.declared]
        strong = [one for one in free if is_truth(one) and not in_series(one.name, self.profiles)]
        strong = [one for one in strong if one.name not in self.file_experts] or strong
        usable = [one for one in strong if one.is_discrete] or strong
        if len(usable) == 1:
            return usable[0].name, "its name"
        if len(usable) > 1:
            return self._choose(usable)
        classes = classes_of_scores(free)
        if classes:
            fitting = [one for one in free if one.is_discrete and set(map(str, one.counts)) <= classes]
            if len(fitting) == 1:
                return fitting[0].name, "its values are the classes of the scores"
        weak = [one for one in free if names.truth_strength(one.name) == 1 and one.is_discrete]
        weak = [one for one in weak if not one.is_constant]
        if len(weak) == 1:
            return weak[0].name, "its name, and its values are classes"
        made = [one for one in weak if not names.has_word(one.name, names.AGGREGATE_WORDS)]
        if len(made) == 1:
            return made[0].name, "its name, and its values are classes"
        if self.options.labels is None and self.options.needs_label:
            empty = [one.name for one in self.free if one.type == "empty" and is_truth(one)]
            if len(empty) == 1 and not weak:
                return empty[0], "its name"  # refused with a sentence of its own
            self._ask([one.name for one in weak] or self._possible(), unknown=True)
        return None

    def _choose(self, usable: list[ColumnProfile]) -> tuple[str, str] | None:
        """Choose among columns with names of labels, if it does not matter or only one is voted for."""
        taken = {one.name for one in usable}
        others = [one for one in self.free if one.name not in taken and one.is_discrete]
        voters = {one.name: self._voters(one, others) for one in usable}
        first = usable[0].name
        if all(self.evidence.are_one_to_one(first, one.name) for one in usable[1:]):
            best = max(voters, key=lambda name: voters[name])
            return best, "its name; " + short_list(taken - {best}) + " tells the same"
        voted = [name for name, count in voters.items() if count]
        if len(voted) == 1:
            return voted[0], "its name, and other columns vote for its classes"
        flags = all({str(value) for value in one.counts} <= ZERO_ONE for one in usable)
        if flags and not voted:
            self.problem = (
                f"{short_list([one.name for one in usable], 8)} of {self.file} have 0 and 1, but not one 1 in"
                " each row, so they are not one label; make one column of classes of them, and name it with"
                " --label"
            )
            return None
        self._ask([one.name for one in usable])
        return None

    def _voters(self, label: ColumnProfile, others: list[ColumnProfile]) -> int:
        if not label.is_discrete:
            return 0
        classes = ClassNames(label.counts, (), self.options.missing)
        return sum(classes.share(one.counts) >= MIN_SHARE for one in others)

    def _possible(self) -> list[str]:
        """Return the columns whose values could be classes, those on the right first."""
        free = [one for one in self.free if one.name != self.options.label]
        return [one.name for one in reversed(free) if one.is_discrete and not one.is_constant]

    def _ask(self, candidates: list[str], *, unknown: bool = False) -> None:
        if not candidates:
            self.problem = (
                f"{self.file} has no column whose values can be classes (it has"
                f" {short_list(self.profiles)}); check the separator, or name the column with --label"
            )
            return
        listed = ", ".join(candidates[:8]) + ", ..." * (len(candidates) > 8)
        if not unknown or any(names.truth_strength(name) for name in candidates if name not in self.declared):
            self.suggestion = {"--label": candidates[0]}
        if unknown:
            self.problem = (
                f"no column of {self.file} has the name of a label; name it with --label (its values can be"
                f" classes in {listed}), or pass --label '' if there is none"
            )
        else:
            self.problem = (
                f"{len(candidates)} columns of {self.file} could be the label: {listed}; name one with"
                " --label, and the others are ignored"
            )

    def classes(self, label: str) -> ClassNames:
        """Return the classes that a column of labels has.

        Parameters
        ----------
        label : str
            The column.
        """
        profile = self.profiles[label]
        values: list[Any] = list(profile.counts)
        negative = [value for value in values if str(value) in ("-1", "-1.0")]
        others = [str(value) for value in values if value not in negative]
        if negative and len(others) > 1 and all(re.fullmatch(r"\d+(\.0+)?", one) for one in others):
            votes = [one.name for one in self.free if one.type == "integer" and one.name != label]
            votes = [name for name in votes if {"-1", "-1.0"} & set(map(str, self.profiles[name].counts))]
            if not self.evidence.is_class_minus_one(label, votes):
                values = [value for value in values if value not in negative]  # not labelled
        if self.options.ignore_case:
            values = ignore_case(values)
        found = ClassNames(values, self.options.classes, self.options.missing)
        if profile.present < MIN_LABELS:
            found = self._with_voted(found, profile)
        if found.are_signs and self._has_signs(label):
            found.abstaining = frozenset({"0"})
        return found

    def _has_signs(self, label: str) -> bool:
        """Whether a column that may vote has the values -1 and 0, and perhaps 1, but no others."""
        least, most = {"-1", "0"}, {"-1", "0", "1"}
        columns = [one for one in self._may_vote(label) if one.type == "integer"]
        return any(
            least <= {str(value).removesuffix(".0") for value in one.counts} <= most for one in columns
        )

    def _with_voted(self, found: ClassNames, label: ColumnProfile) -> ClassNames:
        """Return the classes with what several columns say that say a class, too: few labels are known yet.

        Integers that are no label are classes only if labels are missing, or are all the same: attributes
        have small integers, too.
        """
        columns = [one for one in self._may_vote(label.name) if found.share(one.counts)]
        if not label.missing and label.distinct > 1:
            columns = [one for one in columns if one.type != "integer"]
        columns = [one for one in columns if one.type != "integer" or one.distinct <= MAX_INTEGERS]
        if found.are_integers:
            columns = [one for one in columns if one.type == "integer"]
        texts = [one for one in columns if one.type != "integer"]
        shared = Counter(str(value) for one in columns for value in one.counts)
        least = 1 if len(texts) == len(columns) == 1 else 2
        values = [value for value, count in shared.items() if count >= least]
        known = list(map(str, found.names))
        voted = _without_abstentions([*dict.fromkeys((*known, *values))], columns)
        extra = [value for value in voted if value not in known]
        if extra:
            found = ClassNames(found.names, (*self.options.classes, *extra), self.options.missing)
        if {"-1", "-1.0"} & set(values) and found.find("-1") is None:
            found.abstaining = frozenset({"-1"})
        return found

    def _may_vote(self, label: str) -> list[ColumnProfile]:
        """Return the columns that are neither ids, attributes nor truths, or that the format says vote."""
        return [
            one
            for one in self.free
            if one.is_discrete and one.name != label
            and (one.name in self.declared or self._may_be_expert(one, label))
            and (self.experts is None or one.name in self.experts)
        ]  # fmt: skip

    def _may_be_expert(self, one: ColumnProfile, label: str) -> bool:
        """Whether neither its name nor its values say that a column is not an expert's."""
        if one.is_unique or names.is_id_name(one.name):
            return False
        if one.name in self.file_experts and label not in self.file_experts:
            return True
        is_other = is_attribute(one.name, label) or is_other_truth(one, self.profiles)
        return not is_other and not says_who_is_right(one)

    def shared_classes(self) -> ClassNames:
        """Return what most columns have in common, if there is no column of labels."""
        discrete = [
            one for one in self.free
            if one.is_discrete
            and (one.name in self.declared or not (names.is_id_name(one.name) or one.is_unique))
        ]  # fmt: skip
        if self.experts is not None:
            discrete = [one for one in discrete if one.name in self.experts]
        else:
            discrete = [
                one for one in discrete
                if one.name in self.declared or not is_other_truth(one, self.profiles)
            ]  # fmt: skip
        shared: Counter[Any] = Counter(value for one in discrete for value in one.counts)
        values = [value for value, columns in shared.items() if columns > 1] or list(shared)
        voted = _without_abstentions(values, discrete)
        abstains = len(voted) < len(values)
        if self.options.ignore_case:
            voted = ignore_case(voted)
        found = ClassNames(voted, self.options.classes, self.options.missing)
        if abstains and found.find("-1") is None:
            found.abstaining = frozenset({"-1"})
        return found


def _without_abstentions(values: list[Any], columns: list[ColumnProfile]) -> list[Any]:
    """Return the values without -1 if it abstains, as in label matrices with classes from 0."""
    texts = {str(value): value for value in values}
    others = [text for text in texts if text not in ("-1", "-1.0")]
    if len(others) in (0, 1, len(texts)) or not all(re.fullmatch(r"\d+(\.0+)?", text) for text in others):
        return values
    counts: Counter[str] = Counter()
    for one in columns:
        counts.update({str(value): count for value, count in one.counts.items()})
    often = counts["-1"] + counts["-1.0"] > max(counts[text] for text in others)
    is_scale = {text.partition(".")[0] for text in others} == {"0", "1"} and not often
    return [str(value) for value in values] if is_scale else [texts[text] for text in others]


def is_truth(one: ColumnProfile) -> bool:
    """Whether the name of a column says that it holds the truth, not whether somebody was right."""
    if names.truth_strength(one.name) == 2:
        return True
    words = names.words_of(one.name)
    return words in (["correct"], ["right"]) and one.is_discrete and not _is_result(one)


def is_other_truth(one: ColumnProfile, columns: Iterable[str]) -> bool:
    """Whether a column that is not the label holds a truth, or was made from the votes.

    Parameters
    ----------
    one : ColumnProfile
        The column.
    columns : iterable of str
        All columns.
    """
    if names.has_word(one.name, names.AGGREGATE_WORDS):
        return True
    return is_truth(one) and not in_series(one.name, columns)


def is_attribute(name: str, label: str | None) -> bool:
    """Whether a column has the name of an attribute that has nothing to do with the label's name.

    Examples
    --------
    >>> is_attribute("is_vip", "truth"), is_attribute("is_spam_gpt4", "is_spam")
    (True, False)
    """
    words = set(names.words_of(name)) - names.ATTRIBUTE_STARTS
    return names.is_attribute_name(name) and not words & set(names.words_of(label or ""))


def says_who_is_right(one: ColumnProfile) -> bool:
    """Whether a column tells if somebody was right."""
    return names.says_whether_right(one.name) and not is_truth(one)


def _is_result(one: ColumnProfile) -> bool:
    return (
        one.type in ("integer", "number", "boolean")
        or {str(value).lower() for value in one.counts} <= names.RESULT_VALUES
    )


def in_series(name: str, columns: Iterable[str]) -> bool:
    """Whether a word such as human or final is in the names of several columns, and says nothing then.

    Parameters
    ----------
    name : str
        The column.
    columns : iterable of str
        All columns.

    Examples
    --------
    >>> in_series("human_1", ["human_1", "human_2"]), in_series("human", ["human", "gpt4"])
    (True, False)
    """
    words = set(names.words_of(name))
    words &= names.TRUTH_WORDS | names.PERSON_WORDS
    if not words <= names.SERIES_WORDS or "_".join(names.words_of(name)) in names.TRUTH_NAMES:
        return False
    return any(sum(word in names.words_of(other) for other in columns) > 1 for word in words)


def classes_of_scores(columns: Iterable[ColumnProfile]) -> set[str]:
    """Return the endings that several stems of columns of decimals have in common.

    Parameters
    ----------
    columns : iterable of ColumnProfile
        The columns.
    """
    endings: dict[str, set[str]] = {}
    for one in columns:
        if one.type == "number" and not one.is_constant:
            for separator in names.SEPARATORS:
                stem, found, tail = one.name.rpartition(separator)
                if found and stem and tail:
                    endings.setdefault(stem, set()).add(tail)
                    break
    groups = Counter(frozenset(tails) for tails in endings.values() if len(tails) > 1)
    return set(groups.most_common(1)[0][0]) if groups else set()
