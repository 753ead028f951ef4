"""What the usual names of columns mean: labels, ids, items, experts, votes, confidences and times."""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import combining, normalize


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TRUTH_NAMES = _words(
    "truth label gold target y class golden groundtruth gt expected reference y_true ytrue labels"
    " golden_label ground_truth goldstandard klasse zielklasse classe clase etikett etiquette etiqueta"
)
"""A column with exactly one of these names holds the labels."""
TRUTH_WORDS = _words(
    "truth gold golden true ground groundtruth gt human correct actual expected reference adjudicated"
    " final target wahrheit verite verdad verita richtig richtige wahr korrekt correcta correcte vrai"
)
"""A word in the name of a column that says that it holds the truth."""
SERIES_WORDS = _words("human correct actual expected reference adjudicated final target expert manual")
"""Such words say nothing if several columns have them: human_1, human_2; gpt4_final, claude_final."""
LABEL_WORDS = _words(
    "label labels class category answer value result response annotation klasse classe clase kategorie"
)
"""Words that names of votes and of labels have in common: gpt4_label, human_label."""
PERSON_WORDS = _words("expert manual sme adjudicator physician doctor")
"""With a word such as label, they say that a column holds the truth: expert_label."""
CODE_WORDS = _words("text name str string id idx int num code index encoded")
"""After a name of labels, they say that a column has the same labels in another form: label_text."""
WEAK_TRUTH_WORDS = _words(
    "rating category sentiment outcome diagnosis stars grade decision topic intent relevance toxicity"
    " verdict quality species survived churn fraud spam winner preference preferred"
    " majority consensus plurality aggregated aggregate"
)
"""Names that a column of labels often has, and other columns, too."""
AGGREGATE_WORDS = _words("majority consensus plurality aggregated aggregate")
"""Columns made from the votes of several experts."""
ID_WORDS = _words("id ids uid uuid guid key index idx no number nr identifier kennung hash")
ITEM_WORDS = _words(
    "item task question example doc document unit object instance sample image query sentence"
    " tweet record case row hit entity ticket video url message review post comment paper claim product"
    " order customer"
)
GROUP_WORDS = _words("customer product order video document doc url entity")
"""Items of which a table may have several rows."""
EXPERT_WORDS = _words(
    "worker workers annotator rater expert model user judge coder labeler labeller performer reviewer"
    " member classifier system llm crowdworker turker assessor grader voter participant by"
    " source username email radiologist pathologist physician moderator contributor respondent"
    " panelist juror"
)
VOTE_WORDS = _words(
    "label vote answer response annotation judgment judgement choice prediction predicted pred rating"
    " output result category class value verdict decision guess"
)
ATTRIBUTE_STARTS = _words("is has num n nb number count total")
ATTRIBUTE_WORDS = _words(
    "fold split partition subset feat batch age sex gender year month day hour count length len size"
    " seed epoch rank round turn page frame position tokens"
)
"""Names of columns whose values may look like classes, and are no votes."""
COUNT_WORDS = _words("votes counts count n num tally upvotes downvotes total annotations raters")
"""With a class, they name a column that counts the votes for it: votes_bug, n_yes, no_count."""
CONFIDENCE_WORDS = _words(
    "conf confidence prob proba probability certainty score p logprob likelihood weight"
    " konfidenz sicherheit wahrscheinlichkeit confiance probabilite confianza probabilidad"
)
TIME_WORDS = _words("time date created started submitted updated timestamp at when start end")
RESULT_WORDS = _words(
    "acc accuracy correct is_correct exact_match em match matches score_correct right is_right wrong is_wrong"
    " incorrect error errors mismatch agrees agreement correctness hit hits"
)
"""Columns that say whether an answer was right: they are made from the truth."""

RESULT_VALUES = _words("0 1 0.0 1.0 true false yes no y n right wrong correct incorrect")
POSITIVE = ("1", "true", "yes", "positive", "pos")
"""The class that a probability without a class speaks of."""

SEPARATORS = (":", "__", "_", ".", "-", "/", "|", " ")


def words_of(name: str) -> list[str]:
    """Split the name of a column into lower-case words.

    Examples
    --------
    >>> words_of("GOLDEN:result"), words_of("humanLabel"), words_of("!amt_worker_ids")
    (['golden', 'result'], ['human', 'label'], ['amt', 'worker', 'ids'])
    >>> words_of("Vérité"), words_of("gold2"), words_of("gpt4")
    (['verite'], ['gold', '2'], ['gpt4'])
    """
    return list(_cached_words(name))


