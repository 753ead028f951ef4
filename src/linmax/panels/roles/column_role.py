"""What linmax reads in a panel: options of the user, the role of every column, and doubts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from linmax.panels.roles.profile import MISSING, ColumnProfile, profile_columns
from linmax.streams.schema import StreamError, missing_column
from linmax.validation import DataWarning

LISTS = ("experts", "attributes", "ignore", "classes", "missing")
"""The options that have several values."""
AS_IN_MODEL = "as in the model"
"""The reason of a role that a model has stored."""


@dataclass(frozen=True)
class PanelOptions:
    """What the user says about the files; None and empty mean that it is inferred.

    Parameters
    ----------
    label, id : str or None
        The column of labels and that of ids; "" means that there is none.
    experts : tuple of str or None
        The columns with votes, with wildcards. For a long table, the column of experts and that of votes.
    attributes, ignore : tuple of str
        Columns of attributes, and columns to ignore, with wildcards.
    classes : tuple of str
        Classes beside those of the labels: votes for them count.
    missing : tuple of str
        Cells that are read as missing.
    abstain : str
        A vote that abstains, in addition to those; "" if no other does.
    shape : {"wide", "scores", "long"} or None
        The shape of the table.
    header : bool
        Whether the first row of a text file has the names of the columns.
    labels : path or None
        A file with the labels.
    labels_id : str or None
        The column of ids in that file.
    ignore_case : bool
        Ignore case in labels, too: labels that differ by case only are one class.
    encoding : str
        The encoding of text files; "" detects it.
    sheet : str
        The sheet of a workbook; "" is the first.
    needs_label : bool
        Whether a table without labels is a problem.
    like : dict or None
        What a model knows (see `linmax.panels.stored`): a stored reading, whose roles columns have; or the
        names of its experts; or its classes alone. If it is "closed", votes for other classes abstain.
    """

    label: str | None = None
    id: str | None = None
    experts: tuple[str, ...] | None = None
    attributes: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    missing: tuple[str, ...] = MISSING
    abstain: str = ""
    shape: str | None = None
    header: bool = True
    labels: str | Path | None = None
    labels_id: str | None = None
    ignore_case: bool = False
    like: dict[str, Any] | None = None
    needs_label: bool = True
    encoding: str = ""
    sheet: str = ""

    @property
    def is_stored(self) -> bool:
        """Whether the roles are those that a model has stored; `like` may also name its experts only."""
        return self.like is not None and "columns" in self.like

    @property
    def is_by_name(self) -> bool:
        """Whether the experts are the columns with the names of a model's experts."""
        return self.like is not None and "experts" in self.like and not self.is_stored

    @property
    def is_closed(self) -> bool:
        """Whether votes for classes that the model does not know abstain."""
        return self.like is not None and (self.is_stored or bool(self.like.get("closed")))

    @property
    def known_classes(self) -> list[Any] | None:
        """The classes of the model that predicts the rows; None if the rows are learned, or there is none.

        Votes name these classes, whatever the labels are, so that labels do not change predictions.
        """
        return None if self.needs_label or self.like is None else list(self.like["classes"])

    @classmethod
    def from_keywords(cls, caller: str, given: Mapping[str, Any], **more: Any) -> PanelOptions:
        """Return the options that a user passes to a function as keywords.

        Parameters
        ----------
        caller
            The name of the function, for messages.
        given
            The keywords; one text is a list of one.
        **more
            Other options.

        Raises
        ------
        TypeError
            If there is no such option.

        Examples
        --------
        >>> PanelOptions.from_keywords("keyed", {"label": "truth", "ignore": "when"}).ignore
        ('when',)
        """
        options = [one.name for one in fields(cls) if one.name not in {"like", "needs_label", "abstain"}]
        values: dict[str, Any] = {}
        for name, value in given.items():
            if name not in options:
                close = get_close_matches(name, options, n=1)
                hint = (
                    f"did you mean {close[0]}=?" if close else f"options of columns are {', '.join(options)}"
                )
                raise TypeError(f"{caller} has no parameter {name!r}; {hint}")
            if name in LISTS and value is not None:
                value = (value,) if isinstance(value, str) else tuple(value)
            values[name] = value
        return cls(**values, **more)


