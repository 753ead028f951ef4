"""Benchmarks: linmax, other libraries and C, measured in one run."""

import os

os.environ.setdefault("LINMAX_COMPILE_AFTER", "0")  # what is timed is compiled before
