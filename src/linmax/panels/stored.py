"""Readings stored in a model: its next files are read in the same way, without options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linmax.fusion import Fusion
from linmax.panels.roles import names
from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.column_role import (
    AS_IN_MODEL,
    ColumnRole,
    PanelOptions,
    ProfiledTable,
    Reading,
    check_roles_once,
    select_columns,
)
from linmax.panels.roles.profile import MISSING, ColumnProfile
from linmax.panels.roles.wide.scores import is_per_cent, other_scale
from linmax.streams.schema import StreamError, missing_column, short_list
from linmax.validation import DataWarning

VERSION = 1
SCHEMA_NOTE = "schema"
"""The name of the note in a model that says how its file was read."""
LEARNED = ("expert", "score", "confidence", "vote", "attribute")
"""Roles of columns that a model learns from."""


def reading_for(
    fusion: Fusion, *, experts: Sequence[str] | None = None, shape: str | None = None
) -> dict[str, Any]:
    """Return what a model knows of its files, for `PanelOptions.like`: its columns, experts or classes.

    Parameters
    ----------
    fusion : Fusion
        The model.
    experts : sequence of str or None
        The columns of experts that the user names: then neither the stored roles nor names are used.
    shape : str or None
        The shape that the user names; the stored roles are used if they are of the same.
    """
    like = fusion.notes.get(SCHEMA_NOTE)
    if isinstance(like, dict) and experts is None and _is_shape(like.get("shape"), shape):
        return like
    known = {"classes": fusion.classes, "closed": isinstance(like, dict)}
    return {**known, "experts": fusion.experts} if experts is None and fusion.experts else known


def _is_shape(stored: Any, shape: str | None) -> bool:
    """Whether the shape that the user names is the stored one; a table of scores is stored as wide."""
    return shape is None or (shape == "long") == (stored == "long")


def store_reading(reading: Reading, classes: ClassNames) -> dict[str, Any]:
    """Return a reading as values that JSON has.

    Parameters
    ----------
    reading : Reading
        The roles of the columns.
    classes : ClassNames
        The classes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from linmax.panels.roles.column_role import PanelOptions, profile_table
    >>> reading = Reading("wide", [ColumnRole("ann", "expert", "", "ann"), ColumnRole("y", "label", "")])
    >>> stored = store_reading(reading, ClassNames(["a", "b"]))
    >>> other = profile_table(pa.table({"ann": ["a"], "eve": ["b"]}), PanelOptions())
    >>> found, _ = restore_reading(stored, other)
    >>> [(role.name, role.role, role.reason) for role in found.roles]
    [('ann', 'expert', 'as in the model'), ('eve', 'ignored', 'the model does not know it')]
    """
    return {
        "version": VERSION,
        "shape": reading.shape,
        "columns": [
            {"column": one.name, "role": one.role, "expert": one.expert, "class": one.label}
            | ({"probability": True} if one.is_probability else {})
            | ({} if one.is_per_cent is None else {"per_cent": one.is_per_cent})
            for one in reading.roles
            if one.role not in ("ignored", "time")
        ],
        "classes": [name if isinstance(name, int) else str(name) for name in classes.names],
        "missing": sorted(classes.missing),
    }


def restore_reading(stored: dict[str, Any], table: ProfiledTable) -> tuple[Reading, ClassNames]:
    """Return the roles of the columns of another file, as in a stored reading.

    Parameters
    ----------
    stored : dict
        What `store_reading` returned.
    table : ProfiledTable
        The other file. The options may name another label and id, attributes and columns to ignore, further
        classes and missing values.

    Returns
    -------
    reading : Reading
        Columns that are not in the stored reading are ignored.
    classes : ClassNames
        The stored classes and, if the rows are learned, new ones among the labels.

    Raises
    ------
    StreamError
        If the file has none of the columns that the model learned from, or the stored reading is damaged.
    """
    profiles, options, file = table.profiles, table.options, table.file
    try:
        known = {
            str(one["column"]): ColumnRole(
                str(one["column"]),
                str(one["role"]),
                AS_IN_MODEL,
                one["expert"],
                one["class"],
                one.get("probability") is True,
                one.get("per_cent"),
            )
            for one in stored["columns"]
        }
        stored_classes, missing = list(stored["classes"]), tuple(map(str, stored["missing"]))
        shape = str(stored["shape"])
    except (KeyError, TypeError):
        raise StreamError("the notes of the model on the columns of its file are damaged") from None
    columns = list(profiles)
    for role, name in (("label", options.label), ("id", options.id)):
        if name is not None:
            known = {key: one for key, one in known.items() if one.role != role}
            known |= {name: ColumnRole(name, role, f"named by --{role}")} if name else {}
            if name and name not in profiles:
                raise missing_column(file, name, columns)
    missing = merge_missing(missing, options.missing)
    label = next((name for name, one in known.items() if one.role == "label" and name in profiles), None)
    classes = ClassNames(stored_classes, options.classes, missing)
    if label is not None and options.known_classes is None:
        new = [
            value for value in profiles[label].counts if classes.find(value) is None and str(value) != "-1"
        ]
        classes = ClassNames([*stored_classes, *new], options.classes, missing)
    learned = [name for name, one in known.items() if one.role in LEARNED]
    found = [name for name in learned if name in columns]
    required = [name for name, one in known.items() if one.role in ("vote", "id", "expert")]
    known |= _named_roles(options, columns, file)
    if not found or (shape == "long" and any(name not in columns for name in required)):
        raise StreamError(
            f"{file} has not the columns that the model learned from ({short_list(learned)}); it has"
            f" {short_list(columns)}, so rename them, or name their roles with --experts, --id and --label"
        )
    roles = [known.get(name) or ColumnRole(name, "ignored", "the model does not know it") for name in columns]
    reading = Reading(shape, roles)
    _restore_scales(reading, profiles, file)
    return reading, classes


def merge_missing(stored: Sequence[str], given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the cells that are missing values: the stored ones, and what the user adds to the usual ones.

    Parameters
    ----------
    stored : sequence of str
        Those of the file that the model learned.
    given : tuple of str
        Those of the options; without one of the usual ones they replace the stored ones.

    Examples
    --------
    >>> merge_missing(["", "?"], MISSING), merge_missing(["", "?"], (*MISSING, "-"))
    (('', '?'), ('', '?', '-'))
    """
    if not set(given) >= set(MISSING):
        return given
    return tuple(dict.fromkeys((*stored, *(one for one in given if one not in MISSING))))


