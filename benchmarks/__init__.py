"""Benchmarks: ratios measured in one run, beside plain C."""
