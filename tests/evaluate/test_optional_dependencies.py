"""linmax.evaluate and linmax.report need no package of linmax[cli], or name the one that is missing."""

from __future__ import annotations

import subprocess
import sys

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
PAGE = """
from linmax.report.page import page

try:
    page(summarize(Audit(), fusion))
except ImportError as error:
    print(error)
"""


def run(code: str, blocked: set[str]) -> str:
    program = BLOCK.format(blocked=blocked) + code
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_evaluation_needs_nothing_but_the_core_dependencies() -> None:
    assert run(EVALUATE, {"matplotlib", "jinja2", "markupsafe", "pyarrow", "rich", "typer", "sklearn"}) == ""


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    message = "writing an HTML report requires jinja2, which is not installed"
    assert run(EVALUATE + PAGE, {"jinja2"}) == f"{message}: pip install 'linmax[cli]'"