def _named_roles(options: PanelOptions, columns: list[str], file: str) -> dict[str, ColumnRole]:
    """Return the roles that --attributes and --ignore give to columns, whatever a model says."""
    attributes = select_columns(options.attributes, columns, file)
    ignored = select_columns(options.ignore, columns, file)
    check_roles_once({"--attributes": attributes, "--ignore": ignored}, file)
    return {name: ColumnRole(name, "attribute", "named by --attributes") for name in attributes} | {
        name: ColumnRole(name, "ignored", "named by --ignore") for name in ignored
    }


def _restore_scales(reading: Reading, profiles: dict[str, ColumnProfile], file: str) -> None:
    """Refuse confidences from 0 to 1 if the model learned per cent; note if it does not say what it learned.

    Those above 1, if it learned from 0 to 1, are refused where they are.
    """
    unknown = []
    for place, one in enumerate(reading.roles):
        if one.role != "confidence":
            continue
        found = is_per_cent(profiles[one.name])
        if one.is_per_cent and found is False:
            raise other_scale(one, profiles[one.name].high, file)
        if one.is_per_cent is None and found is not None:
            reading.roles[place] = one._replace(is_per_cent=found)
            unknown.append(f"{one.name} from 0 to {100 if found else 1}")
    if unknown:
        reading.warnings.append(
            DataWarning(
                "confidence-scale", "note",
                f"the model does not say whether its confidences were from 0 to 1 or from 0 to 100; this file"
                f" has {short_list(unknown, 3)}, so check that the file that it learned had the same",
            )
        )  # fmt: skip


def check_scales(stored: dict[str, Any] | None, reading: Reading, file: str) -> None:
    """Refuse a file whose confidences have another scale than those that a model learned from.

    Parameters
    ----------
    stored : dict or None
        What `store_reading` returned for the file that the model learned; None if it does not say.
    reading : Reading
        How the other file is read.
    file : str
        Its name, for the message.
    """
    columns = [one for one in (stored or {}).get("columns", ()) if isinstance(one, dict)]
    known = {one["column"]: one["per_cent"] for one in columns if "column" in one and "per_cent" in one}
    for one in reading.columns("confidence"):
        scale = known.get(one.name)
        if scale is not None and one.is_per_cent is not None and scale != one.is_per_cent:
            raise other_scale(one._replace(is_per_cent=scale), None, file)


def reading_by_name(known: dict[str, Any], table: ProfiledTable) -> tuple[Reading, ClassNames]:
    """Return the roles of columns for a model that does not say how its file was read.

    Columns with the names of its experts vote, and columns such as ``expert:class`` are scores.

    Parameters
    ----------
    known : dict
        The "experts" and "classes" of the model.
    table : ProfiledTable
        The file.

    Raises
    ------
    StreamError
        If no column belongs to an expert of the model.
    """
    profiles, options, file = [*table.profiles.values()], table.options, table.file
    experts = {str(name) for name in known["experts"]}
    classes = ClassNames(known["classes"], options.classes, options.missing)
    by_class = {str(name).lower(): str(name) for name in classes.names}
    columns = [one.name for one in profiles]
    attributes = select_columns(options.attributes, columns, file)
    ignored = select_columns(options.ignore, columns, file)
    free = [one for one in profiles if one.name not in ignored]
    label, id = _label_column(free, experts, options), _id_column(free, experts, options)
    roles = []
    for one in profiles:
        split = names.split_class(one.name, by_class)
        role = ColumnRole(one.name, "ignored", "the model does not know it")
        if one.name in ignored:
            role = ColumnRole(one.name, "ignored", "named by --ignore")
        elif one.name in attributes:
            role = ColumnRole(one.name, "attribute", "named by --attributes")
        elif one.name in experts:
            role = ColumnRole(one.name, "expert", "an expert of the model", one.name)
        elif one.name == label:
            role = ColumnRole(one.name, "label", "its name")
        elif one.name == id:
            role = ColumnRole(one.name, "id", "its name")
        elif split is not None and split[0] in experts:
            role = ColumnRole(one.name, "score", "a score of an expert of the model", *split)
        roles.append(role)
    if not attributes and not any(one.role in ("expert", "score") for one in roles):
        raise StreamError(
            f"{file} has no expert that the model knows (it has {short_list(columns)}; the model knows"
            f" {short_list(sorted(experts))}); name the columns as in the file that the model learned"
        )
    return Reading("wide", roles), classes


def _label_column(profiles: list[ColumnProfile], experts: set[str], options: PanelOptions) -> str | None:
    if options.label is not None:
        return options.label or None
    found = [one.name for one in profiles if names.truth_strength(one.name) == 2 and one.name not in experts]
    return found[0] if len(found) == 1 else None


def _id_column(profiles: list[ColumnProfile], experts: set[str], options: PanelOptions) -> str | None:
    if options.id is not None:
        return options.id or None
    found = [one for one in profiles if names.is_id_name(one.name) and one.name not in experts]
    return next((one.name for one in found if 2 * one.distinct >= one.present), None)
