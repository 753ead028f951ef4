"""Rules of users are compiled like those of linmax, and one that cannot be compiled says why."""

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linmax
from linmax import Fusion
from tests.helpers.forks import Forks, disk_cache

SOURCES = Path(linmax.__file__).parent


def test_a_rule_that_numba_cannot_compile_says_so_in_one_sentence() -> None:
    """Its update works as Python, so trying it out once does not reveal that."""

    @dataclass(frozen=True, repr=False)
    class Odd(linmax.Rule):
        @staticmethod
        def update(p, s, theta, w, index, value, margin):
            w[index] += value
            return len({"moved": complex, "names": str})

    with pytest.raises(ValueError, match=r"Odd\.update cannot be compiled: .*\w") as caught:
        Fusion(Odd()).learn([["a", "b"], ["b", "a"]], ["b", "b"])
    assert "\n" not in str(caught.value)
    assert "Failed in" not in str(caught.value)


def test_a_rule_that_makes_an_array_is_told_that_kernels_allocate_nothing() -> None:
    @dataclass(frozen=True, repr=False)
    class Allocating(linmax.Rule):
        @staticmethod
        def update(p, s, theta, w, index, value, margin):
            step = np.zeros(len(value))
            for j in range(len(index)):
                w[index[j]] += value[j] + step[j]
            return 1

    with pytest.raises(
        ValueError, match="cannot be compiled: it makes an array, and kernels allocate nothing"
    ):
        Fusion(Allocating()).learn([["a", "b"], ["b", "a"]], ["b", "b"])


def test_a_rule_typed_into_a_session_without_a_file_works(fresh: Forks) -> None:
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
    printed = fresh.run(code, [SOURCES.parent], disk_cache())
    assert printed == "2.0 <unregistered test_rule>()".replace("test_rule", "Double")


def test_what_a_rule_takes_from_outside_itself_is_never_stale(fresh: Forks, tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text("STEP = 2.0\n")
    (tmp_path / "mine.py").write_text(
        textwrap.dedent("""
        from dataclasses import dataclass
        import linmax
        from linmax.rules import MOVED
        from steps import STEP
        @linmax.register("Mine")
        @dataclass(frozen=True, repr=False)
        class Mine(linmax.Rule):
            @staticmethod
            def update(p, s, theta, w, index, value, margin):
                for i, z in zip(index, value):
                    theta[i] += STEP * z
                    w[i] = theta[i]
                return MOVED
        """)
    )
    code = """
    import mine, linmax
    fusion = linmax.Fusion(mine.Mine())
    fusion.learn([["a", "b"]], ["b"])
    reach = linmax._jit.addresses
    print(fusion.weights[1], reach.pointer(mine.Mine.update, reach.UPDATE).cache_hits)
    """
    path = [tmp_path, SOURCES.parent]
    assert fresh.run(code, path, disk_cache()) == "2.0 0"
    assert fresh.run(code, path, disk_cache()) == "2.0 1"
    (tmp_path / "steps.py").write_text("STEP = 30.0\n")
    assert fresh.run(code, path, disk_cache()) == "30.0 0"


@pytest.mark.parametrize(
    ("update", "sentence"),
    [
        ("raise ValueError('boom')", "boom"),
        ("return 99", "must return"),
        ("return 1 // 0", "ZeroDivisionError"),
        ("return p[50]", "IndexError"),
        ("w[0] = float('nan'); return 1", "not finite"),
    ],
)
def test_a_rule_that_goes_wrong_says_so_before_it_is_compiled(update: str, sentence: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def update(p, s, theta, w, index, value, margin):\n    {update}", space)

    @dataclass(frozen=True, repr=False)
    class Wrong(linmax.Rule):
        pass

    Wrong.update = staticmethod(space["update"])  # type: ignore[method-assign, assignment]
    with pytest.raises(ValueError, match=sentence):
        Fusion(Wrong())


def test_a_rule_without_an_update_is_refused() -> None:
    with pytest.raises(ValueError, match="has no update"):
        Fusion(linmax.Rule())
