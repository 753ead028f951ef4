"""Importing linmax imports neither scikit-learn nor River (`tests/test_extras.py` tests their absence)."""

from __future__ import annotations

import subprocess
import sys


def test_only_the_adapters_import_scikit_learn_and_river() -> None:
    code = """
import sys, linmax, linmax.bounds, linmax.svm, linmax.checks
print({"sklearn", "river"} & set(sys.modules))
import linmax.adapters.sklearn
print("river" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\nFalse\n"
