"""Classes: which spellings of votes and labels name the same class, and which votes name none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from linmax.panels.roles.profile import MISSING
from linmax.streams.columns import single_chunk

MIN_LABELS = 50
"""With fewer labelled rows, a vote that is never a label may still be a class."""

TRUE_FALSE = {"true": "1", "false": "0"}
SHORT_WORDS = (
    {"y": "yes", "n": "no"},
    {"t": "true", "f": "false"},
    {"pos": "positive", "neg": "negative", "neu": "neutral"},
    {"p": "positive", "n": "negative"},
)
"""Pairs of words that mean the same, of which votes may have one and labels the other."""
TRUTH_VALUES = (
    frozenset({"1", "true", "yes", "ja", "oui", "t", "y"}),
    frozenset({"0", "false", "no", "nein", "non", "f", "n"}),
)
"""What yes and no are called: if there is one class of each, all of these words name it."""
NO_PREFIXES = frozenset({"yes", "not", "non", "none", "nor", "nil", "true", "false", "unk", "err", "error"})
"""Beginnings of words that mean something by themselves."""
MIN_PREFIX, MAX_ABBREVIATED = 3, 3
"""Letters of a beginning that stands for a class, and the largest number of classes with abbreviations."""
MIN_ABBREVIATED = 0.95
"""Abbreviations count in a column if nearly all values are classes, and two classes are named."""


class ClassNames:
    """The classes of a panel, and how other spellings are mapped to them.

    A vote that differs from a label by whitespace, by case, or as ``1.0``, ``1`` and ``True`` differ, names
    the class of this label, unless two labels differ in just that. If there are two or three classes, so does
    an abbreviation such as ``Y`` for yes or ``neg`` for negative, unless it may stand for two of them. If the
    classes are 0 and 1, true and false, or yes and no, any of these words names them.

    Parameters
    ----------
    labels : iterable
        The distinct labels: texts, integers or booleans.
    extra : iterable of str
        Further classes, which only votes name.
    missing : tuple of str
        Texts that are read as a missing value.

    Attributes
    ----------
    names : list
        The classes.
        All of them are integers, or all are texts: booleans are ``"True"`` and ``"False"``.

    abstaining : frozenset of str
        Votes that abstain even where others that name no class are kept, such as 0 among -1 and 1; empty
        unless it is set.

    Examples
    --------
    >>> import pyarrow as pa
    >>> names = ClassNames(["0", "1"])
    >>> names.find("1.0"), names.find(" 1 "), names.find("True"), names.find("2")
    ('1', '1', '1', None)
    >>> names.encode(pa.array(["True", "NA", "2"])).to_pylist()
    ['1', None, None]
    >>> [ClassNames(["yes", "no"]).find(vote) for vote in ("Y", "n", "maybe")]
    ['yes', 'no', None]
    """

    def __init__(
        self, labels: Iterable[Any], extra: Iterable[str] = (), missing: tuple[str, ...] = MISSING
    ) -> None:
        self.names: list[Any] = _one_type([*labels])
        self.abstaining: frozenset[str] = frozenset()
        self.missing = frozenset(text.strip() for text in missing)
        self._exact: dict[str, Any] = {_text(name): name for name in self.names}
        self._levels = [self._by_key(key) for key in KEYS]
        self._short: dict[str, Any] = {}
        self._words: dict[str, Any] = {}
        named = [str(name) for name in extra if str(name).strip() not in self.missing]
        further = [name for name in named if self.find(name) is None]
        if further:
            is_whole = self.are_integers and all(name.removeprefix("-").isdecimal() for name in further)
            self.names = _one_type([*self.names, *(int(name) if is_whole else name for name in further)])
            self._exact = {_text(name): name for name in self.names}
            self._levels = [self._by_key(key) for key in KEYS]
        self._short = _abbreviations(self.names)
        self._words = _truth_values(self.names)

    @property
    def are_integers(self) -> bool:
        """Whether the classes are integers; else they are texts."""
        return bool(self.names) and type(self.names[0]) is int

    @property
    def are_signs(self) -> bool:
        """Whether the classes are -1 and 1, beside which 0 usually abstains."""
        return set(map(str, self.names)) == {"-1", "1"}

    def _by_key(self, key: Callable[[str], str]) -> dict[str, Any]:
        """Return the classes by key, without those whose key another class has, too."""
        found: dict[str, Any] = {}
        twice = set()
        for text, name in self._exact.items():
            if found.setdefault(key(text), name) != name:
                twice.add(key(text))
        return {text: name for text, name in found.items() if text not in twice}

    def find(self, value: Any) -> Any:
        """Return the class that a vote names, or None.

        Parameters
        ----------
        value : object
            A cell.
        """
        found = self._find_short(value)
        return self._words.get(_numeric(_text(value))) if found is None else found

    def _find_short(self, value: Any) -> Any:
        """Return the class that a vote names, perhaps abbreviated, or None."""
        found = self._find_spelled(value)
        return self._short.get(folded(_text(value))) if found is None else found

    def _find_spelled(self, value: Any) -> Any:
        """Return the class that a vote names without abbreviating it, or None."""
        text = _text(value)
        if text in self._exact:
            return self._exact[text]
        for level, key in zip(self._levels, KEYS, strict=True):
            found = level.get(key(text))
            if found is not None:
                return found
        return None

    def is_missing(self, value: Any) -> bool:
        """Whether a cell is empty or means a missing value."""
        return value is None or (isinstance(value, str) and value.strip() in self.missing)

    def share(self, counts: dict[Any, int]) -> float:
        """Return which share of the cells of a column names a class; missing ones do not count.

        Parameters
        ----------
        counts : dict
            How often each value of the column occurs.
        """
        present = {value: count for value, count in counts.items() if not self.is_missing(value)}
        total = sum(present.values())
        spelled = sum(count for value, count in present.items() if self._find_spelled(value) is not None)
        found = {value: self._find_short(value) for value in present}
        named = sum(count for value, count in present.items() if found[value] is not None)
        is_clear = named >= MIN_ABBREVIATED * total and len({*found.values()} - {None}) > 1
        return (named if is_clear else spelled) / total if total else 0.0

    def are_other_words(self, counts: dict[Any, int]) -> bool:
        """Whether all values of a column name two classes in other words: yes and no for 1 and 0.

        Features have such values, too, so they are no evidence of votes.

        Parameters
        ----------
        counts : dict
            How often each value of the column occurs.
        """
        found = {self.find(value) for value in counts if not self.is_missing(value)}
        return len(found) == 2 and None not in found and not self.share(counts)

    def shared_abstentions(self, columns: Iterable[Mapping[Any, int]]) -> set[str]:
        """Return what abstains: the only value that is no class, in several columns with two classes each.

        Parameters
        ----------
        columns : iterable of mapping
            How often each value of a column occurs.

        Examples
        --------
        >>> columns = {"ham": 2, "spam": 3, "skip": 40}, {"spam": 3, "ham": 1, "skip": 9}, {"spam": 3, "a": 7}
        >>> ClassNames(["ham", "spam"]).shared_abstentions(columns)
        {'skip'}
        """
        alone: Counter[str] = Counter()
        for counts in columns:
            named = {value: self.find(value) for value in counts if not self.is_missing(value)}
            others = [value for value, name in named.items() if name is None]
            if len(others) == 1 and len({*named.values()}) > 2:
                alone[str(others[0])] += 1
        return {value for value, count in alone.items() if count > 1}

    def encode(self, column: Any, *, keep: bool = False) -> Any:
        """Return a column with every vote replaced by its class, as an Arrow dictionary array.

        Parameters
        ----------
        column : pyarrow.Array or pyarrow.ChunkedArray
            The votes.
        keep : bool
            Whether votes that name no class are kept as classes of their own; else they are null.
        """
        array = single_chunk(column)
        if pa.types.is_floating(array.type):
            array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
        if not pa.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        cells = array.dictionary.to_pylist()
        values = [self._class_of(value, keep) for value in cells]
        if values == cells and pa.types.is_string(array.dictionary.type) and None not in values:
            return array
        distinct: dict[Any, int] = {}
        for value in values:
            if value is not None:
                distinct.setdefault(value, len(distinct))
        codes = pa.array([None if value is None else distinct[value] for value in values], pa.int32())
        indices = codes.take(array.indices) if len(codes) else array.indices.cast(pa.int32())
        kind = pa.int64() if self.are_integers else pa.string()
        return pa.DictionaryArray.from_arrays(indices, pa.array(list(distinct), kind))

    def _class_of(self, value: Any, keep: bool) -> Any:
        if self.is_missing(value):
            return None
        found = self.find(value)
        if found is not None or not keep or _numeric(_text(value)) in self.abstaining:
            return found
        if not self.are_integers:
            return _text(value).strip()
        text = _text(value).strip()
        return int(text) if text.removeprefix("-").isdecimal() else None


def ignore_case(values: Iterable[Any]) -> list[Any]:
    """Return values without those that differ from one before by case or whitespace only.

    Examples
    --------
    >>> ignore_case(["Bug", "bug", "fix"])
    ['Bug', 'fix']
    """
    first: dict[str, Any] = {}
    for value in values:
        first.setdefault(folded(str(value)), value)
    return list(first.values())


def _abbreviations(names: list[Any]) -> dict[str, Any]:
    """Return abbreviations of two or three classes, and what classes abbreviate, if only one is meant."""
    by_text = {folded(_text(name)): name for name in names}
    if not 1 < len(names) <= MAX_ABBREVIATED or len(by_text) < len(names):
        return {}
    found: dict[str, Any] = {}
    for words in SHORT_WORDS:
        own = {words.get(text, text): name for text, name in by_text.items()}
        if sum(full in own for full in words.values()) > 1:
            for short, full in words.items():
                if full in own:
                    found |= {short: own[full], full: own[full]}
    differ = len({text[:1] for text in by_text}) == len(by_text)
    for text, name in by_text.items():
        if not text.isalpha():
            continue
        beginnings = {text[:length] for length in range(MIN_PREFIX, len(text))} - NO_PREFIXES
        found |= dict.fromkeys(beginnings | {text[:1]}, name)
    return {
        text: name
        for text, name in found.items()
        if text not in by_text
        and (differ or len(text) > 1)
        and sum(other.startswith(text) or text.startswith(other) for other in by_text) == 1
    }


def _truth_values(names: list[Any]) -> dict[str, Any]:
    """Return the words that mean yes and no, if there is one class of each and no other."""
    texts = {_numeric(_text(name)): name for name in names}
    own = [[name for text, name in texts.items() if text in words] for words in TRUTH_VALUES]
    if len(names) != 2 or [len(one) for one in own] != [1, 1]:
        return {}
    return {word: one[0] for words, one in zip(TRUTH_VALUES, own, strict=True) for word in words}


def _one_type(names: list[Any]) -> list[Any]:
    """Return the names without repetitions, as integers or as texts."""
    whole = [int(name) if isinstance(name, float) and name.is_integer() else name for name in names]
    return list(dict.fromkeys(whole if all(type(name) is int for name in whole) else map(_text, whole)))


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def _stripped(text: str) -> str:
    return " ".join(text.split())


def folded(text: str) -> str:
    """Return a text without its case and further whitespace.

    Examples
    --------
    >>> folded(" Not  sure")
    'not sure'
    """
    return _stripped(text).casefold()


def _numeric(text: str) -> str:
    """Return a text in which 1.0, 1 and True are the same."""
    plain = folded(text)
    plain = TRUE_FALSE.get(plain, plain)
    whole, point, zeros = plain.partition(".")
    return whole if point and not zeros.strip("0") and whole.removeprefix("-").isdecimal() else plain


KEYS: tuple[Callable[[str], str], ...] = (_stripped, folded, _numeric)
"""What two spellings of a class have in common, the strictest first."""
