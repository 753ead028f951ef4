"""linmax.evaluate and linmax.report need no package of linmax[cli], or name the one that is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Block())
"""
EVALUATE = """
from linmax import Fusion, Winnow
from linmax.evaluate import Audit, Progress, ResumableRun, gain, progressive, summarize, trust
from linmax.report import catalogue, draw, options

votes, labels = [["a", "b"], ["b", "b"]] * 20, ["b", "a"] * 20
fusion = Fusion(Winnow(1.2))
assert progressive(fusion, votes, labels).trials == 40
assert len(trust(fusion, votes, labels)) == 2
assert summarize(Audit(), fusion).items == 0
assert catalogue()
"""
DRAW = """
import sys
from linmax.report import draw

try:
    draw(progressive(Fusion(Winnow(1.2)), votes, labels), sys.argv[1], title="mistakes")
except ImportError as error:
    print(error)
"""
PAGE = """
from linmax.report.page import page

try:
    page(summarize(Audit(), fusion))
except ImportError as error:
    print(error)
"""


def run(code: str, blocked: set[str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BLOCK.format(blocked=blocked) + code, *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_evaluation_needs_nothing_but_the_core_dependencies() -> None:
    assert run(EVALUATE, {"matplotlib", "jinja2", "markupsafe", "pyarrow", "rich", "typer", "sklearn"}) == ""


@pytest.mark.parametrize(
    ("code", "blocked", "message"),
    [
        (DRAW, "matplotlib", "drawing charts requires matplotlib, which is not installed"),
        (PAGE, "jinja2", "writing an HTML report requires jinja2, which is not installed"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    code: str, blocked: str, message: str
) -> None:
    assert run(EVALUATE + code, {blocked}, "unused.png") == f"{message}: pip install 'linmax[cli]'"
