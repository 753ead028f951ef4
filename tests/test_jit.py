"""Compiled code: never stale, never compiled twice, and equal to its source."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np

import linmax
from linmax import Alma, Fusion, Perceptron, QuasiAdditive, Winnow
from linmax.problems import majority
from linmax.techniques import trials

SOURCES = Path(linmax.__file__).parent

PROGRAM = """
import numpy as np
from linmax import Fusion, Perceptron
from linmax.experts import Votes
from linmax.techniques import trials
votes = np.array([[0, 1], [0, 1], [1, 0]], dtype=np.int32)
fusion = Fusion(Perceptron().on(Votes()), classes=[0, 1])
fusion.learn(votes, [1, 1, 0])
hits = sum(trials.run.compiled.stats.cache_hits.values())
print([fusion.weights[0], fusion.weights[1]], hits)
"""


def run(code: str, home: Path, cache: Path) -> str:
    """What a fresh process prints, with linmax taken from `home`."""
    environment = {**os.environ, "PYTHONPATH": str(home), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_second_process_loads_kernels_from_disk_and_an_edited_rule_is_never_run_stale(
    tmp_path: Path,
) -> None:
    home, cache = tmp_path / "home", tmp_path / "cache"
    shutil.copytree(SOURCES, home / "linmax", ignore=shutil.ignore_patterns("__pycache__"))
    assert run(PROGRAM, home, cache) == "[-1.0, 1.0] 0"
    assert run(PROGRAM, home, cache) == "[-1.0, 1.0] 1"
    # a verb in another file than the kernel's: numba's own stamp would not see this edit
    form = home / "linmax" / "forms" / "votes.py"
    form.write_text(form.read_text().replace("z = q[self.codes[t, i]]", "z = 3.0 * q[self.codes[t, i]]"))
    assert run(PROGRAM, home, cache) == "[-3.0, 3.0] 0"


def test_other_parameters_and_other_rules_compile_no_kernel() -> None:
    votes, labels = majority(200, noise=0.1)
    Fusion(Winnow(1.2), classes=range(5)).learn(votes, labels)
    before = trials.run.compilations()
    for learner in (Winnow(1.3), Perceptron(slack=0.5), Alma(3.5, 0.9), QuasiAdditive("square")):
        Fusion(learner, classes=range(5)).learn(votes, labels)
    assert trials.run.compilations() == before


def test_a_rule_that_numba_cannot_compile_says_so_in_one_sentence() -> None:
    from dataclasses import dataclass

    import pytest

    @dataclass(frozen=True, repr=False)
    class Odd(linmax.Rule):
        @staticmethod
        def update(p, s, theta, w, index, value, margin):
            return {"a": open}

    with pytest.raises(ValueError, match="cannot be compiled"):
        Fusion(Odd()).learn([["a", "b"], ["b", "a"]], ["b", "b"])


def test_a_rule_typed_into_a_session_without_a_file_works() -> None:
    code = """
    from dataclasses import dataclass
    from linmax import Fusion, Rule
    from linmax.rules import MOVED
    @dataclass(frozen=True, repr=False)
    class Double(Rule):
        @staticmethod
        def update(p, s, theta, w, index, value, margin):
            for i, z in zip(index, value):
                theta[i] += 2.0 * z
                w[i] = theta[i]
            return MOVED
    fusion = Fusion(Double())
    fusion.learn([["a", "b"], ["a", "b"]], ["b", "b"])
    print(fusion.weights[1], repr(fusion.learner))
    """
    cache = Path(os.environ.get("NUMBA_CACHE_DIR", Path.home() / ".cache" / "numba"))
    assert run(code, SOURCES.parent, cache) == "2.0 <unregistered test_rule>()".replace("test_rule", "Double")


def test_the_same_source_runs_without_numba() -> None:
    code = """
    import numpy as np
    from linmax import Averaged, Fusion, Recycled, Winnow
    from linmax.problems import majority
    votes, labels = majority(120, noise=0.1)
    fusion = Fusion(Averaged(Recycled(Winnow(1.2))), classes=range(5))
    print(fusion.learn(votes, labels).mistakes, fusion.state()["w"].tobytes().hex())
    """
    plain = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    votes, labels = majority(120, noise=0.1)
    fusion = Fusion(linmax.Averaged(linmax.Recycled(Winnow(1.2))), classes=range(5))
    mistakes = fusion.learn(votes, labels).mistakes
    assert plain.stdout.split() == [str(mistakes), np.asarray(fusion.state()["w"]).tobytes().hex()]
