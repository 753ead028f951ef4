"""The roles of the columns of a wide table, one row per item, inferred from names and contents."""

from __future__ import annotations

import re
from typing import Any

from linmax.panels.roles import names
from linmax.panels.roles.chance_votes import chance_votes, partial_votes
from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.column_role import (
    ColumnRole,
    ProfiledTable,
    Reading,
    check_roles_once,
    select_columns,
)
from linmax.panels.roles.evidence import Evidence
from linmax.panels.roles.profile import ColumnProfile
from linmax.panels.roles.wide.ids import choose_id, repeated_ids
from linmax.panels.roles.wide.labels import (
    MIN_SHARE,
    LabelFinder,
    classes_of_scores,
    is_attribute,
    is_other_truth,
    is_truth,
    says_who_is_right,
)
from linmax.panels.roles.wide.scores import (
    are_counts,
    find_confidences,
    find_probabilities,
    find_scores,
    spoiled_probabilities,
)
from linmax.streams.schema import StreamError, short_list, short_repr
from linmax.validation import DataWarning

MIN_NUMBER_SHARE = 0.95
"""The same for a column with many different integers: attributes have small integers, too."""
MIN_CONSTANT = 20
"""In fewer rows, an expert may say the same by chance."""


class WideRoles:
    """Infers the roles of the columns of a wide table."""

    def __init__(self, table: ProfiledTable) -> None:
        self.table, self.file, self.profiles = table, table.file, table.profiles
        self.options, self.hints = table.options, table.hints
        self.roles: dict[str, ColumnRole] = {}
        self.warnings: list[DataWarning] = []
        self.problem: str | None = None
        self.suggestion: dict[str, str] = {}
        columns = list(self.profiles)
        options = table.options
        self.evidence = Evidence(table.data, options.missing)
        self._stems: dict[str, str] | None = None
        self._abstentions: set[str] = set()
        self.experts = (
            None if options.experts is None else select_columns(options.experts, columns, table.file)
        )
        self.declared = frozenset(self.hints.get("experts", ()))
        self.file_experts = frozenset(self.hints.get("file_experts", ()))
        self.label: str | None = None
        self.classes = ClassNames(options.known_classes or [], options.classes, options.missing)

    def infer(self) -> Reading:
        """Return the roles of all columns, or what must be known first."""
        self._assign_named()
        self._find_label()
        self._assign_attributes()
        if self.problem is None:
            self._find_scores()
            self._find_votes()
            self._note_doubts()
            self._find_confidences()
            self._find_id()
            self._explain_others()
            self._check_votes()
        elif self.hints.get("id") in self.hints.get("reasons", ()) and self.hints["id"] not in self.roles:
            self._set(self.hints["id"], "id", self.hints["reasons"][self.hints["id"]])
        self._explain_others()
        roles = [self.roles[name] for name in self.profiles]
        return Reading("wide", roles, self.warnings, self.problem, self.suggestion)

    def infer_further(self, classes: ClassNames, label: str | None) -> list[ColumnRole]:
        """Return the roles of columns that vote, where columns of the same table gave the classes before.

        Parameters
        ----------
        classes : ClassNames
            The classes.
        label : str or None
            The column of labels.
        """
        self.classes, self.label = classes, label
        self._find_scores()
        self._find_votes()
        self._find_confidences()
        return [*self.roles.values()]

    # --- what the user says

    def _assign_named(self) -> None:
        options, columns = self.options, list(self.profiles)
        named = {
            "--label": [options.label] if options.label else [],
            "--id": [options.id] if options.id else [],
            "--attributes": [name for name in options.attributes if name in columns],
            "--ignore": select_columns(options.ignore, columns, self.file),
            "--experts": self.experts or [],
        }
        for name in (*named["--label"], *named["--id"]):
            select_columns(
                [re.sub(r"([*?[])", r"[\1]", name)] if name not in columns else [name], columns, self.file
            )
        check_roles_once(named, self.file)
        for option, role in (("--id", "id"), ("--attributes", "attribute"), ("--ignore", "ignored")):
            for name in named[option]:
                self._set(name, role, f"named by {option}")

    def _assign_attributes(self) -> None:
        """Give the columns that a pattern matches, or the format names, to the attributes; not the label."""
        columns = list(self.profiles)
        by_pattern = select_columns(self.options.attributes, columns, self.file)
        for name in by_pattern:
            if name not in self.roles and name not in (self.experts or ()):
                self._set(name, "attribute", "named by --attributes")
        for name in self.hints.get("attributes", ()):
            if name in self.profiles and name not in self.roles:
                self._set(name, "attribute", "as the format says")

    def _set(self, name: str, role: str, reason: str, expert: str | None = None, label: Any = None) -> None:
        self.roles[name] = ColumnRole(name, role, reason, expert, label)

    def _free(self) -> list[ColumnProfile]:
        return [profile for name, profile in self.profiles.items() if name not in self.roles]

    # --- the label

    def _find_label(self) -> None:
        finder = LabelFinder(self.table, self._free(), self.experts, self.evidence)
        finder.find()
        self.label, self.problem, self.suggestion = finder.label, finder.problem, finder.suggestion
        if self.label is not None:
            self._set(self.label, "label", finder.reason)
        if self.options.known_classes is not None:
            return
        if self.label is not None:
            self.classes = finder.classes(self.label)
        elif self.options.label == "":
            self.classes = finder.shared_classes()

    # --- scores, votes and confidences

    def _find_scores(self) -> None:
        if self.options.shape == "wide":
            return
        named = [
            one
            for one in self._free()
            if (self.experts is None or one.name in self.experts)
            and (one.name in self.hints.get("scores", ()) or not names.says_whether_right(one.name))
        ]
        endings = classes_of_scores(named)
        labels = {str(name) for name in self.classes.names}
        if labels < endings and self._are_classes(endings, named):  # some are never a label
            extra = (*sorted(endings - labels), *self.options.classes)
            self.classes = ClassNames(self.classes.names, extra, self.options.missing)
        for role in find_scores(named, self.classes, self.evidence):
            self.roles[role.name] = role
        rest = [one for one in named if one.name not in self.roles and not self._is_confidence(one.name)]
        for role in find_probabilities(rest, self.classes):
            self.roles[role.name] = role

    def _are_classes(self, endings: set[str], columns: list[ColumnProfile]) -> bool:
        """Whether the endings of columns of scores are classes, not numbers of experts."""
        if not all(ending.isdecimal() for ending in endings):
            return True
        groups: dict[str, list[str]] = {}
        for one in columns:
            if one.type == "number":
                groups.setdefault(re.sub(r"\d+$", "", one.name), []).append(one.name)
        return all(self.evidence.sum_is_constant(own) for own in groups.values() if len(own) > 1)

    def _is_confidence(self, name: str) -> bool:
        split = names.split_suffix(name, names.CONFIDENCE_WORDS)
        return split is not None and self._column_with_stem(split[0]) not in (None, name)

    def _column_with_stem(self, stem: str) -> str | None:
        """Return the column of votes whose name is a stem, or a stem and a word such as label."""
        if self._stems is None:
            self._stems = {}
            for other, profile in self.profiles.items():
                if profile.type != "number":
                    split = names.split_suffix(other, names.LABEL_WORDS | names.VOTE_WORDS)
                    self._stems.setdefault(other, other)
                    if split is not None:
                        self._stems.setdefault(split[0], other)
        return self._stems.get(stem)

    def _find_votes(self) -> None:
        texts = [one for one in self._free() if one.type == "text" and not self._is_no_expert_by_name(one)]
        self._abstentions = self.classes.shared_abstentions(one.counts for one in texts)
        for one in self._free():
            if self.experts is not None:
                if one.name in self.experts:
                    self._set(one.name, "expert", "named by --experts", one.name)
                continue
            reason = self._why_it_votes(one)
            if reason:
                self._set(one.name, "expert", reason, one.name)

    def _why_it_votes(self, one: ColumnProfile) -> str:
        if one.name in self.declared:
            return "as the format says" if self._may_vote(one) else ""
        if not one.is_discrete:
            return ""
        if one.is_constant and len(self.classes.names) > 1 and one.present >= MIN_CONSTANT:
            return ""
        if self._is_no_expert_by_name(one) and not self._is_of_own_file(one.name):
            return ""
        if one.is_unique or (names.is_id_name(one.name) and one.distinct > 2 * len(self.classes.names)):
            return ""
        silent = self._abstentions | {self.options.abstain}
        if one.type == "integer":
            silent |= self.classes.abstaining | ({"-1"} if self.classes.find("-1") is None else set())
        counts = {value: n for value, n in one.counts.items() if str(value).removesuffix(".0") not in silent}
        share = self.classes.share(counts)
        many = one.type == "integer" and one.distinct > 2 * len(self.classes.names)
        if share < (MIN_NUMBER_SHARE if many else MIN_SHARE) or self._is_count(one):
            return ""
        return "its values are classes" if share > 0.999 else f"{share:.0%} of its values are classes"

    def _may_vote(self, one: ColumnProfile) -> bool:
        """Whether a column that the format says is an expert's has votes: some of its values are classes."""
        is_vote = one.type in ("text", "integer", "boolean", "free text")
        return is_vote and self.classes.share(one.counts) > 0.0 and not self._is_confidence(one.name)

    def _is_no_expert_by_name(self, one: ColumnProfile) -> bool:
        """Whether the name of a column is that of a result, of a truth or of an attribute."""
        if says_who_is_right(one) or is_other_truth(one, self.profiles):
            return True
        return self.label is not None and is_attribute(one.name, self.label)

    def _is_of_own_file(self, name: str) -> bool:
        """Whether a column is named after the file of its expert, which says nothing about its values."""
        return name in self.file_experts and self.label is not None and self.label not in self.file_experts

    def _is_count(self, one: ColumnProfile) -> bool:
        """Whether a column counts votes, such as yes_votes with numbers from 0 to 3 for classes 0 and 1."""
        more = one.high is not None and self.classes.find(f"{one.high:.0f}") is None
        return one.type == "integer" and more and names.has_word(one.name, names.COUNT_WORDS)

    def _note_doubts(self) -> None:
        """Note columns that vote by chance only, and truths that are ignored because there are no labels."""
        if self.experts is None and self.label is not None:
            found = chance_votes(
                [*self.roles.values()], self.profiles[self.label], self.classes, self.evidence, self.declared
            )
            partly = partial_votes(self._doubtful(), self.classes)
            self.warnings += [one for one in (found, partly) if one is not None]
        silent = [one.name for one in self._free() if one.name in self.declared - self._confidences()]
        if silent and self.experts is None:
            self.warnings.append(
                DataWarning(
                    "partial-votes", "note",
                    f"{short_list(silent)}: the format says that these are experts, but no value is a class,"
                    " so they do not vote; write votes as labels are written",
                )
            )  # fmt: skip
        truths = [one.name for one in self._free() if is_truth(one) and is_other_truth(one, self.profiles)]
        if self.options.label == "" and self.experts is None and truths:
            self.warnings.append(
                DataWarning(
                    "ignored-truth", "note",
                    f"{short_list(truths)}: the name is that of a truth, which must not vote; leave out"
                    " --label '' if these are labels, and name the experts with --experts if they are votes",
                )
            )  # fmt: skip

    def _doubtful(self) -> list[ColumnProfile]:
        """Return the columns without a role that are neither truths, results nor attributes."""
        return [
            one for one in self._free()
            if one.name not in self.declared
            and (not self._is_no_expert_by_name(one) or self._is_of_own_file(one.name))
        ]  # fmt: skip

    def _confidences(self) -> set[str]:
        """Return the columns that may hold the confidences of experts."""
        return {one.name for one in self._free() if self._is_confidence(one.name)}

    def _find_confidences(self) -> None:
        experts = {one.name for one in self.roles.values() if one.role == "expert"}

        def expert_of(name: str) -> str | None:
            split = names.split_suffix(name, names.CONFIDENCE_WORDS)
            vote = self._column_with_stem(split[0]) if split else None
            return vote if vote in experts else None

        found, warnings = find_confidences(self._free(), expert_of)
        for role in found:
            self.roles[role.name] = role
        rest = [one for one in self._free() if expert_of(one.name) is None]
        self.warnings += [*warnings, *spoiled_probabilities(rest, self.classes, self.roles.values())]

    # --- ids and the rest

    def _find_id(self) -> None:
        if self.options.id == "":
            return
        chosen = [self.profiles[one.name] for one in self.roles.values() if one.role == "id"]
        found = chosen[0] if chosen else None
        if found is None and (choice := choose_id(self._free(), self.hints)) is not None:
            found, reason = choice
            self._set(found.name, "id", reason)
        if found is not None and found.distinct < found.present:
            self.warnings.append(repeated_ids(found.present - found.distinct, found.name, self.file))

    def _explain_others(self) -> None:
        for one in self._free():
            role, reason = "ignored", self._why_ignored(one)
            if one.type == "time" or (
                one.type == "integer" and names.is_time_name(one.name) and one.distinct > 20
            ):
                role, reason = "time", "dates or times"
            self._set(one.name, role, reason)

    def _why_ignored(self, one: ColumnProfile) -> str:
        if one.name in self.hints.get("candidates", ()) and self.problem is not None:
            return f"undecided: {self.hints['reasons'][one.name]}"
        if is_truth(one) and one.is_discrete and one.name not in self.declared:
            return "its name says that it is a truth" + ", too" * (self.label is not None)
        if self.problem is not None and one.is_discrete and not one.is_constant:
            return "undecided: its values could be classes"
        if says_who_is_right(one):
            return "says who was right"
        if names.has_word(one.name, names.AGGREGATE_WORDS) and one.is_discrete:
            return "made from the votes"
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
        if one.is_discrete and is_attribute(one.name, self.label):
            return "its name is that of an attribute; --attributes reads it"
        if one.type == "number":
            return "numbers with decimals; --attributes reads them"
        return "its values are not classes; --attributes reads it"

    def _check_votes(self) -> None:
        voting = [one for one in self.roles.values() if one.role in ("expert", "score", "attribute")]
        classes = short_list(map(short_repr, self.classes.names), 4)
        if not voting:
            possible = [name for name, one in self.roles.items() if one.role == "ignored"]
            counts = [name for name in possible if are_counts([self.profiles[name]] * 2)]
            self.problem = (
                f"no column of {self.file} votes for the classes of {short_repr(self.label)} ({classes});"
                f" name the columns of votes with --experts, or of attributes with --attributes (there is"
                f" {short_list(possible or self.profiles)})"
            )
            if len(counts) > 1:
                self.problem += (
                    f"; if {short_list(counts, 3)} count votes, linmax needs the vote of each expert instead,"
                    " and if they are numbers of classes, write the classes as in the labels"
                )
            lists = [name for name in possible if self.profiles[name].has_lists]
            if lists:
                self.problem += (
                    f"; if the lists in {short_list(lists, 3)} are votes, write a column for each expert, or"
                    " a row for each vote with the expert"
                )
                if self.file == "standard input":
                    self.problem += "; lists with the expert of each vote can be read from files"
        for one in voting if self.experts is not None and self.label is not None else []:
            profile = self.profiles[one.name]
            is_vote = (
                profile.type not in ("number", "time", "free text") and not profile.has_lists
            ) or self.classes.share(profile.counts)
            if one.role == "expert" and not is_vote:
                self.problem = (
                    f"column {short_repr(one.name)} of {self.file} is named by --experts, but its values"
                    f" (such as {short_list(profile.examples, 2)}) are not classes of"
                    f" {short_repr(self.label)} ({classes}); name it with --attributes, or leave it out"
                )


def infer_wide(table: ProfiledTable) -> tuple[Reading, ClassNames]:
    """Infer the roles of the columns of a wide table, and the classes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from linmax.panels.roles.column_role import PanelOptions, profile_table
    >>> columns = {"ticket": ["T1", "T2", "T3"], "gpt4_label": ["bug", "fix", "bug"]}
    >>> columns["human_label"] = ["bug", "bug", "fix"]
    >>> for role in infer_wide(profile_table(pa.table(columns), PanelOptions()))[0].roles:
    ...     print(role.name, role.role, role.reason, sep=": ")
    ticket: id: its name
    gpt4_label: expert: its values are classes
    human_label: label: its name
    """
    if not table.profiles:
        raise StreamError(f"{table.file} has no columns")
    roles = WideRoles(table)
    return roles.infer(), roles.classes
