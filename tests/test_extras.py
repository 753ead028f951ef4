"""The base installation works without the extras, and a missing extra is one sentence with the pip line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BLOCKER = """
import sys

BASE = {"linmax", "numpy", "scipy", "numba", "llvmlite", "safetensors", "narwhals"}


class OnlyBase:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in BASE | sys.stdlib_module_names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, OnlyBase())
"""


def run_with_base_only(program: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program that can import only the standard library and the base dependencies."""
    words = [sys.executable, "-W", "error", "-c", BLOCKER + program]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)


def test_sessions_work_with_the_base_installation(tmp_path: Path) -> None:
    program = """
import linmax
from linmax import Fusion, Triplets, Winnow, load
from linmax.evaluate import Audit, Progress, ResumableRun, gain, progressive, summarize, trust
from linmax.problems import majority
from linmax.report import catalogue, draw, options

votes, labels = majority(200, relevant=3, experts=5, classes=3)
fusion = Fusion(classes=range(3))
assert fusion.learn(votes, labels).trials == 200
fusion.save("panel.linmax")
again = load("panel.linmax")
assert (again.predict(votes) == fusion.predict(votes)).all()
named = Fusion(Winnow(1.5))
named.learn([{"ann": "ham", "bob": "spam"}, {"ann": "spam"}], ["ham", "spam"])
named.learn_one({"ann": "ham"}, "ham")
assert named.explain_one({"ann": "ham"}).guess == "ham"
assert progressive(fusion, votes, labels).trials == 200
assert len(trust(fusion, votes, labels)) == 5
assert summarize(Audit(), fusion).items == 0
assert catalogue()

import linmax.bounds, linmax.checks, linmax.experts, linmax.report, linmax.svm

imported = {name.partition(".")[0] for name in sys.modules} - {"__mp_main__"}
print(sorted(imported - BASE - sys.stdlib_module_names))
"""
    done = run_with_base_only(program, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    # Cython's and editable installs' own helpers are no distributions
    assert [
        name for name in eval_list(done.stdout) if not name.startswith(("_", "cython", "sitecustomize"))
    ] == []


def eval_list(text: str) -> list[str]:
    return [name for name in text.strip().strip("[]").replace("'", "").split(", ") if name]


MISSING = {
    "import linmax.adapters.sklearn": ("linmax.adapters.sklearn", "scikit-learn", "sklearn"),
    "import linmax.adapters.river": ("linmax.adapters.river", "River", "river"),
    "import linmax.streams": ("linmax.streams", "pyarrow", "cli"),
    "import linmax.service": ("linmax.service", "apsw", "service"),
    "from linmax.client import Client\nClient('http://127.0.0.1:8000', 'lmx_')": (
        "linmax.client",
        "httpx",
        "service",
    ),
    "from linmax import Fusion, Winnow\nfrom linmax.evaluate import progressive\n"
    "from linmax.problems import majority\nfrom linmax.report import draw\n"
    "draw(progressive(Fusion(Winnow(1.5)), *majority(20)), 'x.png', title='')": (
        "drawing charts",
        "matplotlib",
        "cli",
    ),
    "from linmax import Fusion, Winnow\nfrom linmax.evaluate import Audit, summarize\n"
    "from linmax.report.page import page\npage(summarize(Audit(), Fusion(Winnow(1.5))))": (
        "writing an HTML report",
        "jinja2",
        "cli",
    ),
    "from linmax.problems import majority\nfrom linmax.svm import comparator, instances\n"
    "from linmax import Perceptron\ncomparator(instances(Perceptron(), *majority(20)))": (
        "linmax.svm.comparator",
        "scikit-learn",
        "sklearn",
    ),
}


def test_a_missing_extra_is_one_sentence_and_the_program_without_typer_says_how_to_install_it() -> None:
    attempts = [
        f"try:\n    exec({program!r})\nexcept ImportError as error:\n    print(error)" for program in MISSING
    ]
    done = run_with_base_only("\n".join([*attempts, "from linmax.cli import main", "main()"]))
    assert done.stdout.splitlines() == [
        f"{purpose} requires {package}, which is not installed: pip install 'linmax[{extra}]'"
        for purpose, package, extra in MISSING.values()
    ]
    assert done.stderr == "the command line requires typer and rich: pip install 'linmax[cli]'\n"
    assert done.returncode == 2


SKLEARN = "requires scikit-learn, which is not installed: pip install 'linmax[sklearn]'"
COMMANDS = {
    ("demo",): f"linmax demo {SKLEARN}",
    ("bounds", "--panel", "votes.csv"): f"linmax bounds --panel {SKLEARN}",
    ("fuse", "rows.svm"): f"reading svmlight files {SKLEARN}",
    ("serve", "--data", "data"): "linmax.service requires apsw, which is not installed:"
    " pip install 'linmax[service]'",
}


def test_commands_that_need_another_extra_say_so(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("ann,bob,truth\na,a,a\nb,a,b\n")
    (tmp_path / "rows.svm").write_text("1 1:1\n2 2:1\n")
    program = f"""
import sys
sys.modules["sklearn"] = sys.modules["apsw"] = None
from linmax.cli import main
for words in {list(COMMANDS)!r}:
    sys.argv = ["linmax", *words]
    try:
        main()
    except SystemExit as end:
        print(words[0], end.code)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout.splitlines() == [f"{words[0]} 2" for words in COMMANDS]
    assert done.stderr.splitlines() == [f"linmax: {sentence}" for sentence in COMMANDS.values()]
    assert not (tmp_path / "data").exists()


def test_only_what_needs_an_extra_imports_it() -> None:
    program = """
import sys

def imported(*names):
    print([name for name in names if name in sys.modules], file=sys.stderr)

import linmax, linmax.bounds, linmax.svm, linmax.checks
imported("sklearn", "river")
from linmax.cli import app
try:
    app(["--help"])
except SystemExit as end:
    print(end.code, file=sys.stderr)
imported("sklearn", "river", "matplotlib")
import linmax.adapters.sklearn
imported("sklearn", "river")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == ["[]", "0", "[]", "['sklearn']"]
