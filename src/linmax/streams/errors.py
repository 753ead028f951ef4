"""What is wrong with a file, in one sentence."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

LONGEST = 60  # letters of a value that a sentence shows
BRIEF = 20  # of a name, where several are listed


class StreamError(ValueError):
    """A file that cannot be read as it is: the sentence names the file, the place and the cure.

    >>> raise StreamError("votes.csv, line 3: 2 cells where the header has 3; mend the row")
    Traceback (most recent call last):
    linmax.streams.errors.StreamError: votes.csv, line 3: 2 cells where the header has 3; mend the row
    """


def shown(value: Any) -> str:
    """A value in a sentence, however long it is.

    >>> shown("spam"), len(shown("x" * 10**6))
    ("'spam'", 60)
    """
    if isinstance(value, str | bytes):
        value = value[:LONGEST]
    text = repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def several(names: Iterable[Any], most: int = 6) -> str:
    """A few names in a sentence.

    >>> several(["a", "b"]), several("abcdefgh", most=3)
    ('a, b', 'a, b, c, ...')
    >>> print(several(["two\\nlines"]))
    two\\nlines
    """
    words = [word if word.isprintable() else repr(word)[1:-1] for word in map(str, names)]
    words = [word if len(word) <= BRIEF else word[: BRIEF - 3] + "..." for word in words]
    return ", ".join(words if len(words) <= most else [*words[:most], "..."])


def no_column(file: str, name: str, columns: list[str]) -> StreamError:
    """Say that a column is missing, and which one may have been meant."""
    close = get_close_matches(name, columns[:1000], n=1)
    cure = f"did you mean {shown(close[0])}?" if close else f"it has {several(columns)}"
    return StreamError(f"{file} has no column {shown(name)}; {cure}")
