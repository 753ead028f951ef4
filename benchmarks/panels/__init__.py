"""Quality after one pass over real panels of experts, beside other on-line learners."""
