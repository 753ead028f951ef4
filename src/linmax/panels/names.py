"""What the usual names of columns mean: labels, ids, items, experts, votes, confidences and times."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TRUTH_NAMES = _words(
    "truth label gold target y class golden groundtruth gt expected reference y_true ytrue labels"
    " golden_label ground_truth"
)
"""A column with exactly one of these names holds the labels."""
TRUTH_WORDS = _words(
    "truth gold golden true ground groundtruth gt human correct actual expected reference adjudicated"
    " final target wahrheit verite verdad"
)
"""A word in the name of a column that says that it holds the truth."""
SERIES_WORDS = _words("human correct actual expected reference adjudicated final target")
"""Such words say nothing if several columns have them: human_1, human_2; gpt4_final, claude_final."""
LABEL_WORDS = _words("label labels class category answer value result response annotation")
"""Words that names of votes and of labels have in common: gpt4_label, human_label."""
WEAK_TRUTH_WORDS = _words(
    "rating category sentiment outcome diagnosis stars grade decision topic intent relevance toxicity"
    " verdict quality species survived churn fraud spam"
)
"""Names that a column of labels often has, and other columns, too."""
ID_WORDS = _words("id ids uid uuid guid key index idx no number nr identifier kennung hash")
ITEM_WORDS = _words(
    "item task question example doc document unit object instance sample image query text_id sentence"
    " tweet record case row hit entity ticket video url message review post comment paper claim product"
    " order customer"
)
EXPERT_WORDS = _words(
    "worker workers annotator rater expert model user judge coder labeler labeller performer reviewer"
    " member classifier system llm crowdworker turker assessor grader voter participant completed_by"
    " source"
)
VOTE_WORDS = _words(
    "label vote answer response annotation judgment judgement choice prediction predicted pred rating"
    " output result category class value verdict decision guess"
)
CONFIDENCE_WORDS = _words(
    "conf confidence prob proba probability certainty score p logprob likelihood weight"
)
TIME_WORDS = _words("time date created started submitted updated timestamp at when start end")
RESULT_WORDS = _words("acc accuracy correct is_correct exact_match em match score_correct")
"""Columns that say whether an answer was right: they are made from the truth."""

SEPARATORS = (":", "__", "_", ".", "-", "/", "|", " ")


def words_of(name: str) -> list[str]:
    """Split the name of a column into lower-case words.

    Examples
    --------
    >>> words_of("GOLDEN:result"), words_of("humanLabel"), words_of("!amt_worker_ids")
    (['golden', 'result'], ['human', 'label'], ['amt', 'worker', 'ids'])
    """
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [word for word in re.split(r"[^a-z0-9äöüéèß]+", spaced.lower()) if word]


def truth_strength(name: str) -> int:
    """Tell how clearly a name says that a column holds the labels: 2 clearly, 1 perhaps, 0 not.

    Examples
    --------
    >>> [truth_strength(name) for name in ("truth", "human_label", "label_final", "gold_a", "GOLDEN:result")]
    [2, 2, 2, 2, 2]
    >>> [truth_strength(name) for name in ("rating", "gpt4_label", "is_correct")]
    [1, 0, 0]
    """
    words = words_of(name)
    if says_whether_right(name):
        return 0
    if "_".join(words) in TRUTH_NAMES or "".join(words) in TRUTH_NAMES:
        return 2
    if TRUTH_WORDS & set(words):
        return 2
    return 1 if words and words[-1] in WEAK_TRUTH_WORDS else 0


def says_whether_right(name: str) -> bool:
    """Whether a name says that a column tells if an answer was right, which is made from the truth.

    Examples
    --------
    >>> says_whether_right("acc"), says_whether_right("gpt4_is_correct"), says_whether_right("correct_label")
    (True, True, False)
    """
    words = words_of(name)
    joined = "_".join(words)
    return any(joined == word or joined.endswith("_" + word) for word in RESULT_WORDS)


def is_id_name(name: str) -> bool:
    """Whether a name is that of an id.

    Examples
    --------
    >>> is_id_name("id"), is_id_name("item_id"), is_id_name("docId"), is_id_name("video")
    (True, True, True, False)
    """
    words = words_of(name)
    return bool(words) and (words[-1] in ID_WORDS or words[0] in ("id", "uid", "uuid"))


def is_time_name(name: str) -> bool:
    """Whether a name is that of a time."""
    return bool(TIME_WORDS & set(words_of(name)))


def has_word(name: str, words: frozenset[str]) -> bool:
    """Whether one of the words of a name is among these."""
    return bool(words & set(words_of(name)))


def split_suffix(name: str, words: frozenset[str]) -> tuple[str, str] | None:
    """Split a name into a stem and one of these words at its end, or at its beginning.

    Examples
    --------
    >>> split_suffix("gpt4_conf", CONFIDENCE_WORDS), split_suffix("p_gpt4", CONFIDENCE_WORDS)
    (('gpt4', 'conf'), ('gpt4', 'p'))
    >>> split_suffix("gpt4", CONFIDENCE_WORDS)
    """
    for separator in SEPARATORS:
        stem, found, word = name.rpartition(separator)
        if found and stem and word.lower() in words:
            return stem, word
    for separator in SEPARATORS:
        word, found, stem = name.partition(separator)
        if found and stem and word.lower() in words:
            return stem, word
    return None


def split_class(name: str, classes: dict[str, str]) -> tuple[str, str] | None:
    """Split `expert_class`, `expert:class` or `class_expert` into the expert and the class.

    Parameters
    ----------
    name : str
        The name of a column.
    classes : dict of str to str
        The classes by their lower-case names.

    Examples
    --------
    >>> split_class("gpt4_bug", {"bug": "bug"}), split_class("llm:v2:Not Spam", {"not spam": "Not Spam"})
    (('gpt4', 'bug'), ('llm:v2', 'Not Spam'))
    >>> split_class("gpt4_label", {"bug": "bug"})
    """
    lower = name.lower()
    best: tuple[str, str] | None = None
    length = 0
    for separator in SEPARATORS:
        at = lower.find(separator)
        while at > 0:  # the longest class that the name ends with
            tail = lower[at + len(separator) :]
            if tail in classes and len(tail) > length:
                best, length = (name[:at], classes[tail]), len(tail)
            at = lower.find(separator, at + 1)
    if best is not None:
        return best
    for separator in SEPARATORS:
        at = lower.rfind(separator)
        while at > 0:
            head = lower[:at]
            if head in classes and len(head) > length:
                best, length = (name[at + len(separator) :], classes[head]), len(head)
            at = lower.rfind(separator, 0, at)
    return best
