"""Long tables, one row per vote: found by names and by structure, grouped without sorting."""

import random

import pytest

from linmax import Fusion
from linmax.streams import StreamError
from tests.panels.small_tables import (
    CLASSES,
    codes_of,
    draw_labels,
    experts_of,
    labels_of,
    read_columns,
    roles_of,
    vote,
    votes_of,
)

ITEMS = 40
LABELS = draw_labels(ITEMS)


def long_columns(names=("task", "worker", "label"), workers=("ann", "bob", "eve"), accuracy=0.8, seed=0):
    """Return the votes of some workers on all items, in random order."""
    rows = [
        (f"T{t}", worker, one)
        for i, worker in enumerate(workers)
        for t, one in enumerate(vote(LABELS, accuracy, i))
    ]
    random.Random(seed).shuffle(rows)
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def truth_of(columns, item="task"):
    return [LABELS[int(one[1:])] for one in columns[item]]


@pytest.mark.parametrize(
    "names",
    [
        ("task", "worker", "label"),
        ("item_id", "annotator", "answer"),
        ("question", "model", "response"),
        ("INPUT:image", "ASSIGNMENT:worker_id", "OUTPUT:result"),
        ("orig_id", "!amt_worker_ids", "judgment"),
        ("_unit_id", "_worker_id", "is_a_bug"),
        ("doc", "labeled by", "category"),
    ],
)
def test_long_tables_are_found_under_many_names(names):
    panel = read_columns(long_columns(names))
    assert roles_of(panel) == dict(zip(names, ("id", "expert", "vote"), strict=True))
    assert panel.chunk.items == ITEMS
    assert experts_of(panel) == ["ann", "bob", "eve"]


def test_long_tables_are_found_by_structure_without_the_name_of_an_expert():
    columns = long_columns(("item_id", "who", "says"))
    assert roles_of(read_columns(columns | {"gold": truth_of(columns, "item_id")})) == {
        "item_id": "id", "who": "expert", "says": "vote", "gold": "label",
    }  # fmt: skip


def test_the_order_of_rows_changes_nothing():
    first, second = (read_columns(long_columns(seed=seed)) for seed in (1, 2))
    assert votes_of(first) == votes_of(second)


def test_workers_may_be_integers():
    columns = long_columns(workers=(1, 2, 3))
    columns["label"] = [CLASSES.index(one) for one in columns["label"]]
    panel = read_columns(columns | {"gold": [CLASSES.index(one) for one in truth_of(columns)]})
    assert roles_of(panel) == {"task": "id", "worker": "expert", "label": "vote", "gold": "label"}
    assert experts_of(panel) == ["1", "2", "3"]


def test_of_repeated_votes_the_last_is_used_and_they_are_counted():
    columns = {"task": ["t1", "t2", "t1", "t2", "t1"], "worker": ["a", "a", "b", "b", "a"]}
    panel = read_columns(columns | {"label": ["x", "x", "y", "y", "y"]})
    assert votes_of(panel) == [{"a": "y", "b": "y"}, {"a": "x", "b": "y"}]
    assert codes_of(panel)["repeated-votes"] == "note"


def test_an_item_with_two_labels_is_not_labelled_and_counted():
    columns = long_columns()
    gold = truth_of(columns)
    at = columns["task"].index("T0")
    gold[at] = "bug" if LABELS[0] != "bug" else "billing"
    panel = read_columns(columns | {"gold": gold})
    assert labels_of(panel).count(None) == 1
    assert codes_of(panel)["conflicting-labels"] == "note"


def test_labels_of_some_votes_are_labels_of_the_items():
    columns = long_columns()
    first = {task: i for i, task in reversed(list(enumerate(columns["task"])))}
    gold = [one if first[columns["task"][i]] == i else "" for i, one in enumerate(truth_of(columns))]
    assert labels_of(read_columns(columns | {"gold": gold})) == labels_of(
        read_columns(columns | {"gold": truth_of(columns)})
    )


@pytest.mark.parametrize("accuracy", [0.995, 1.0])
def test_votes_called_label_are_votes_even_if_all_workers_agree(accuracy):
    assert roles_of(read_columns(long_columns(accuracy=accuracy)))["label"] == "vote"


def test_votes_are_found_if_nearly_all_are_for_one_class():
    columns = long_columns(("task", "worker", "answer"))
    columns["answer"] = ["1" if i in (7, 40) else "0" for i in range(len(columns["task"]))]
    assert roles_of(read_columns(columns))["answer"] == "vote"


def test_two_columns_of_labels_stop_with_the_option_to_type():
    columns = long_columns(("task", "worker", "answer"))
    panel = read_columns(columns | {"gold": truth_of(columns), "truth": truth_of(columns)})
    assert "2 columns of the open file could be the label: gold, truth" in panel.reading.problem
    assert panel.reading.suggestion == {"--label": "gold"}


def test_the_vote_is_the_column_whose_values_are_labels():
    columns = long_columns(("task", "worker", "response"))
    rng = random.Random(4)
    columns["response_quality"] = [rng.choice(["low", "high"]) for _ in columns["task"]]
    assert roles_of(read_columns(columns | {"gold": truth_of(columns)}))["response"] == "vote"


def test_times_and_who_was_right_are_no_votes():
    columns = long_columns(("task", "worker", "answer"))
    rng = random.Random(4)
    columns["answer_time"] = [rng.randint(1, 20) for _ in columns["task"]]
    columns["is_correct"] = [rng.randint(0, 1) for _ in columns["task"]]
    roles = roles_of(read_columns(columns))
    assert [roles[name] for name in columns] == ["id", "expert", "vote", "ignored", "ignored"]


