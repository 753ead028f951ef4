"""Benchmarks: side by side with other libraries and with plain C, in one run."""
