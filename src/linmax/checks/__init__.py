"""The common checks: what every rule and learner, linmax's or yours, must satisfy."""

from linmax.checks.behaviour import (
    check_bad_parameters_are_named,
    check_compiles_once,
    check_deterministic,
    check_forms_agree,
    check_inputs_are_left_alone,
    check_memory_is_bounded,
    check_pieces_make_the_whole,
    check_predict_is_pure,
    check_repr_parses_back,
    check_saving_changes_nothing,
)
from linmax.checks.mathematics import (
    check_average_is_the_mean,
    check_compiled_equals_interpreted,
    check_constants_change_nothing,
    check_no_overflow,
    check_permutations_permute,
    check_silent_experts_change_nothing,
    check_still_when_right,
    check_theta_adds_z,
    check_ties_ignore_the_label,
)
from linmax.checks.mistake_bounds import check_mistakes_within_bound
from linmax.checks.runner import applicable, check_learner, check_rule

__all__ = [
    "applicable",
    "check_average_is_the_mean",
    "check_bad_parameters_are_named",
    "check_compiled_equals_interpreted",
    "check_compiles_once",
    "check_constants_change_nothing",
    "check_deterministic",
    "check_forms_agree",
    "check_inputs_are_left_alone",
    "check_learner",
    "check_memory_is_bounded",
    "check_mistakes_within_bound",
    "check_no_overflow",
    "check_permutations_permute",
    "check_pieces_make_the_whole",
    "check_predict_is_pure",
    "check_repr_parses_back",
    "check_rule",
    "check_saving_changes_nothing",
    "check_silent_experts_change_nothing",
    "check_still_when_right",
    "check_theta_adds_z",
    "check_ties_ignore_the_label",
]