def test_several_possible_votes_stop_with_the_options_to_type():
    columns = long_columns(("task", "worker", "color"))
    rng = random.Random(4)
    panel = read_columns(columns | {"shade": [rng.choice(["dark", "light"]) for _ in columns["task"]]})
    assert "several columns could be the vote; name it: --shape long --id task" in panel.reading.problem
    named = read_columns(
        columns | {"shade": ["x", "y"] * 60}, shape="long", id="task", experts=("worker", "color")
    )
    assert roles_of(named)["color"] == "vote"


def test_a_score_per_class_is_a_score():
    rows = [
        (f"T{t}", worker, name, round(random.Random(f"{t}{worker}{name}").random(), 3))
        for t in range(ITEMS)
        for worker in ("ann", "bob")
        for name in CLASSES
    ]
    columns = dict(zip(("task", "model", "class", "score"), map(list, zip(*rows, strict=True)), strict=True))
    panel = read_columns(columns | {"gold": [LABELS[int(one[1:])] for one in columns["task"]]})
    assert set(panel.chunk.vote_dicts()[0]["ann"]) == set(CLASSES)


def test_rows_without_a_worker_an_item_or_a_vote_are_left_out():
    columns = long_columns()
    columns["worker"][0] = columns["task"][1] = columns["label"][2] = ""
    panel = read_columns(columns)
    assert panel.chunk.items == ITEMS
    assert sum(map(len, panel.chunk.vote_dicts())) == len(columns["task"]) - 3


def test_attributes_of_a_long_table_are_those_of_its_items():
    columns = long_columns()
    panel = read_columns(columns | {"size": [int(one[1:]) for one in columns["task"]]}, attributes=("size",))
    sizes = dict(zip(panel.chunk.ids, panel.chunk.attributes["size"].to_pylist(), strict=True))
    assert sizes["T7"] == 7.0


def test_a_wide_table_with_a_worker_column_is_not_long():
    columns = {
        "id": list(range(ITEMS)),
        "reviewer": ["ann", "bob"] * (ITEMS // 2),
        "gpt4": vote(LABELS, 0.8, 1),
    }
    panel = read_columns(columns | {"label": LABELS})
    assert panel.reading.shape == "wide"
    assert experts_of(panel) == ["gpt4"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("product", "user"), ("hashtag", "user"), ("video_id", "frame"), ("conversation_id", "speaker")],
)
def test_several_rows_of_a_product_or_video_are_items_if_their_labels_differ(first, second):
    labels = draw_labels(300)
    columns = {
        first: [f"p{i // 4}" for i in range(300)],
        second: [f"u{(i % 4) + 4 * ((i // 8) % 20)}" for i in range(300)],
        "gpt4": vote(labels, 0.8, 1),
        "claude": vote(labels, 0.8, 2),
        "label": labels,
    }
    panel = read_columns(columns)
    assert panel.reading.shape == "wide"
    assert experts_of(panel) == ["claude", "gpt4"]
    assert labels_of(panel) == labels or panel.chunk.ids is not None


def test_turns_of_conversations_do_not_vote_on_them():
    labels = draw_labels(300)
    columns = {
        "conversation_id": [f"c{i // 5}" for i in range(300)],
        "turn": [i % 5 for i in range(300)],
        "pred": vote(labels, 0.8, 1),
        "gold": labels,
    }
    panel = read_columns(columns)
    assert panel.reading.shape == "wide"
    assert experts_of(panel) == ["pred"]


def test_shape_long_without_its_columns_is_an_error():
    with pytest.raises(StreamError, match="name them: --id ITEM --experts EXPERT,VOTE"):
        read_columns({"a": ["x", "y"], "b": ["u", "v"]}, shape="long")
    with pytest.raises(StreamError, match="has no column 'nobody'"):
        read_columns(long_columns(), shape="long", id="task", experts=("nobody", "label"))


def test_a_long_table_can_be_learned():
    columns = long_columns()
    chunk = read_columns(columns | {"gold": truth_of(columns)}).chunk
    assert Fusion().learn(chunk.votes, chunk.raw_labels).trials == ITEMS


@pytest.mark.parametrize("answers", [["a", "a", "b", "b"], ["a", "a", "a", "a"], ["a", "b", "a", "b"]])
def test_in_a_tiny_table_the_only_column_left_is_the_vote(answers):
    columns = {"task": ["1", "1", "2", "2"], "worker": ["ann", "bob"] * 2, "answer": answers}
    panel = read_columns(columns, label="", needs_label=False)
    assert panel.reading.shape == "long"
    assert panel.reading.column("vote") == "answer"


def test_a_truth_is_not_the_vote_even_if_nothing_else_is_left():
    columns = {"task": ["1", "1", "2", "2"], "worker": ["ann", "bob"] * 2, "gold": ["a", "a", "b", "b"]}
    assert read_columns(columns, label="").reading.column("vote") is None


def test_of_two_columns_that_are_left_none_is_taken():
    columns = {
        "task": ["1", "1", "2", "2"], "worker": ["ann", "bob"] * 2,
        "answer": ["a", "a", "b", "b"], "topic": ["x", "x", "y", "y"],
    }  # fmt: skip
    assert "no column looks like the vote" in read_columns(columns, label="").reading.problem
