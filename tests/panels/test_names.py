"""What the names of columns mean."""

import pytest

from linmax.panels.roles import names
from linmax.panels.roles.names import (
    CONFIDENCE_WORDS,
    is_id_name,
    says_whether_right,
    split_class,
    split_suffix,
    truth_strength,
    words_of,
)

LABELS = (
    "label truth gold gold_a my_gold ground_truth groundTruth y target class human_label GOLDEN:result y_true"
    " GT expected true_label final_label adjudicated label_text expert_label correct_answer Wahrheit"
)


@pytest.mark.parametrize("name", [*LABELS.split(), "ground truth", "richtige Klasse", "vérité", "Étiquette"])
def test_usual_names_of_labels_are_known(name):
    assert truth_strength(name) == 2


@pytest.mark.parametrize("name", ["rating", "sentiment", "winner", "consensus", "majority_vote"])
def test_some_names_are_of_labels_only_if_there_is_no_better_one(name):
    assert truth_strength(name) == 1


@pytest.mark.parametrize(
    "name", ["gpt4", "gpt4_label", "rater 1", "id", "acc", "gpt4_is_correct", "n_correct"]
)
def test_other_names_are_not_of_labels(name):
    assert truth_strength(name) == 0


@pytest.mark.parametrize(
    "name", ["acc", "is_correct", "gpt4_correct", "exact_match", "gpt4 is wrong", "errors"]
)
def test_columns_that_say_who_was_right_are_known(name):
    assert says_whether_right(name)


@pytest.mark.parametrize("name", ["id", "ID", "item_id", "docId", "uuid", "Beleg-Nr", "index", "Kennung"])
def test_usual_names_of_ids_are_known(name):
    assert is_id_name(name)


def test_names_are_split_at_capitals_and_without_accents():
    assert words_of("humanLabel_2 (Prüfer)") == ["human", "label", "2", "prufer"]


@pytest.mark.parametrize("separator", [":", "__", "_", ".", "-", "/", "|", " "])
def test_expert_and_class_are_split_at_every_separator_in_both_orders(separator):
    classes = {"bug": "bug", "not a bug": "Not a bug"}
    assert split_class(f"gpt4{separator}bug", classes) == ("gpt4", "bug")
    assert split_class(f"bug{separator}gpt4", classes) == ("gpt4", "bug")
    assert split_class(f"gpt4{separator}Not a bug", classes) == ("gpt4", "Not a bug")


def test_a_class_may_have_underscores_and_the_longest_one_counts():
    classes = {"spam": "spam", "not_spam": "not_spam"}
    assert split_class("gpt_4_not_spam", classes) == ("gpt_4", "not_spam")
    assert split_class("not_spam_gpt_4", classes) == ("gpt_4", "not_spam")


@pytest.mark.parametrize("name", ["p_yes_gpt", "gpt_prob_yes", "prob_gpt_yes", "gpt_yes_score"])
def test_words_such_as_prob_belong_neither_to_the_expert_nor_to_the_class(name):
    assert split_class(name, {"yes": "yes"}) == ("gpt", "yes")


def test_a_class_alone_names_no_expert():
    assert split_class("bug", {"bug": "bug"}) is None
    assert split_class("bug_", {"bug": "bug"}) is None


def test_a_word_is_split_off_at_either_end():
    assert split_suffix("gpt4 confidence", CONFIDENCE_WORDS) == ("gpt4", "confidence")
    assert split_suffix("prob_gpt4", CONFIDENCE_WORDS) == ("gpt4", "prob")


def test_every_word_is_one_that_names_are_split_into():
    for words in (names.ITEM_WORDS, names.ID_WORDS, names.EXPERT_WORDS, names.VOTE_WORDS, names.TIME_WORDS):
        assert all(names.words_of(word) == [word] for word in words)
