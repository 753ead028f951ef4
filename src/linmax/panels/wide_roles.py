"""The roles of the columns of a wide table, one row per item, inferred from names and contents."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from linmax.panels import names
from linmax.panels.classes import ClassNames
from linmax.panels.profile import ColumnProfile
from linmax.panels.reading import ColumnRole, PanelOptions, Reading, check_roles_once, select_columns
from linmax.streams.schema import StreamError, short_list, short_repr
from linmax.validation import DataWarning

MIN_SHARE = 0.5
"""A column of texts votes if at least this share of its values are classes."""
MIN_NUMBER_SHARE = 0.95
"""The same for a column with many different integers: attributes have small integers, too."""
MANY_SAME = 0.5
"""An id that occurs twice is a repetition if at least this share of the ids is unique."""


class WideRoles:
    """Infers the roles of the columns of a wide table.

    Parameters
    ----------
    file : str
        Name of the file, for messages.
    profiles : list of ColumnProfile
        The columns.
    options : PanelOptions
        What the user says.
    hints : dict
        Roles that the format fixes: "label", "id".
    """

    def __init__(
        self, file: str, profiles: list[ColumnProfile], options: PanelOptions, hints: dict[str, Any]
    ) -> None:
        self.file, self.options, self.hints = file, options, hints
        self.profiles = {profile.name: profile for profile in profiles}
        self.roles: dict[str, ColumnRole] = {}
        self.warnings: list[DataWarning] = []
        self.problem: str | None = None
        self.suggestion: dict[str, str] = {}
        columns = list(self.profiles)
        self.experts = None if options.experts is None else select_columns(options.experts, columns, file)
        self.label: str | None = None
        self.classes = ClassNames([], options.classes, options.missing)

    def infer(self) -> Reading:
        """Return the roles of all columns, or what must be known first."""
        self._assign_named()
        self._find_label()
        if self.problem is None:
            self._find_scores()
            self._find_votes()
            self._find_confidences()
            self._find_id()
            self._explain_others()
            self._check_votes()
        self._explain_others()
        roles = [self.roles[name] for name in self.profiles]
        return Reading("wide", roles, self.warnings, self.problem, self.suggestion)

    # --- what the user says

    def _assign_named(self) -> None:
        options, columns = self.options, list(self.profiles)
        named = {
            "--label": [options.label] if options.label else [],
            "--id": [options.id] if options.id else [],
            "--attributes": select_columns(options.attributes, columns, self.file),
            "--ignore": select_columns(options.ignore, columns, self.file),
            "--experts": self.experts or [],
        }
        for name in (*named["--label"], *named["--id"]):
            select_columns(
                [re.sub(r"([*?[])", r"[\1]", name)] if name not in columns else [name], columns, self.file
            )
        taken = {*named["--label"], *named["--id"], *named["--experts"]}
        named["--attributes"] = [
            name for name in named["--attributes"] if name not in taken or name in options.attributes
        ]
        check_roles_once(named, self.file)
        for option, role in (("--id", "id"), ("--attributes", "attribute"), ("--ignore", "ignored")):
            for name in named[option]:
                self._set(name, role, f"named by {option}")

    def _set(self, name: str, role: str, reason: str, expert: str | None = None, label: Any = None) -> None:
        self.roles[name] = ColumnRole(name, role, reason, expert, label)

    def _free(self) -> list[ColumnProfile]:
        return [profile for name, profile in self.profiles.items() if name not in self.roles]

    # --- the label

    def _find_label(self) -> None:
        options = self.options
        if options.label == "":
            return self._without_label()
        if options.label:
            name, reason = options.label, "named by --label"
        elif self.hints.get("label") in self.profiles and self.hints["label"] not in self.roles:
            name, reason = self.hints["label"], "as the format says"
        else:
            found = self._label_candidates()
            if found is None:
                return
            name, reason = found
        profile = self.profiles[name]
        if profile.type in ("time", "free text", "empty") or (profile.type == "number"):
            what = {"number": "numbers with decimals", "empty": "nothing"}.get(profile.type, profile.type)
            self.problem = (
                f"column {short_repr(name)} of {self.file} holds {what} (such as"
                f" {short_list(profile.examples, 2)}), which cannot be classes; name the column of labels"
                f" with --label (there is {short_list(self._possible_labels())})"
            )
            return
        self.label = name
        self._set(name, "label", reason)
        self._take_classes(profile)

    def _take_classes(self, profile: ColumnProfile) -> None:
        values: list[Any] = list(profile.counts)
        texts = {str(value) for value in values}
        others = texts - {"-1", "-1.0"}
        if texts != others and len(others) > 1 and all(re.fullmatch(r"\d+(\.0+)?", one) for one in others):
            values = [value for value in values if str(value) not in ("-1", "-1.0")]  # not labelled
        if self.options.ignore_case:
            first: dict[str, Any] = {}
            for value in values:
                first.setdefault(str(value).strip().casefold(), value)
            values = list(first.values())
        self.classes = ClassNames(values, self.options.classes, self.options.missing)

    def _label_candidates(self) -> tuple[str, str] | None:
        """Return the column of labels and why; None if there is none, or a problem is noted."""
        free = [profile for profile in self._free() if profile.name not in (self.experts or ())]
        strong = [one for one in free if names.truth_strength(one.name) == 2 and one.type != "empty"]
        strong = [one for one in strong if not self._in_series(one.name)]
        usable = [one for one in strong if one.is_discrete] or strong
        if len(usable) == 1:
            return usable[0].name, "its name"
        if len(usable) > 1:
            self._ask_label([one.name for one in usable])
            return None
        classes = self._classes_of_scores()
        if classes:
            fitting = [one for one in free if one.is_discrete and set(map(str, one.counts)) <= classes]
            if len(fitting) == 1:
                return fitting[0].name, "its values are the classes of the scores"
        weak = [one for one in free if names.truth_strength(one.name) == 1 and one.is_discrete]
        if len(weak) == 1:
            return weak[0].name, "its name, and its values are classes"
        possible = self._possible_labels()
        if self.options.labels is None:
            self._ask_label((weak and [one.name for one in weak]) or possible, unknown=True)
        return None

    def _in_series(self, name: str) -> bool:
        """Whether a word such as human or final is in the names of several columns, and says nothing then."""
        words = set(names.words_of(name)) & names.TRUTH_WORDS
        if not words <= names.SERIES_WORDS or "_".join(names.words_of(name)) in names.TRUTH_NAMES:
            return False
        return any(sum(word in names.words_of(other) for other in self.profiles) > 1 for word in words)

    def _possible_labels(self) -> list[str]:
        """Return the columns whose values could be classes, those on the right first."""
        free = [one for one in self._free() if one.name != self.options.label]
        return [one.name for one in reversed(free) if one.is_discrete and not one.is_constant]

    def _ask_label(self, candidates: list[str], *, unknown: bool = False) -> None:
        if not candidates:
            if not unknown:
                return
            self.problem = (
                f"{self.file} has no column whose values can be classes (it has"
                f" {short_list(self.profiles)}); check the separator, or name the column with --label"
            )
            return
        names_ = short_list(candidates, 8)
        self.suggestion = {"--label": candidates[0]}
        if unknown:
            self.problem = (
                f"no column of {self.file} has the name of a label; name it with --label (its values can be"
                f" classes in {names_}), or pass --label '' if there is none"
            )
        else:
            self.problem = (
                f"{len(candidates)} columns of {self.file} could be the label: {names_}; name one with"
                " --label, and the others are ignored"
            )

    def _without_label(self) -> None:
        """Take as classes what most columns have in common."""
        discrete = [one for one in self._free() if one.is_discrete and not names.is_id_name(one.name)]
        if self.experts is not None:
            discrete = [one for one in discrete if one.name in self.experts]
        shared: Counter[str] = Counter(str(value) for one in discrete for value in one.counts)
        common = [value for value, columns in shared.items() if columns > 1]
        self.classes = ClassNames(common or list(shared), self.options.classes, self.options.missing)

    # --- scores, votes and confidences

    def _decimals(self) -> list[ColumnProfile]:
        return [one for one in self._free() if one.type in ("number", "integer") and not one.is_constant]

    def _classes_of_scores(self) -> set[str]:
        """Return the endings that several stems of columns of decimals have in common."""
        endings: dict[str, set[str]] = {}
        for one in self._decimals():
            if one.type == "number":
                for separator in names.SEPARATORS:
                    stem, found, tail = one.name.rpartition(separator)
                    if found and stem and tail:
                        endings.setdefault(stem, set()).add(tail)
                        break
        groups = Counter(frozenset(tails) for tails in endings.values() if len(tails) > 1)
        return set(groups.most_common(1)[0][0]) if groups else set()

    def _find_scores(self) -> None:
        if self.options.shape == "wide":
            return
        by_name = {str(name).lower(): str(name) for name in self.classes.names}
        if not by_name:
            by_name = {name.lower(): name for name in self._classes_of_scores()}
            self.classes = ClassNames(list(by_name.values()), self.options.classes, self.options.missing)
        scores = [one for one in self._decimals() if self.experts is None or one.name in self.experts]
        split = {one.name: names.split_class(one.name, by_name) for one in scores}
        found = {name: part for name, part in split.items() if part is not None}
        per_expert = Counter(expert for expert, _ in found.values())
        decimal = any(self.profiles[name].type == "number" for name in found)
        for name, (expert, label) in found.items():
            if decimal and (per_expert[expert] > 1 or self.profiles[name].type == "number"):
                self._set(name, "score", "a number per class", expert, label)
        self._find_probabilities()

    def _find_probabilities(self) -> None:
        """Read decimals from 0 to 1 as P(1) if the classes are 0 and 1."""
        positive = self.classes.find("1")
        if len(self.classes.names) != 2 or positive is None or self.classes.find("0") is None:
            return
        for one in self._free():
            named = self.experts is None or one.name in self.experts
            in_range = one.low is not None and one.high is not None and one.low >= 0.0 and one.high <= 1.0
            stem = names.split_suffix(one.name, names.CONFIDENCE_WORDS)
            if one.type == "number" and in_range and named and not self._is_confidence(one.name):
                self._set(
                    one.name,
                    "score",
                    "a probability of class 1",
                    stem[0] if stem else one.name,
                    str(positive),
                )

    def _is_confidence(self, name: str) -> bool:
        split = names.split_suffix(name, names.CONFIDENCE_WORDS)
        return split is not None and self._column_with_stem(split[0]) not in (None, name)

    def _column_with_stem(self, stem: str) -> str | None:
        """Return the column of votes whose name is a stem, or a stem and a word such as label."""
        for other, profile in self.profiles.items():
            split = names.split_suffix(other, names.LABEL_WORDS | names.VOTE_WORDS)
            if (other == stem or (split is not None and split[0] == stem)) and profile.type != "number":
                return other
        return None

    def _find_votes(self) -> None:
        for one in self._free():
            if self.experts is not None:
                if one.name in self.experts:
                    self._set(one.name, "expert", "named by --experts", one.name)
                continue
            reason = self._why_it_votes(one)
            if reason:
                self._set(one.name, "expert", reason, one.name)

    def _why_it_votes(self, one: ColumnProfile) -> str:
        if not one.is_discrete or one.is_constant or names.says_whether_right(one.name):
            return ""
        if self.label is not None and names.truth_strength(one.name) == 2 and not self._in_series(one.name):
            return ""
        if one.is_unique or (names.is_id_name(one.name) and one.distinct > 2 * len(self.classes.names)):
            return ""
        share = self.classes.share(one.counts)
        many = one.type == "integer" and one.distinct > 2 * len(self.classes.names)
        least = MIN_NUMBER_SHARE if many else MIN_SHARE
        abstains = one.type == "integer" and self.classes.find("-1") is None
        if abstains and {"-1", "-1.0"} & set(map(str, one.counts)):
            counts = {value: count for value, count in one.counts.items() if str(value) not in ("-1", "-1.0")}
            share = self.classes.share(counts)
        if share < least:
            return ""
        return "its values are classes" if share > 0.999 else f"{share:.0%} of its values are classes"

    def _find_confidences(self) -> None:
        experts = {one.name for one in self.roles.values() if one.role == "expert"}
        for one in self._free():
            split = names.split_suffix(one.name, names.CONFIDENCE_WORDS)
            vote = self._column_with_stem(split[0]) if split else None
            if vote not in experts or one.low is None or one.high is None or one.low < 0.0:
                continue
            if one.type in ("number", "integer") and one.high <= 100.0:
                self._set(one.name, "confidence", f"goes with {vote}", vote)

    # --- ids and the rest

    def _find_id(self) -> None:
        if any(one.role == "id" for one in self.roles.values()) or self.options.id == "":
            return
        free = [one for one in self._free() if one.type in ("text", "integer")]
        hinted = [one for one in free if one.name == self.hints.get("id")]
        named = [
            one for one in free if names.is_id_name(one.name) or names.has_word(one.name, names.ITEM_WORDS)
        ]
        mostly = [one for one in named if one.distinct >= MANY_SAME * one.present]
        unique = [one for one in free if one.is_unique and one.type == "text"]
        for one, reason in [
            *((one, "as the format says") for one in hinted), *((one, "its name") for one in mostly),
            *((one, "every value is different") for one in unique),
        ]:  # fmt: skip
            self._set(one.name, "id", reason)
            if one.distinct < one.present:
                self.warnings.append(
                    DataWarning(
                        "repeated-ids", "grave",
                        f"{one.present - one.distinct} rows of {self.file} repeat an id in"
                        f" {short_repr(one.name)}, so an item may be predicted after its label was learned;"
                        " remove the repetitions, or pass --id '' if it is not an id",
                    )
                )  # fmt: skip
            return

    def _explain_others(self) -> None:
        for one in self._free():
            role, reason = "ignored", self._why_ignored(one)
            if one.type == "time" or (
                one.type == "integer" and names.is_time_name(one.name) and one.distinct > 20
            ):
                role, reason = "time", "dates or times"
            self._set(one.name, role, reason)

    def _why_ignored(self, one: ColumnProfile) -> str:
        if names.truth_strength(one.name) == 2 and one.is_discrete:
            return "its name says that it is a truth" + ", too" * (self.label is not None)
        if self.problem is not None and one.is_discrete and not one.is_constant:
            return "undecided: its values could be classes"
        if names.says_whether_right(one.name):
            return "says who was right"
        if one.is_constant:
            return "always the same value"
        if one.type == "empty":
            return "empty"
        if one.type == "free text":
            return "free text"
        if one.is_unique:
            return "nearly every value is different"
        if self.experts is not None:
            return "not named by --experts"
        if one.type == "number":
            return "numbers with decimals; --attributes reads them"
        return "its values are not classes; --attributes reads it"

    def _check_votes(self) -> None:
        if any(one.role in ("expert", "score", "attribute") for one in self.roles.values()):
            return
        possible = [name for name, one in self.roles.items() if one.role == "ignored"]
        classes = short_list(map(short_repr, self.classes.names), 4)
        self.problem = (
            f"no column of {self.file} votes for the classes of {short_repr(self.label)} ({classes});"
            f" name the columns of votes with --experts, or of attributes with --attributes (there is"
            f" {short_list(possible)})"
        )


def infer_wide(
    file: str, profiles: list[ColumnProfile], options: PanelOptions, hints: dict[str, Any] | None = None
) -> tuple[Reading, ClassNames]:
    """Infer the roles of the columns of a wide table.

    Parameters
    ----------
    file : str
        Name of the file, for messages.
    profiles : list of ColumnProfile
        The columns.
    options : PanelOptions
        What the user says.
    hints : dict, optional
        Roles that the format fixes.

    Returns
    -------
    reading : Reading
    classes : ClassNames

    Examples
    --------
    >>> import pyarrow as pa
    >>> from linmax.panels.profile import profile_column
    >>> columns = {"ticket": ["T1", "T2", "T3"], "gpt4_label": ["bug", "fix", "bug"]}
    >>> columns["human_label"] = ["bug", "bug", "fix"]
    >>> profiles = [profile_column(name, pa.array(values)) for name, values in columns.items()]
    >>> for role in infer_wide("lab.csv", profiles, PanelOptions())[0].roles:
    ...     print(role.name, role.role, role.reason, sep=": ")
    ticket: id: its name
    gpt4_label: expert: its values are classes
    human_label: label: its name
    """
    if not profiles:
        raise StreamError(f"{file} has no columns")
    roles = WideRoles(file, profiles, options, hints or {})
    return roles.infer(), roles.classes
