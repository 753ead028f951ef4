"""Benchmarks: linmax, other libraries and C, measured in one run."""
