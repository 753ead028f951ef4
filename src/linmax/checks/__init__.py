"""Common checks for every rule and learner, those of linmax and your own.

`check_rule(MyRule())` runs all checks that apply; a failed check raises an AssertionError of one sentence.

Behaviour:

- `check_repr_parses_back`: `parse(repr(learner)) == learner`
- `check_bad_parameters_are_named`: an invalid parameter is rejected by name
- `check_inputs_unchanged`: inputs are never written to
- `check_predict_is_pure`: predictions change no state
- `check_chunks_equal_whole`: one array, chunks, single items and tickets give the same result
- `check_saving_changes_nothing`: a session resumed after any trial continues as if uninterrupted
- `check_vote_formats_agree`: hard votes, one-hot scores and triplets give the same result
- `check_deterministic`: the same trials give the same result
- `check_compiles_once`: other parameters compile nothing new
- `check_memory_is_bounded`: the state does not grow with the number of trials

Mathematics:

- `check_compiled_equals_interpreted`: compiled and interpreted runs agree bit for bit
- `check_ties_ignore_the_label`: a prediction never depends on the label
- `check_silent_experts_change_nothing`: an expert that always abstains has no effect
- `check_no_move_when_right`: no update after a correct prediction beyond the slack
- `check_theta_adds_z`: theta moves by exactly z
- `check_constants_change_nothing`: a constant added to an expert's scores has no effect
- `check_permutations_permute`: permuting experts or classes permutes the result
- `check_average_is_the_mean`: an average is the mean of its hypotheses
- `check_mistakes_within_bound`: mistakes stay within the bound on random and adversarial streams
- `check_no_overflow`: everything is finite after 10^6 adversarial trials and after huge scores

The comparison of each rule with a slow oracle, and the theorem of 2003 in exact arithmetic, need a second
implementation and are part of linmax's own tests.
"""

from linmax.checks.behaviour import (
    check_bad_parameters_are_named,
    check_chunks_equal_whole,
    check_compiles_once,
    check_deterministic,
    check_inputs_unchanged,
    check_memory_is_bounded,
    check_predict_is_pure,
    check_repr_parses_back,
    check_saving_changes_nothing,
    check_vote_formats_agree,
)
from linmax.checks.mathematics import (
    check_average_is_the_mean,
    check_compiled_equals_interpreted,
    check_constants_change_nothing,
    check_no_move_when_right,
    check_no_overflow,
    check_permutations_permute,
    check_silent_experts_change_nothing,
    check_theta_adds_z,
    check_ties_ignore_the_label,
)
from linmax.checks.mistake_bounds import check_mistakes_within_bound
from linmax.checks.runner import applicable, check_learner, check_rule

__all__ = [
    "applicable",
    "check_average_is_the_mean",
    "check_bad_parameters_are_named",
    "check_chunks_equal_whole",
    "check_compiled_equals_interpreted",
    "check_compiles_once",
    "check_constants_change_nothing",
    "check_deterministic",
    "check_inputs_unchanged",
    "check_learner",
    "check_memory_is_bounded",
    "check_mistakes_within_bound",
    "check_no_move_when_right",
    "check_no_overflow",
    "check_permutations_permute",
    "check_predict_is_pure",
    "check_repr_parses_back",
    "check_rule",
    "check_saving_changes_nothing",
    "check_silent_experts_change_nothing",
    "check_theta_adds_z",
    "check_ties_ignore_the_label",
    "check_vote_formats_agree",
]