@dataclass(frozen=True, eq=False)
class ProfiledTable:
    """A table whose columns are to be given roles, and what is known of it.

    Parameters
    ----------
    file : str
        Name of the file, for messages.
    data : pyarrow.Table
        The rows.
    profiles : dict of str to ColumnProfile
        What is in the columns.
    options : PanelOptions
        What the user says.
    hints : dict
        Roles that the format fixes: "label", "id", "attributes", "experts" and "scores", and for long tables
        "shape" and "columns" (item, expert, vote); also "reasons" by column, "candidates" for the label, and
        "file_experts", the columns of votes that are named after their files.
    """

    file: str
    data: Any
    profiles: dict[str, ColumnProfile]
    options: PanelOptions
    hints: dict[str, Any]


def profile_table(
    data: Any, options: PanelOptions, file: str = "the table", hints: dict[str, Any] | None = None
) -> ProfiledTable:
    """Profile the columns of a table; the parameters are the fields of `ProfiledTable`."""
    return ProfiledTable(file, data, profile_columns(data, options.missing), options, hints or {})


class ColumnRole(NamedTuple):
    """The role of a column.

    Attributes
    ----------
    name : str
        The name of the column.
    role : str
        "expert", "score", "confidence", "label", "id", "time", "attribute" or "ignored"; in a long table
        also "vote", and "expert" is the column that names the expert of each row.
    reason : str
        Why, in a few words.
    expert : str or None
        Whose vote, score or confidence it is.
    label : str or None
        The class that it is a score for.
    is_probability : bool
        Whether it is a probability, from 0 to 1, and the other one of two classes has the rest.
    is_per_cent : bool or None
        Whether its confidences are from 0 to 100, not from 0 to 1; None if nothing is known of it.
    """

    name: str
    role: str
    reason: str
    expert: str | None = None
    label: str | None = None
    is_probability: bool = False
    is_per_cent: bool | None = None


@dataclass(frozen=True)
class Reading:
    """How a table is read.

    Parameters
    ----------
    shape : {"wide", "long"}
        One row per item, or one row per vote.
    roles : list of ColumnRole
        The role of every column, in the order of the table.
    warnings : list of DataWarning
        What may be wrong.
    problem : str or None
        Why the table cannot be used as it is, and what to type; one sentence.
    suggestion : dict of str to str
        Options that solve the problem.
    """

    shape: str
    roles: list[ColumnRole]
    warnings: list[DataWarning] = field(default_factory=list)
    problem: str | None = None
    suggestion: dict[str, str] = field(default_factory=dict)

    def columns(self, role: str) -> list[ColumnRole]:
        """Return the columns that have a role."""
        return [one for one in self.roles if one.role == role]

    def column(self, role: str) -> str | None:
        """Return the name of the first column that has a role, or None."""
        return next((one.name for one in self.roles if one.role == role), None)


def select_columns(patterns: Iterable[str], columns: list[str], file: str) -> list[str]:
    """Return the columns that match patterns such as ``gpt*``; a pattern without a match is an error.

    Parameters
    ----------
    patterns : iterable of str
        Names of columns, perhaps with the wildcards ``*``, ``?`` and ``[...]``.
    columns : list of str
        The columns of the table.
    file : str
        Name of the file, for messages.

    Examples
    --------
    >>> select_columns(["gpt*", "ann"], ["ann", "gpt3", "gpt4", "bob"], "votes.csv")
    ['gpt3', 'gpt4', 'ann']
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        selected = [pattern] if pattern in columns else [name for name in columns if matches(name, [pattern])]
        if not selected:
            raise missing_column(file, pattern, columns)
        found.update(dict.fromkeys(selected))
    return list(found)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether the name of a column is one of these, or matches one with wildcards."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def check_roles_once(options: dict[str, list[str]], file: str) -> None:
    """Raise an error if a column is given two roles.

    Parameters
    ----------
    options : dict of str to list of str
        The columns named by each option.
    file : str
        Name of the file.
    """
    seen: dict[str, str] = {}
    for option, names in options.items():
        for name in names:
            if name in seen:
                raise StreamError(
                    f"column {name!r} of {file} is named by {seen[name]} and by {option}; name it once"
                )
            seen[name] = option


def as_dict(role: ColumnRole, profile: Any) -> dict[str, Any]:
    """Return a role with what is known of its column, for JSON."""
    found = {"column": role.name, "role": role.role, "reason": role.reason}
    if role.expert is not None:
        found["expert"] = role.expert
    if role.label is not None:
        found["class"] = role.label
    if profile is not None:
        found |= {
            "type": profile.type, "examples": profile.examples,
            "distinct": profile.distinct, "missing": profile.missing,
        }  # fmt: skip
    return found
