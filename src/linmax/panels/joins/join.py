"""Several files joined to one table: a file per expert, or votes and labels apart; by id or by row."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from linmax.panels.joins.experts import has_expert_column, join_experts
from linmax.panels.joins.keys import Join, common_form, count_matches, key_examples, key_texts
from linmax.panels.joins.labels import LabelColumn, conflict_warning, describe_conflicts, whitespace_note
from linmax.panels.roles import names
from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.column_role import PanelOptions, matches
from linmax.panels.roles.profile import ColumnProfile, profile_column, profile_columns, strip_missing
from linmax.panels.roles.wide.one_hot import merge_one_hot
from linmax.panels.table import RawTable
from linmax.streams.schema import StreamError, missing_column, short_list, short_repr
from linmax.validation import DataWarning

MIN_OVERLAP = 0.5
"""Ids under different names are joined if at least this share of the smaller set is in both."""
FILE_WORDS = frozenset(
    {"truth", "gold", "golden", "groundtruth", "gt", "solution", "solutions", "labels", "wahrheit", "verite"}
)
"""Words in the name of a file of labels."""
MIN_KEYS = 20
"""Fewer different values are no ids, unless their name says so."""


class Joined(NamedTuple):
    """One table made of several files.

    Attributes
    ----------
    table : RawTable
        The table; its hints name the label if it came from a file of its own.
    options : PanelOptions
        The options with names of columns as they are in the table.
    joins : list of Join
        What was joined.
    labels : LabelColumn or None
        The labels, if they came from a file of their own.
    problem : str or None
        Why it is not known which column holds the labels, and what to type. The table has all candidates
        then, and its hints the problem, so that readings of the table have it, too.
    suggestion : dict of str to str or None
        Options that solve the problem.
    warnings : tuple of DataWarning
        What may be wrong with the labels.
    """

    table: RawTable
    options: PanelOptions
    joins: list[Join]
    labels: LabelColumn | None = None
    problem: str | None = None
    suggestion: dict[str, str] | None = None
    warnings: tuple[DataWarning, ...] = ()


def join_tables(tables: Sequence[RawTable], labels: RawTable | None, options: PanelOptions) -> Joined:
    """Join files to one table.

    Parameters
    ----------
    tables : sequence of RawTable
        The files; one of several may hold the labels.
    labels : RawTable or None
        A file with labels.
    options : PanelOptions
        What the user says.

    Returns
    -------
    Joined

    Raises
    ------
    StreamError
        If no id is in both of two files.

    Examples
    --------
    >>> import io
    >>> from linmax.panels.table import load_table
    >>> votes = load_table(io.BytesIO(b"id,ann\\n7,ham\\n8,spam\\n"))
    >>> truth = load_table(io.BytesIO(b"key,truth\\n8,spam\\n9,ham\\n"))
    >>> joined = join_tables([votes], truth, PanelOptions(labels_id="key"))
    >>> joined.table.data["truth"].to_pylist(), joined.joins[0].matched
    ([None, 'spam'], 1)
    """
    votes = list(tables)
    if labels is None and len(votes) > 1:
        labels = _find_labels(votes)
        votes = [table for table in votes if table is not labels]
    votes = [table if "experts" in table.hints else merge_one_hot(table, options) for table in votes]
    joins: list[Join] = []
    table = votes[0] if len(votes) == 1 else join_experts(votes, options, joins)
    if labels is None:
        return Joined(table, options, joins)
    return _join_labels(table, merge_one_hot(labels, options, of_labels=True), options, joins)


def _find_labels(tables: list[RawTable]) -> RawTable | None:
    """Return the one file that holds labels only; None if there is none."""
    if any(table.format == "npy" for table in tables):
        single = [table for table in tables if table.data.num_columns == 1]
        return single[-1] if len(single) == 1 and len(tables) > 1 else None
    sets = [frozenset(table.data.column_names) for table in tables]
    if len(set(sets)) == 1:
        return _labels_of_same_shape(tables)
    common = max(set(sets), key=sets.count)
    odd = [table for table, own in zip(tables, sets, strict=True) if own != common or sets.count(common) == 1]
    named = [t for t in odd if any(names.truth_strength(name) == 2 for name in t.data.column_names)]
    if len(named) > 1:  # in crowd-kit's files `label` is the vote, beside a worker
        named = [
            t for t in named if not any(names.has_word(n, names.EXPERT_WORDS) for n in t.data.column_names)
        ]
    if len(named) > 1:  # predictions may be called label in one file per expert
        named = [table for table in named if _is_truth_file(table)] or named
    if len(named) == 1:
        return named[0]
    return min(odd, key=lambda table: table.data.num_columns) if len(odd) > 1 else odd[0]


def _labels_of_same_shape(tables: list[RawTable]) -> RawTable | None:
    """Return the file of labels among files with the same columns: by its name, or by its content."""
    named = [table for table in tables if _is_truth_file(table)]
    if len(named) == 1:
        return named[0]
    kinds = [
        frozenset(
            name
            for name in table.data.column_names
            if profile_column(name, table.data[name]).type == "number"
        )
        for table in tables
    ]
    without = [table for table, decimals in zip(tables, kinds, strict=True) if not decimals]
    if len(without) == 1 and len(tables) > 2 and len({kind for kind in kinds if kind}) == 1:
        return without[0]  # the others have probabilities
    return None


def _is_truth_file(table: RawTable) -> bool:
    stem = table.file.replace("\\", "/").rpartition("/")[2].split(".")[0]
    return names.has_word(stem, FILE_WORDS)


# --- labels


def _join_labels(table: RawTable, labels: RawTable, options: PanelOptions, joins: list[Join]) -> Joined:
    right_profiles = profile_columns(labels.data, options.missing)
    left_key, right_key = _find_keys(table, labels, right_profiles, options)
    candidates = _candidates(labels, right_profiles, right_key, options)
    keys: tuple[Any, Any] | None = None
    is_normalised = False
    if left_key is None or right_key is None:
        joins.append(Join(labels.file, None, None, table.data.num_rows, 0, 0))
    else:
        left, right = key_texts(table.data.column(left_key)), key_texts(labels.data.column(right_key))
        left, right, is_normalised = common_form(left, right)
        keys = left, right
    data, warnings = table.data, list[DataWarning]()
    columns: list[LabelColumn] = []
    for label in candidates:
        values, ids = strip_missing(labels.data.column(label).combine_chunks(), options.missing), None
        conflicting = None
        if right_profiles[label].merged:
            warnings.append(whitespace_note(right_profiles[label].merged))
        if keys is not None:
            ids, values, conflicting, repeated = _unique_labels(keys[1], values)
            if count := len(conflicting):
                text = f"{count:,} of {count + len(ids):,} ids of {labels.file} have two different labels"
                warnings.append(conflict_warning(f"{text}; they count as not labelled", count, repeated))
            if not columns:
                found = count_matches(
                    labels.file, str(left_key), str(right_key), keys[0], ids, is_normalised=is_normalised
                )
                _check_matched(found, keys, table)
                joins.append(found)
        name = _name_in(table, label, labels)
        one = LabelColumn(name, left_key, ids, values, is_normalised, conflicting, options.missing)
        columns.append(one)
        data = one.add_to(data)
    if len(columns) == 1:
        warnings += _own_labels(table, labels, options, columns[0])
        conflicts = [one.text for one in warnings if one.code == "conflicting-labels"]
        if conflicts and table.complete and data.column(columns[0].name).null_count == data.num_rows:
            raise StreamError(f"no item has a label: {conflicts[-1]}")
    joined_table = replace(table, data=data, notes=(*table.notes, *labels.notes))
    joined = _joined(joined_table, labels, options, joins, columns)
    return joined._replace(warnings=tuple(warnings))


def _own_labels(
    table: RawTable, labels: RawTable, options: PanelOptions, column: LabelColumn
) -> Iterator[DataWarning]:
    """Warn if labels of a file contradict those that the table has itself."""
    classes = ClassNames(column.values.drop_null().unique().to_pylist(), (), options.missing)
    experts = {*table.hints.get("experts", ()), *table.hints.get("file_experts", ())}
    for name in table.data.column_names:
        is_same = name == column.name
        is_named = names.truth_strength(name) == 2 and not has_expert_column(table) and name not in experts
        if not is_same and (
            not is_named or matches(name, (*options.ignore, *options.attributes, *(options.experts or ())))
        ):
            continue
        profile = profile_column(name, table.data[name], options.missing)
        if not is_same and (not profile.is_discrete or classes.share(profile.counts) < MIN_OVERLAP):
            continue
        found = column.conflicts_with(table.data, name)
        if not found.items:
            continue
        where = f"{'the first rows of ' * (not table.complete)}{table.file}"
        text = describe_conflicts(found, where, labels.file)
        if is_same:
            text += "; they count as not labelled, so correct the labels of one file"
        else:
            text += f"; {name} is not used, so pass --ignore {shlex.quote(name)} if it is no label"
        yield conflict_warning(text, found.items, found.compared)


def _joined(
    table: RawTable, labels: RawTable, options: PanelOptions, joins: list[Join], columns: list[LabelColumn]
) -> Joined:
    """Return the table with hints on the columns that were joined."""
    by = "" if columns[0].key is None else f" by {columns[0].key}"
    made = labels.hints.get("reasons", {})
    reasons = {one.name: made.get(one.name, f"joined from {labels.file}{by}") for one in columns}
    hints = {**table.hints}
    if columns[0].key is not None and hints.setdefault("id", columns[0].key) == columns[0].key:
        reasons[columns[0].key] = f"joins {labels.file}"
    hints["reasons"] = {**hints.get("reasons", {}), **reasons}
    if len(columns) == 1:
        hints["label"] = columns[0].name
        options = replace(options, label=columns[0].name if options.label else None)
        return Joined(replace(table, hints=hints), options, joins, columns[0])
    listed = [one.name for one in columns]
    problem = (
        f"{len(listed)} columns of {labels.file} could be the label: {short_list(listed)}; name one with"
        " --label"
    )
    suggestion = {"--label": listed[0]}
    hints |= {"problem": problem, "suggestion": suggestion, "candidates": listed}
    hints.pop("label", None)
    return Joined(replace(table, hints=hints), options, joins, None, problem, suggestion)


def _name_in(table: RawTable, label: str, labels: RawTable) -> str:
    """Return the name of a column of labels in the joined table."""
    if label not in table.data.column_names:
        return label
    own = names.truth_strength(label) == 2 and not has_expert_column(table)
    return label if own else f"{label} of {labels.file}"


def _check_matched(join: Join, keys: tuple[Any, Any], table: RawTable) -> None:
    if not join.matched and table.complete:
        raise StreamError(
            f"no {short_repr(join.left)} of {table.file} (such as {key_examples(keys[0])}) is a"
            f" {short_repr(join.right)} of {join.file} (such as {key_examples(keys[1])}); name the columns"
            " of ids with --id and --labels-id"
        )


def _candidates(
    labels: RawTable, profiles: dict[str, ColumnProfile], key: str | None, options: PanelOptions
) -> list[str]:
    """Return the column of labels in a file of labels, or several that may be it."""
    if options.label and options.label in profiles:
        return [options.label]
    if options.label:
        raise missing_column(labels.file, options.label, list(profiles))
    others = [one for name, one in profiles.items() if name != key]
    strong = [one.name for one in others if names.truth_strength(one.name) == 2 and one.type != "empty"]
    discrete = [one.name for one in others if one.is_discrete and not one.is_unique]
    found = strong or discrete or [one.name for one in others]
    if found:
        return found
    raise StreamError(
        f"{labels.file} has no column of labels beside {short_repr(key)}; name it with --label and the ids"
        " with --labels-id"
    )


def _unique_labels(keys: Any, labels: Any) -> tuple[Any, Any, Any, int]:
    """Return each id with one label, its label, the ids with two different ones, and how many repeat."""
    table = pa.table({"key": keys, "label": labels})
    table = table.filter(pc.and_(pc.is_valid(table["key"]), pc.is_valid(table["label"])))
    groups = table.group_by("key").aggregate(
        [("label", "min"), ("label", "count_distinct"), ("label", "count")]
    )
    is_unique = pc.equal(groups["label_count_distinct"], 1)
    unique, others = groups.filter(is_unique), groups.filter(pc.invert(is_unique))
    ids, values, conflicting = (
        column.combine_chunks() for column in (unique["key"], unique["label_min"], others["key"])
    )
    return ids, values, conflicting, pc.sum(pc.greater(groups["label_count"], 1)).as_py() or 0


# --- keys


def _find_keys(
    table: RawTable, labels: RawTable, right_profiles: dict[str, ColumnProfile], options: PanelOptions
) -> tuple[str | None, str | None]:
    """Return the columns of ids of both files; None if they are joined by row."""
    left_profiles = profile_columns(table.data, options.missing)
    for name, own, file in (
        (options.id, left_profiles, table.file),
        (options.labels_id, right_profiles, labels.file),
    ):
        if name and name not in own:
            raise missing_column(file, name, list(own))
    left = [options.id] if options.id else _key_columns(left_profiles, table)
    right = [options.labels_id] if options.labels_id else _key_columns(right_profiles, labels)
    if options.label in right and options.label != options.labels_id:
        right.remove(options.label)
    for normalise in (False, True):
        best: tuple[str | None, str | None] = (None, None)
        most = 0.0
        for a in left:
            for b in right:
                found, share = _overlap(table, labels, a, b, normalise)
                chosen = bool(options.id and options.labels_id)
                same_name = a == b or chosen or (bool(options.id) and len(right) == 1)
                if found and (same_name or share >= MIN_OVERLAP) and share + same_name > most:
                    best, most = (a, b), share + same_name
        if best != (None, None):
            return best
    if options.id and options.labels_id:
        return options.id, options.labels_id
    named = [name for name in (*left, *right) if names.is_id_name(name)]
    if table.data.num_rows == labels.data.num_rows and not named and not options.labels_id:
        return None, None
    if left and right:
        return left[0], right[0]
    raise StreamError(
        f"{labels.file} ({labels.data.num_rows:,} rows) cannot be joined to {table.file}"
        f" ({table.data.num_rows:,} rows): no column of ids is in both; name them with --id and --labels-id"
    )


def _key_columns(profiles: dict[str, ColumnProfile], table: RawTable) -> list[str]:
    """Return the columns that may hold ids, those with the name of an id first."""
    hinted = [
        name for name in (table.hints.get("id"), *table.hints.get("columns", ())[:1]) if name in profiles
    ]
    usable = [one for one in profiles.values() if one.type in ("text", "integer", "free text")]
    named = [
        one.name for one in usable if names.is_id_name(one.name) or names.has_word(one.name, names.ITEM_WORDS)
    ]
    many = [one.name for one in usable if one.distinct >= MIN_KEYS]
    return list(dict.fromkeys([*hinted, *named, *many]))


def _overlap(table: RawTable, labels: RawTable, a: str, b: str, normalise: bool) -> tuple[int, float]:
    """Return how many ids are in both, and their share of the smaller set."""
    left, right = key_texts(table.data.column(a)).unique(), key_texts(labels.data.column(b)).unique()
    if normalise:
        left, right, _ = common_form(left, right)
    found = int(pc.sum(pc.is_in(left, value_set=right)).as_py() or 0)
    return found, found / max(min(len(left), len(right)), 1)
