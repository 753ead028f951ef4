"""The schema of a file: which columns hold votes, labels, ids and attributes; and errors about files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

from linmax.validation import count_noun

MAX_VALUE_LENGTH = 60  # characters of a value in a message
MAX_NAME_LENGTH = 20  # characters of a name in a list of names
UNNAMED = "column {}"  # a column whose header is empty, such as the index of a data frame


class StreamError(ValueError):
    """A file cannot be read; the message is one sentence with the file, the place and the fix.

    Examples
    --------
    >>> raise StreamError("votes.csv, line 3: 2 cells where the header has 3; fix the row")
    Traceback (most recent call last):
    linmax.streams.schema.StreamError: votes.csv, line 3: 2 cells where the header has 3; fix the row
    """


@dataclass(frozen=True)
class Schema:
    """What a file contains and how its columns are used.

    `str(schema)` is one line that a user can check.

    Parameters
    ----------
    file : str
        Name of the file.
    format : str
        "CSV", "TSV", "JSONL", "Parquet", "Arrow", "npy", "npz" or "svmlight".
    compression : str
        "gzip", "zstd", or "" for an uncompressed file.
    shape : {"wide", "scores", "long", "attributes"}
        "wide" has one column per expert, "scores" has columns `expert:class`, "long" has one row per vote,
        and "attributes" has no votes.
    experts : tuple of str
        The columns with votes. For the long shape: the columns of items, experts, votes and, if there are
        any, scores.
    label : str or None
        The column of labels.
    id : str or None
        The column of ids.
    attributes : tuple of str
        The columns of attributes.
    ignored : tuple of str
        All other columns.
    open : bool
        Whether later rows may name further experts (JSONL only).

    Examples
    --------
    >>> print(Schema("votes.csv", "CSV", "gzip", "wide", ("ann", "bob"), "truth", None, (), ("when",)))
    votes.csv: CSV (gzip), wide: 2 experts (ann, bob), label truth; ignored: when
    """

    file: str
    format: str
    compression: str
    shape: str
    experts: tuple[str, ...]
    label: str | None
    id: str | None
    attributes: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    open: bool = field(default=False, repr=False)

    def __str__(self) -> str:
        compression = f" ({self.compression})" if self.compression else ""
        parts = [self._describe_votes(), f"label {self.label}" if self.label else "no label"]
        if self.id:
            parts.append(f"id {self.id}")
        if self.attributes:
            parts.append(f"{_count(self.attributes, 'attribute')} ({short_list(self.attributes)})")
        ignored = f"; ignored: {short_list(self.ignored)}" if self.ignored else ""
        return f"{self.file}: {self.format}{compression}, {self.shape}: {', '.join(parts)}{ignored}"

    def _describe_votes(self) -> str:
        if self.shape == "attributes":
            return "no votes"
        if self.shape == "long":
            return f"one row per {'/'.join(self.experts)}"
        if self.shape == "wide":
            names = list(self.experts)
        else:
            names = list(dict.fromkeys(split_score_column(column)[0] for column in self.experts))
        more = ", more may follow" if self.open else ""
        return f"{_count(names, 'expert')} ({short_list(names)}{more})"


@dataclass(frozen=True)
class SchemaOptions:
    """What the caller specifies about the columns.

    Parameters
    ----------
    label, id : str or None
        The name of the column; None and "" for no such column.
    attributes : tuple of str
        The columns of attributes.
    experts : tuple of str or None
        The columns with votes; None for all columns that have no other role. In the long shape, the columns
        of experts, of votes and perhaps of scores.
    shape : {"wide", "scores", "long"} or None
        The shape of the table; None for "scores" if columns are named `expert:class`, and else for "wide".
    """

    label: str | None = None
    id: str | None = None
    attributes: tuple[str, ...] = ()
    experts: tuple[str, ...] | None = None
    shape: str | None = None


class ColumnRoles(NamedTuple):
    """The shape of a table and the role of each of its columns; the fields are those of `Schema`."""

    shape: str
    experts: tuple[str, ...]
    label: str | None
    id: str | None
    attributes: tuple[str, ...]
    ignored: tuple[str, ...]


def assign_roles(columns: list[str], options: SchemaOptions, file: str) -> ColumnRoles:
    """Assign a role to each column, as the options say.

    Parameters
    ----------
    columns : list of str
        All columns of the file.
    options : SchemaOptions
        What the caller specifies.
    file : str
        Name of the file, for error messages.

    Returns
    -------
    ColumnRoles

    Raises
    ------
    StreamError
        If the options do not fit the columns, or votes and scores are mixed.

    Examples
    --------
    >>> options = SchemaOptions(label="truth", id="id")
    >>> assign_roles(["id", "ann", "bob", "truth"], options, "votes.csv")[:4]
    ('wide', ('ann', 'bob'), 'truth', 'id')
    """
    require_label(columns, options, file)
    _check_options(columns, options, file)
    label, id = options.label or None, options.id or None
    if options.shape == "long":
        experts = options.experts or ()
        if id is None or not 2 <= len(experts) <= 3:
            raise StreamError(
                f"{file}: a long table needs id= for its items and experts=[EXPERT, VOTE] or [EXPERT, VOTE,"
                f" SCORE] (it has {short_list(columns)}); name these columns"
            )
        return _roles("long", (id, *experts), label, id, options, columns)
    others = {label, id, *options.attributes}
    rest = (name for name in columns if name not in others and not _is_unnamed(name))
    voting = tuple(rest) if options.experts is None else options.experts
    scores = tuple(name for name in voting if split_score_column(name)[1])
    shape = options.shape or ("scores" if scores else "wide")
    if shape == "scores":
        if not scores:
            raise StreamError(
                f"{file} has no columns named expert:class (it has {short_list(columns)}); rename them"
            )
        plain = next((name for name in voting if not split_score_column(name)[1]), None)
        if plain is not None and options.shape is None:
            raise StreamError(
                f"{file}: {short_repr(scores[0])} is a column of scores and {short_repr(plain)} is not;"
                " select the columns with votes with experts=, or pass shape="
            )
        voting = scores
    return _roles(shape, voting, label, id, options, columns)


def require_label(columns: list[str], options: SchemaOptions, file: str) -> None:
    """Refuse options that leave open which column holds the labels: it must not vote."""
    if options.label is None and options.experts is None:
        raise StreamError(
            f"{file} has the columns {short_list(columns)}; name that of the labels with label= ('' if there"
            " is none), or read the file with linmax.panels.read_panel, which infers roles"
        )


def split_score_column(column: str) -> tuple[str, str]:
    """Split `expert:class` at the last colon; the class is "" if there is none.

    Examples
    --------
    >>> split_score_column("llm:v2:spam"), split_score_column("ann")
    (('llm:v2', 'spam'), ('ann', ''))
    """
    expert, colon, name = column.rpartition(":")
    return (expert, name) if colon and expert and name else (column, "")


def missing_column(file: str, name: str, columns: list[str]) -> StreamError:
    """Return the error for a column that does not exist, with the most similar name."""
    close = get_close_matches(name, columns[:1000], n=1)
    fix = f"did you mean {short_repr(close[0])}?" if close else f"it has {short_list(columns)}"
    return StreamError(f"{file} has no column {short_repr(name)}; {fix}")


def short_repr(value: Any) -> str:
    """Return the `repr` of a value, cut off after 60 characters.

    Examples
    --------
    >>> short_repr("spam"), len(short_repr("x" * 10**6))
    ("'spam'", 60)
    """
    if isinstance(value, str | bytes):
        value = value[:MAX_VALUE_LENGTH]
    text = repr(value)
    return text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 3] + "..."


def short_list(names: Iterable[Any], limit: int = 6) -> str:
    r"""Join names with commas; long names are cut off, and so are names after the first `limit`.

    Examples
    --------
    >>> short_list(["a", "b"]), short_list("abcdefgh", limit=3)
    ('a, b', 'a, b, c, ...')
    >>> print(short_list(["two\nlines"]))
    two\nlines
    """
    words = [word if word.isprintable() else repr(word)[1:-1] for word in map(str, names)]
    words = [word if len(word) <= MAX_NAME_LENGTH else word[: MAX_NAME_LENGTH - 3] + "..." for word in words]
    return ", ".join(words if len(words) <= limit else [*words[:limit], "..."])


def _check_options(columns: list[str], options: SchemaOptions, file: str) -> None:
    named = [options.label, options.id, *options.attributes, *(options.experts or ())]
    named = [name for name in named if name]
    for name in named:
        if name not in columns:
            raise missing_column(file, str(name), columns)
        if named.count(name) > 1:
            raise StreamError(f"column {short_repr(name)} of {file} is given two roles; give it one")


def _roles(
    shape: str,
    experts: tuple[str, ...],
    label: str | None,
    id: str | None,
    options: SchemaOptions,
    columns: list[str],
) -> ColumnRoles:
    used = {*experts, label, id, *options.attributes}
    ignored = tuple(name for name in columns if name not in used)
    return ColumnRoles(shape, experts, label, id, options.attributes, ignored)


def _is_unnamed(name: str) -> bool:
    prefix = UNNAMED.format("")
    return name.startswith(prefix) and name[len(prefix) :].isdigit()


def _count(names: Iterable[str], noun: str) -> str:
    return count_noun(len(list(names)), noun)