@lru_cache(maxsize=1 << 15)
def _cached_words(name: str) -> tuple[str, ...]:
    name = "".join(one for one in normalize("NFKD", name) if not combining(one)).replace("ß", "ss")
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    words = (word for word in re.split(r"[\W_]+", spaced.lower()) if word)
    return tuple(part for word in words for part in _without_number(word))


def _without_number(word: str) -> tuple[str, ...]:
    """Split the number off a word for the truth: gold2 is gold_2."""
    text = word.rstrip("0123456789")
    return (text, word[len(text) :]) if text != word and text in TRUTH_WORDS else (word,)


def is_truth_name(name: str) -> bool:
    """Whether a name is exactly that of a truth; a letter such as y is none, as it may stand for anybody.

    Examples
    --------
    >>> [is_truth_name(name) for name in ("gold", "Ground Truth", "y", "gold_bot")]
    [True, True, False, False]
    """
    words = words_of(name)
    return len(name) > 1 and ("_".join(words) in TRUTH_NAMES or "".join(words) in TRUTH_NAMES)


def truth_strength(name: str) -> int:
    """Tell how clearly a name says that a column holds the labels: 2 clearly, 1 perhaps, 0 not.

    Examples
    --------
    >>> [truth_strength(name) for name in ("truth", "human_label", "label_final", "gold_a", "GOLDEN:result")]
    [2, 2, 2, 2, 2]
    >>> [truth_strength(name) for name in ("expert_label", "label_text", "vérité", "richtige Klasse")]
    [2, 2, 2, 2]
    >>> [truth_strength(name) for name in ("rating", "majority_vote", "gpt4_label", "is_correct")]
    [1, 1, 0, 0]
    """
    words = words_of(name)
    if says_whether_right(name):
        return 0
    if "_".join(words) in TRUTH_NAMES or "".join(words) in TRUTH_NAMES:
        return 2
    if TRUTH_WORDS & set(words) or words == ["hard", "label"]:
        return 2
    if PERSON_WORDS & set(words) and LABEL_WORDS & set(words):
        return 2
    if len(words) == 2 and words[0] in ("label", "class", "target") and words[1] in CODE_WORDS:
        return 2
    return 1 if words and (words[-1] in WEAK_TRUTH_WORDS or words[0] in AGGREGATE_WORDS) else 0


def says_whether_right(name: str) -> bool:
    """Whether a name says that a column tells if an answer was right, which is made from the truth.

    Examples
    --------
    >>> says_whether_right("acc"), says_whether_right("gpt4_is_correct"), says_whether_right("correct_label")
    (True, True, False)
    """
    words = words_of(name)
    joined = "_".join(words)
    if words[:2] == ["soft", "label"]:  # the distribution of the annotations
        return True
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


def is_item_id(name: str) -> bool:
    """Whether a name is that of the id of an item, not of a group of items such as a customer.

    Examples
    --------
    >>> is_item_id("id"), is_item_id("task_id"), is_item_id("customer_id"), is_item_id("fold no")
    (True, True, False, False)
    """
    words = words_of(name)
    others = set(words) - ID_WORDS
    return is_id_name(name) and (not others or bool(others & ITEM_WORDS - GROUP_WORDS))


def is_attribute_name(name: str) -> bool:
    """Whether a name is that of an attribute of an item, such as a count, a flag or a fold.

    Examples
    --------
    >>> [is_attribute_name(name) for name in ("is_vip", "num_images", "fold", "age", "gpt4", "run_2")]
    [True, True, True, True, False, False]
    """
    words = words_of(name)
    return bool(words) and (
        (len(words) > 1 and words[0] in ATTRIBUTE_STARTS) or bool(ATTRIBUTE_WORDS & set(words))
    )


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

    A word such as `prob` at the beginning, at the end or between both belongs to neither.

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
    >>> split_class("p_yes_gpt4", {"yes": "yes"}), split_class("gpt4_prob_yes", {"yes": "yes"})
    (('gpt4', 'yes'), ('gpt4', 'yes'))
    >>> split_class("gpt4_label", {"bug": "bug"})
    """
    found = split_at_class(name, classes)
    if found is None:
        inner = split_suffix(name, CONFIDENCE_WORDS)
        return split_at_class(inner[0], classes) if inner else None
    inner = split_suffix(found[0], CONFIDENCE_WORDS)
    return (inner[0], found[1]) if inner else found


def split_at_class(name: str, classes: dict[str, str]) -> tuple[str, str] | None:
    """Split a name at a class, as `split_class` does, and keep words such as `prob` in the expert."""
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
            if head in classes and len(head) > length and at + len(separator) < len(name):
                best, length = (name[at + len(separator) :], classes[head]), len(head)
            at = lower.rfind(separator, 0, at)
    return best
