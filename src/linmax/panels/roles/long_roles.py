"""The roles of the columns of a long table, one row per vote, found by names and by structure."""

from __future__ import annotations

from linmax.panels.roles import names
from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.column_role import ColumnRole, ProfiledTable, Reading, select_columns
from linmax.panels.roles.evidence import ALWAYS, OFTEN, RowGroups
from linmax.panels.roles.profile import ColumnProfile
from linmax.panels.roles.wide.labels import MIN_SHARE, is_truth, says_who_is_right
from linmax.streams.schema import StreamError, missing_column, short_list, short_repr
from linmax.validation import DataWarning

MIN_VOTES_PER_ITEM = 1.3
"""Fewer rows per item are no long table."""
MIN_VOTES_PER_EXPERT = 1.5
"""Likewise for experts."""
MAX_REPEATED = 0.3
"""The largest share of rows in which an expert votes on an item again."""
MAX_MISSING = 0.1
"""The largest share of rows without an item."""
MIN_ITEMS, MIN_ROWS_PER_ITEM = 10, 2.0
"""Less is no long table if no name says so."""
MIN_UNNAMED = 20
"""Fewer different values are no items if no name says so."""
MAX_CLASSES = 10_000


class LongRoles:
    """Finds the columns of items, experts, votes and labels of a long table."""

    def __init__(self, table: ProfiledTable) -> None:
        self.file, self.data, self.profiles = table.file, table.data, table.profiles
        self.options, self.hints = table.options, table.hints
        self.forced = table.options.shape == "long" or table.hints.get("shape") == "long"
        self.rows = RowGroups(table.data)

    def infer(self) -> Reading | None:
        """Return the roles of all columns; None if the table is not long."""
        found = self._structure()
        if found is None:
            if self.options.shape == "long":
                raise StreamError(
                    f"{self.file} has no columns of items, experts and votes that linmax recognises (it has"
                    f" {short_list(self.profiles)}); name them: --id ITEM --experts EXPERT,VOTE"
                )
            return None
        item, expert, reason = found
        labels = self._label_columns(item, expert)
        votes = self._vote_columns(item, expert, labels)
        if not votes and len(labels) == 1 and self._may_be_vote(labels[0]):
            labels, votes = [], labels  # all experts agree
        label = labels[0] if len(labels) == 1 else None
        if not self._is_told() and self._looks_wide(item, expert, labels):
            return None
        if reason == "its values repeat" and label is None:
            return None
        if len(votes) != 1 and not self.forced and not self._named_long(item, expert):
            return None
        roles = {
            item: ColumnRole(item, "id", reason if reason != "names" else "the item of each vote"),
            expert: ColumnRole(expert, "expert", "the expert of each vote"),
        }
        if label is not None:
            why = {} if self.options.label else self.hints.get("reasons", {})
            roles[label] = ColumnRole(label, "label", why.get(label, "the same for all votes on an item"))
        problem, suggestion = None, {}
        if len(labels) > 1:
            problem = (
                f"{len(labels)} columns of {self.file} could be the label: {short_list(labels)}; name one"
                " with --label, and the others are ignored"
            )
            suggestion = {"--label": labels[0]}
            problem = self.hints.get("problem", problem)
        elif len(votes) == 1:
            roles[votes[0]] = ColumnRole(votes[0], "vote", "what the expert says")
        else:
            candidates = votes or [one.name for one in self.profiles.values() if one.name not in roles]
            problem = (
                f"{self.file} has one row per vote ({item} x {expert}), and"
                f" {'several columns could be' if votes else 'no column looks like'} the vote; name it:"
                f" --shape long --id {item} --experts {expert},VOTE (there is {short_list(candidates, 8)})"
            )
            suggestion = {"--shape": "long", "--id": item, "--experts": f"{expert},{candidates[0]}"}
        score = self._score_column(item, expert, votes, roles) if len(votes) == 1 else None
        if score is not None:
            roles[score] = ColumnRole(score, "score", "a number per class")
        for name in select_columns(self.options.attributes, list(self.profiles), self.file):
            roles.setdefault(name, ColumnRole(name, "attribute", "named by --attributes"))
        for name in select_columns(self.options.ignore, list(self.profiles), self.file):
            roles.setdefault(name, ColumnRole(name, "ignored", "named by --ignore"))
        ordered = [roles.get(name) or self._other(profile, item) for name, profile in self.profiles.items()]
        return Reading("long", ordered, self._truths_that_vote(expert), problem, suggestion)

    def _truths_that_vote(self, expert: str) -> list[DataWarning]:
        """Warn about experts with the name of a truth: their votes are labels."""
        found = [str(name) for name in self.profiles[expert].counts if names.is_truth_name(str(name))]
        if not found:
            return []
        return [
            DataWarning(
                "possible-leak", "grave",
                f"{short_list(map(short_repr, found))} in {short_repr(expert)} has the name of a truth, and"
                " votes as an expert does; write its rows to a file of their own, and pass --labels FILE",
            )
        ]  # fmt: skip

    # --- items and experts

    def _structure(self) -> tuple[str, str, str] | None:
        """Return the columns of items and of experts, and how they were found."""
        options = self.options
        fixed = self.hints.get("columns")
        if fixed:
            return fixed[0], fixed[1], "as the format says"
        if options.experts is not None and options.shape is None:
            return None  # columns of votes are named, so the table is wide
        if options.id and options.id not in self.profiles:
            raise missing_column(self.file, options.id, list(self.profiles))
        if options.shape in ("wide", "scores"):
            return None
        if options.shape == "long" and options.experts and len(options.experts) >= 2 and options.id:
            for name in (options.id, *options.experts[:2]):
                if name not in self.profiles:
                    raise missing_column(self.file, name, list(self.profiles))
            return options.id, options.experts[0], "named by --id"
        experts = [one for one in self._keys() if names.has_word(one, names.EXPERT_WORDS)]
        items = [options.id] if options.id in self.profiles else self._item_candidates(experts)
        for expert in experts:
            for item in items:
                if item != expert and self._is_long(item, expert):
                    return item, expert, "names"
        return self._unnamed_structure()

    def _unnamed_structure(self) -> tuple[str, str, str] | None:
        """Return items that repeat, and the one column that is different in all rows of an item."""
        keys = self._keys()
        items = [name for name in keys if names.is_id_name(name) or names.has_word(name, names.ITEM_WORDS)]
        for item in [self.options.id] if self.options.id in self.profiles else items:
            assert item is not None
            own = self.profiles[item]
            if own.missing or own.distinct < MIN_ITEMS or own.present < MIN_ROWS_PER_ITEM * own.distinct:
                continue
            experts = [
                name
                for name in keys
                if name != item
                and self.profiles[name].type == "text"
                and self.profiles[name].present >= MIN_ROWS_PER_ITEM * self.profiles[name].distinct
                and not self.profiles[name].missing
                and self.rows.distinct(item, name) == self.data.num_rows
            ]
            if len(experts) == 1:
                return item, experts[0], "its values repeat"
        return None

    def _keys(self) -> list[str]:
        """Return the columns whose values repeat, as those of items and experts do."""
        return [
            name
            for name, one in self.profiles.items()
            if one.type in ("text", "integer", "free text") and 1 < one.distinct < one.present
        ]

    def _item_candidates(self, experts: list[str]) -> list[str]:
        """Return columns that may hold items, the likeliest first."""
        keys = [name for name in self._keys() if name not in experts]
        inputs = [name for name in keys if name.upper().startswith("INPUT:")]
        named = [name for name in keys if names.has_word(name, names.ITEM_WORDS)]
        ids = [name for name in keys if names.is_id_name(name)]
        both = [name for name in named if name in ids]
        free = sorted(
            (
                name
                for name in keys
                if self.profiles[name].type != "free text" and self.profiles[name].distinct > MIN_UNNAMED
            ),
            key=lambda name: -self.profiles[name].distinct,
        )
        texts = [name for name in keys if self.profiles[name].type == "free text"]
        return list(dict.fromkeys([*inputs, *both, *named, *ids, *free, *texts]))

    def _is_long(self, item: str, expert: str) -> bool:
        rows = self.data.num_rows
        items, experts = self.profiles[item], self.profiles[expert]
        if items.missing > MAX_MISSING * rows or items.present < MIN_VOTES_PER_ITEM * items.distinct:
            return False
        if rows < MIN_VOTES_PER_EXPERT * experts.distinct or items.distinct < 2:
            return False
        repeated = 1.0 - self.rows.distinct(item, expert) / max(rows, 1)
        return repeated <= MAX_REPEATED or self._triples_are_unique(item, expert)

    def _triples_are_unique(self, item: str, expert: str) -> bool:
        """Whether an expert has a row per class, with a score."""
        votes = [
            one.name
            for one in self.profiles.values()
            if one.is_discrete
            and names.has_word(one.name, names.VOTE_WORDS)
            and one.name not in (item, expert)
        ]
        numbers = [one for one in self.profiles.values() if one.type == "number"]
        return bool(numbers) and any(
            self.rows.distinct(item, expert, vote) >= 0.999 * self.data.num_rows for vote in votes
        )

    def _is_told(self) -> bool:
        return self.forced or bool(self.hints.get("columns"))

    def _looks_wide(self, item: str, expert: str, labels: list[str]) -> bool:
        """Whether a column of labels differs within items, and other columns vote for its classes."""
        taken = (item, expert, *labels, *self._not_votes())
        possible = [
            one
            for one in self.profiles.values()
            if one.name not in taken
            and one.is_discrete
            and not one.is_constant
            and not says_who_is_right(one)
        ]
        for truth in possible:
            if is_truth(truth) and not self.rows.is_constant_within(truth.name, item, OFTEN):
                classes = ClassNames(truth.counts, self.options.classes, self.options.missing)
                voting = [one for one in possible if one is not truth and not is_truth(one)]
                if any(classes.share(one.counts) >= MIN_SHARE for one in voting):
                    return True
        return False

    # --- votes and labels

    def _named_long(self, item: str, expert: str) -> bool:
        return names.has_word(expert, names.EXPERT_WORDS) and (
            names.has_word(item, names.ITEM_WORDS) or names.is_id_name(item)
        )

    def _label_columns(self, item: str, expert: str) -> list[str]:
        """Return the columns that may hold the labels."""
        if self.options.label == "":
            return []
        if self.options.label:
            if self.options.label not in self.profiles:
                if self.options.labels is not None:
                    return []
                raise missing_column(self.file, self.options.label, list(self.profiles))
            return [self.options.label]
        if self.hints.get("candidates"):
            return list(self.hints["candidates"])
        if self.hints.get("label") in self.profiles:
            return [str(self.hints["label"])]
        found = [
            one
            for one in self.profiles.values()
            if one.name not in (item, expert, *(self.options.experts or ())) and is_truth(one)
            and one.is_discrete
        ]  # fmt: skip
        shares = {one.name: ALWAYS if self._may_be_vote(one.name) else OFTEN for one in found}
        return [name for name, share in shares.items() if self.rows.is_constant_within(name, item, share)]

    def _may_be_vote(self, name: str) -> bool:
        """Whether the name of a label is also that of a vote, as `label` is."""
        return not names.TRUTH_WORDS & set(names.words_of(name)) and not self.options.label

    def _vote_columns(self, item: str, expert: str, labels: list[str]) -> list[str]:
        """Return the columns that may hold the votes."""
        fixed = self.hints.get("columns")
        if fixed:
            return [fixed[2]]
        if self.options.experts and len(self.options.experts) >= 2:
            return [select_columns([self.options.experts[1]], list(self.profiles), self.file)[0]]
        possible = [
            one
            for one in self.profiles.values()
            if one.name not in (item, expert, *labels, *self._not_votes())
            and one.is_discrete and not one.is_constant and one.distinct <= MAX_CLASSES
            and not says_who_is_right(one)
        ]  # fmt: skip
        found = [
            one.name
            for one in possible
            if not self.rows.is_constant_within(one.name, item)
            and not self.rows.is_constant_within(one.name, expert)
        ]
        if not found:  # nearly all votes are for one class
            found = [
                one.name
                for one in possible
                if names.has_word(one.name, names.VOTE_WORDS)
                and not self.rows.is_constant_within(one.name, item, ALWAYS)
                and not self.rows.is_constant_within(one.name, expert, ALWAYS)
            ]
        if not found:
            found = self._only_one_left(item, expert, labels)
        return self._likeliest(found, labels) if len(found) > 1 else found

    def _only_one_left(self, item: str, expert: str, labels: list[str]) -> list[str]:
        """Return the one column that has no other role, if it can be votes: few experts may always agree."""
        taken = (item, expert, *labels, *self._not_votes())
        left = [one for one in self.profiles.values() if one.name not in taken and one.type != "empty"]
        left = [one for one in left if one.type != "time"]
        if len(left) != 1 or not left[0].is_discrete or says_who_is_right(left[0]):
            return []
        return [] if names.has_word(left[0].name, names.TRUTH_WORDS) else [left[0].name]

    def _not_votes(self) -> list[str]:
        ignored = select_columns(self.options.ignore, list(self.profiles), self.file)
        attributes = select_columns(self.options.attributes, list(self.profiles), self.file)
        times = [
            name
            for name, one in self.profiles.items()
            if names.is_time_name(name)
            and (one.type == "integer" or not names.has_word(name, names.VOTE_WORDS))
        ]
        return [*ignored, *attributes, *times]

    def _likeliest(self, found: list[str], labels: list[str]) -> list[str]:
        """Return those that are likelier votes, by their values or by their names."""
        if len(labels) == 1:
            classes = ClassNames(self.profiles[labels[0]].counts, self.options.classes, self.options.missing)
            voting = [name for name in found if classes.share(self.profiles[name].counts) >= MIN_SHARE]
            found = voting or found
        output = [name for name in found if name.upper().startswith("OUTPUT:")]
        exact = [name for name in found if set(names.words_of(name)) <= names.VOTE_WORDS]
        last = [
            name
            for name in found
            if names.words_of(name)[-1:] and names.words_of(name)[-1] in names.VOTE_WORDS
        ]
        named = [name for name in found if names.has_word(name, names.VOTE_WORDS)]
        public = [name for name in found if not name.startswith(("_", "!", "ASSIGNMENT:"))]
        return next((some for some in (output, exact, last, named, public) if len(some) == 1), found)

    def _score_column(
        self, item: str, expert: str, votes: list[str], roles: dict[str, ColumnRole]
    ) -> str | None:
        """Return the column of scores, if an expert has several rows per item."""
        numbers = [
            one.name for one in self.profiles.values()
            if one.type in ("number", "integer") and one.name not in roles
            and names.has_word(one.name, names.CONFIDENCE_WORDS | frozenset({"value"}))
        ]  # fmt: skip
        several = self.rows.distinct(item, expert) < (1.0 - MAX_REPEATED) * self.data.num_rows
        return numbers[0] if several and numbers else None

    def _other(self, profile: ColumnProfile, item: str) -> ColumnRole:
        if profile.type == "time":
            return ColumnRole(profile.name, "time", "dates or times")
        if profile.is_constant:
            return ColumnRole(profile.name, "ignored", "always the same value")
        if profile.distinct and self.rows.is_constant_within(profile.name, item):
            return ColumnRole(profile.name, "ignored", "the same for all votes on an item")
        return ColumnRole(profile.name, "ignored", "not the vote")


def infer_long(table: ProfiledTable) -> Reading | None:
    """Infer the roles of the columns of a long table; None if the table is not long.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from linmax.panels.roles.column_role import PanelOptions, profile_table
    >>> rows = [("t1", "ann", "a"), ("t2", "ann", "b"), ("t1", "bob", "a"), ("t2", "bob", "a")]
    >>> data = pa.table(dict(zip(("task", "worker", "label"), map(pa.array, zip(*rows)))))
    >>> [role.role for role in infer_long(profile_table(data, PanelOptions())).roles]
    ['id', 'expert', 'vote']
    """
    if not table.profiles or not table.data.num_rows:
        return None
    found = LongRoles(table).infer()
    if found is not None and found.problem is None:
        _check_taken(found, table.file)
    return found


def _check_taken(found: Reading, file: str) -> None:
    label, vote = found.column("label"), found.column("vote")
    if label is not None and label == vote:
        raise StreamError(
            f"column {short_repr(label)} of {file} is both the vote and the label; name another"
        )
