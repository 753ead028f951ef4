"""What is wrong with a file, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

LONGEST = 60  # letters of a value that a sentence shows
BRIEF = 20  # of a name, where several are listed


class StreamError(ValueError):
    """A file that cannot be read as it is: the sentence names the file, the place and the cure.

    >>> raise StreamError("votes.csv, line 3: 2 cells where the header has 3; mend the row")
    Traceback (most recent call last):
    linmax.streams.schema.StreamError: votes.csv, line 3: 2 cells where the header has 3; mend the row
    """


def short_repr(value: Any) -> str:
    """A value in a sentence, however long it is.

    >>> short_repr("spam"), len(short_repr("x" * 10**6))
    ("'spam'", 60)
    """
    if isinstance(value, str | bytes):
        value = value[:LONGEST]
    text = repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def short_list(names: Iterable[Any], most: int = 6) -> str:
    """A few names in a sentence.

    >>> short_list(["a", "b"]), short_list("abcdefgh", most=3)
    ('a, b', 'a, b, c, ...')
    >>> print(short_list(["two\\nlines"]))
    two\\nlines
    """
    words = [word if word.isprintable() else repr(word)[1:-1] for word in map(str, names)]
    words = [word if len(word) <= BRIEF else word[: BRIEF - 3] + "..." for word in words]
    return ", ".join(words if len(words) <= most else [*words[:most], "..."])


def no_column(file: str, name: str, columns: list[str]) -> StreamError:
    """Say that a column is missing, and which one may have been meant."""
    close = get_close_matches(name, columns[:1000], n=1)
    cure = f"did you mean {short_repr(close[0])}?" if close else f"it has {short_list(columns)}"
    return StreamError(f"{file} has no column {short_repr(name)}; {cure}")


SHAPES = ("wide", "scores", "long")
LABELS = ("truth", "label", "gold", "target")
IDS = ("id",)
ITEMS = ("item", "task", "example", "id")
EXPERTS = ("expert", "worker", "annotator", "rater", "model")
VOTES = ("vote", "answer", "annotation", "response")
SCORES = ("score", "value", "probability")


@dataclass(frozen=True)
class Schema:
    """What was found in a file; printed, it is a line to check.

    >>> print(Schema("votes.csv", "CSV", "gzip", "wide", ("ann", "bob"), "truth", None, (), ("when",)))
    votes.csv: CSV (gzip), wide: 2 experts (ann, bob), label truth; ignored: when
    """

    file: str
    format: str
    compression: str  # "", "gzip" or "zstd"
    shape: str  # "wide", "scores", "long", or "attributes" where nobody votes
    experts: tuple[str, ...]  # columns that vote; of the long shape item, expert, vote and perhaps score
    label: str | None
    id: str | None
    attributes: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    open: bool = field(default=False, repr=False)  # whether further experts may turn up (JSONL)

    def __str__(self) -> str:
        packed = f" ({self.compression})" if self.compression else ""
        parts = [self._panel(), f"label {self.label}" if self.label else "no label"]
        if self.id:
            parts.append(f"id {self.id}")
        if self.attributes:
            parts.append(f"{_count(self.attributes, 'attribute')} ({short_list(self.attributes)})")
        ignored = f"; ignored: {short_list(self.ignored)}" if self.ignored else ""
        return f"{self.file}: {self.format}{packed}, {self.shape}: {', '.join(parts)}{ignored}"

    def _panel(self) -> str:
        if self.shape == "attributes":
            return "nobody votes"
        if self.shape == "long":
            return f"each row an {'/'.join(self.experts)}"
        names = list(dict.fromkeys(split_score_column(column)[0] for column in self.experts))
        names = list(self.experts) if self.shape == "wide" else names
        return f"{_count(names, 'expert')} ({short_list(names)}{', and whoever comes' if self.open else ''})"


@dataclass(frozen=True)
class SchemaOptions:
    """What the caller says of the columns; None is to be found out, and "" is none."""

    label: str | None = None
    id: str | None = None
    attributes: tuple[str, ...] = ()
    experts: tuple[str, ...] | None = None
    shape: str | None = None


def split_score_column(column: str) -> tuple[str, str]:
    """The expert and the class in `expert:class`; the class is what follows the last colon.

    >>> split_score_column("llm:v2:spam"), split_score_column("ann")
    (('llm:v2', 'spam'), ('ann', ''))
    """
    expert, colon, name = column.rpartition(":")
    return (expert, name) if colon and expert and name else (column, "")


def found(
    columns: list[str], wishes: SchemaOptions, file: str
) -> tuple[str, tuple[str, ...], SchemaOptions, list[str]]:
    """The shape, the columns that vote, the other roles, and the columns that are left."""
    if wishes.shape is not None and wishes.shape not in SHAPES:
        raise StreamError(f"shape must be 'wide', 'scores' or 'long' (got {short_repr(wishes.shape)})")
    named = [wishes.label, wishes.id, *wishes.attributes, *(wishes.experts or ())]
    for name in named:
        if name and name not in columns:
            raise no_column(file, name, columns)
    twice = [name for name in named if name and named.count(name) > 1]
    if twice:
        raise StreamError(f"column {short_repr(twice[0])} of {file} is given two roles; give it one")
    taken = {name for name in named if name}
    free = [name for name in columns if name not in taken]
    if wishes.shape in (None, "long"):
        long = _long(free, wishes)
        if long is not None:
            label = _role(wishes.label, [name for name in free if name not in long], LABELS)
            roles = SchemaOptions(label, long[0], wishes.attributes)
            return "long", long, roles, _left(columns, long, roles)
        if wishes.shape == "long":
            raise StreamError(
                f"{file} has no columns item, expert and vote (it has {short_list(columns)}); rename its columns"
            )
    label = _role(wishes.label, free, LABELS)
    roles = SchemaOptions(label, _role(wishes.id, free, IDS), wishes.attributes)
    others = {label, roles.id, *wishes.attributes}
    voters = list(wishes.experts or (name for name in columns if name not in others and not _unnamed(name)))
    scored = [name for name in voters if split_score_column(name)[1]]
    shape = wishes.shape or ("scores" if scored else "wide")
    if shape == "scores":
        if not scored:
            raise StreamError(
                f"{file} has no columns named expert:class (it has {short_list(columns)}); rename them"
            )
        plain = next((name for name in voters if not split_score_column(name)[1]), None)
        if plain is not None and wishes.shape is None:
            raise StreamError(
                f"{file}: {short_repr(scored[0])} is a column of scores and {short_repr(plain)} is not;"
                " name those that vote with experts=, or pass shape="
            )
        voters = scored
    return shape, tuple(voters), roles, _left(columns, voters, roles)


def _long(free: list[str], wishes: SchemaOptions) -> tuple[str, ...] | None:
    item = wishes.id or called(free, ITEMS)
    if wishes.experts is not None and len(wishes.experts) >= 2:
        return (item, *wishes.experts[:3]) if item and wishes.shape == "long" else None
    expert, vote = called(free, EXPERTS), called(free, VOTES)
    if item is None or expert is None or vote is None:
        return None
    score = called(free, SCORES)
    return (item, expert, vote) if score is None else (item, expert, vote, score)


def called(columns: list[str], words: Iterable[str]) -> str | None:
    """The column called by the first of some words that is there, however it is capitalised."""
    lower = {name.strip().lower(): name for name in reversed(columns)}
    return next((lower[word] for word in words if word in lower), None)


def _role(wish: str | None, free: list[str], words: Iterable[str]) -> str | None:
    return called(free, words) if wish is None else wish or None


def _left(columns: list[str], voters: Iterable[str], roles: SchemaOptions) -> list[str]:
    used = {*voters, roles.label, roles.id, *roles.attributes}
    return [name for name in columns if name not in used]


def _unnamed(name: str) -> bool:
    """A column without a name, such as the index that a data frame writes along."""
    return name.startswith("column ") and name[7:].isdigit()


def _count(names: Iterable[str], word: str) -> str:
    size = len(list(names))
    return f"{size} {word}{'s' * (size != 1)}"
