"""Options name the roles of columns of wide tables; what does not fit is an error of one sentence."""

import pytest

from linmax.streams import StreamError
from tests.panels.small_tables import draw_labels, experts_of, panel_columns, read_columns, roles_of

ITEMS = 60
LABELS = draw_labels(ITEMS)


def test_options_have_wildcards():
    columns = {"hint": ["x", "y"] * 30, "queue": ["a", "b"] * 30, **panel_columns()}
    panel = read_columns(columns, experts=("m[01]",), attributes=("hi*",), ignore=("que?e",))
    assert experts_of(panel) == ["m0", "m1"]
    assert panel.chunk.attributes.column_names == ["hint"]
    assert roles_of(panel)["m2"] == "ignored"


@pytest.mark.parametrize("option", ["experts", "attributes", "ignore"])
def test_a_pattern_without_a_match_is_an_error_with_the_most_similar_name(option):
    with pytest.raises(StreamError, match=r"no column 'm00'; did you mean 'm0'\?"):
        read_columns(panel_columns(), **{option: ("m00",)})


@pytest.mark.parametrize("option", ["label", "id"])
def test_a_label_or_id_that_does_not_exist_is_an_error(option):
    with pytest.raises(StreamError, match="has no column 'nobody'; it has m0, m1, m2, label"):
        read_columns(panel_columns(), **{option: "nobody"})


def test_a_column_with_two_roles_is_an_error():
    with pytest.raises(
        StreamError, match=r"column 'm0' .* is named by --ignore and by --experts; name it once"
    ):
        read_columns(panel_columns(), ignore=("m0",), experts=("m*",))


def test_an_expert_whose_values_are_no_classes_is_refused():
    columns = panel_columns() | {"price": [i + 0.5 for i in range(ITEMS)]}
    problem = read_columns(columns, experts=("m0", "price")).reading.problem
    assert "'price'" in problem
    assert "--attributes" in problem


def test_a_table_without_votes_says_so():
    panel = read_columns({"width": [i + 0.5 for i in range(ITEMS)], "species": LABELS})
    assert "no column of the open file votes for the classes of 'species'" in panel.reading.problem
    assert "there is width" in panel.reading.problem


def test_a_table_without_classes_says_so():
    panel = read_columns({"a": [i + 0.5 for i in range(ITEMS)], "b": [i + 0.25 for i in range(ITEMS)]})
    assert "no column whose values can be classes (it has a, b)" in panel.reading.problem


def test_a_second_row_of_names_is_refused():
    columns = {"id": ["field", *range(ITEMS)], "gpt4": ["label", *LABELS], "gpt4.2": ["conf", *[0.5] * ITEMS]}
    with pytest.raises(StreamError, match=r"line 2 of .* looks like a second row of names"):
        read_columns(columns | {"truth": ["label", *LABELS]})
