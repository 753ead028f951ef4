"""numba is imported when something is compiled, not by `import linmax`."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from threading import Barrier, Thread

import pytest

from linmax._jit import numba_internals

LEARN = """
from linmax import Averaged, Fusion, Winnow
from linmax.problems import majority
votes, labels = majority(120, noise=0.1)
fusion = Fusion(Averaged(Winnow(1.2)), classes=range(5))
print(fusion.learn(votes, labels).mistakes, fusion.state()["w"].tobytes().hex())
"""
LOADED = "import sys; print('numba' in sys.modules, 'llvmlite' in sys.modules)"


def printed(program: str, folder: Path, **environment: str) -> list[str]:
    """What a fresh process prints that starts in a folder; warnings are errors in it."""
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


def test_neither_an_import_nor_a_session_without_items_imports_numba(tmp_path: Path) -> None:
    program = f"""
    import linmax, linmax.cli
    fusion = linmax.Fusion(linmax.Winnow(1.2), classes=["a", "b"])
    fusion.save("model")
    linmax.load("model")
    {LOADED}
    """
    assert printed(program, tmp_path) == ["False False"]


def test_without_compilation_numba_is_not_imported_at_all(tmp_path: Path) -> None:
    compiled = printed(LEARN + LOADED, tmp_path)
    assert compiled[1:] == ["True True"]
    assert printed(LEARN + LOADED, tmp_path, NUMBA_DISABLE_JIT="1") == [compiled[0], "False False"]
    # as its file of settings says, which only numba itself reads
    (tmp_path / ".numba_config.yaml").write_text("disable_jit: 1\n")
    try:
        import yaml  # noqa: F401
    except ImportError:
        pytest.skip("PyYAML is not installed, without which numba reads no file: pip install pyyaml")
    assert printed(LEARN + LOADED, tmp_path) == [compiled[0], "True True"]


def test_what_was_registered_before_and_after_is_known_to_numba_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(numba_internals.State, "loaded", False)
    monkeypatch.setattr(numba_internals.State, "pending", [])
    for name in ("first", "second"):
        numba_internals.when_loaded(lambda name=name: calls.append(name))  # type: ignore[misc]
    assert calls == []
    barrier = Barrier(4)

    def load() -> None:
        barrier.wait()
        assert numba_internals.load()
        calls.append("loaded")

    threads = [Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == ["first", "second"] + 4 * ["loaded"]
    numba_internals.when_loaded(lambda: calls.append("third"))
    assert calls[-1] == "third"


def test_an_interrupted_registration_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def register() -> None:
        calls.append("register")
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(numba_internals.State, "loaded", False)
    monkeypatch.setattr(numba_internals.State, "pending", [])
    numba_internals.when_loaded(register)
    with pytest.raises(KeyboardInterrupt):
        numba_internals.load()
    assert not numba_internals.State.loaded
    assert numba_internals.load()
    assert calls == ["register", "register"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers that interrupt here")
def test_an_interrupt_does_not_leave_numba_half_imported(tmp_path: Path) -> None:
    program = """
    import signal
    from linmax._jit import compilation, numba_internals
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.03)  # numba takes longer
    try:
        numba_internals.load()
    except KeyboardInterrupt:
        print("interrupted")
    print(compilation.CompiledKernel(lambda x: 2.0 * x)(3.0), numba_internals.State.compiles)
    """
    assert printed(program, tmp_path) == ["interrupted", "6.0 True"]


@pytest.mark.parametrize("where", ["atexit.register(work)", "threading.Thread(target=work).start()"])
def test_numba_can_be_imported_when_the_main_thread_has_ended(tmp_path: Path, where: str) -> None:
    program = """
    import atexit, threading, time
    from linmax._jit import numba_internals
    def work():
        time.sleep(0.3)
        print(numba_internals.load())
    """
    assert printed(textwrap.dedent(program) + where, tmp_path) == ["True"]
