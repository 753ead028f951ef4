"""Without their library the adapters fail with one sentence, and importing linmax does not import it."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("library", "name"), [("sklearn", "scikit-learn"), ("river", "River")])
def test_a_missing_library_is_one_sentence_with_the_command_that_installs_it(library: str, name: str) -> None:
    code = f"""
import sys
sys.modules[{library!r}] = None
try:
    import linmax.adapters.{library}
except ImportError as error:
    print(error)
"""
    adapter = f"linmax.adapters.{library}"
    assert (
        run(code) == f"{adapter} requires {name}, which is not installed: pip install 'linmax[{library}]'\n"
    )


def test_only_the_adapters_import_scikit_learn_and_river() -> None:
    modules = "linmax, linmax.bounds, linmax.svm, linmax.checks"
    code = f"import sys, {modules}; print({{'sklearn', 'river'}} & set(sys.modules))"
    assert run(code) == "set()\n"
    assert run("import sys, linmax.adapters.sklearn; print('river' in sys.modules)") == "False\n"


def test_a_comparator_without_scikit_learn_is_one_sentence() -> None:
    code = """
import sys
sys.modules["sklearn"] = None
from linmax import Perceptron
from linmax.experts import Votes
from linmax.svm import comparator, instances
found = instances(Perceptron().on(Votes()), [["a", "b"], ["b", "b"]], ["a", "b"])
try:
    comparator(found)
except ImportError as error:
    print(error)
"""
    sentence = (
        "linmax.svm.comparator requires scikit-learn, which is not installed: pip install 'linmax[sklearn]'\n"
    )
    assert run(code) == sentence
