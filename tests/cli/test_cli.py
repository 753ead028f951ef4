"""The command line and the demo."""

from __future__ import annotations

import functools
import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import linmax
from linmax import Fusion, parse, spec
from linmax.cli import app
from linmax.cli.demo import demo as demo_command
from linmax.cli.demo.demo import LEARNER, closing_sentence, milestones, progress_table
from linmax.cli.demo.digits import DigitsPanel, derangement, digits_panel
from linmax.evaluate import Progress, progressive
from linmax.report import catalogue
from linmax.rules import MOVED, Rule
from tests.helpers.demo import panel_of

DOZEN = 12


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.fixture(autouse=True)
def _fit_the_experts_of_the_demo_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_command, "digits_panel", panel_of)


def first_items(number: int) -> DigitsPanel:
    panel = panel_of(0)
    return panel._replace(votes=panel.votes[:number], labels=panel.labels[:number])


@functools.cache
def raced(seed: int) -> Progress:
    panel = panel_of(seed)
    fusion = Fusion(parse(LEARNER), classes=range(10), experts=panel.experts)
    return progressive(fusion, panel.votes, panel.labels)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The demo with experts of its own, and its picture."""
    picture = tmp_path_factory.mktemp("demo") / "linmax-demo.png"
    result = run("demo", "--picture", str(picture))
    assert result.exit_code == 0, result.output
    return result.output, picture


def test_the_version_is_the_package_s() -> None:
    assert run("--version").output == f"linmax {linmax.__version__}\n"


def test_without_a_command_there_is_help() -> None:
    assert "learners" in run().output
    assert run("--help").exit_code == 0


def test_former_names_of_options_are_accepted_and_not_shown(tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("ann,truth\n" + "Spam ,spam\nham,ham\n" * 5)
    for name in ("--ignore-case", "--fold"):
        result = run("fuse", str(votes), name, "--json", "--learner", "Winnow(1.2)")
        assert json.loads(result.stdout)["classes"] == ["spam", "ham"]
    for name in ("--relearn", "--again"):
        assert run("fuse", str(votes), name).stderr == "linmax: --relearn requires --from MODEL\n"
    shown = run("fuse", "--help").output
    assert "--fold" not in shown
    assert "--again" not in shown


def test_the_program_exits_as_every_python_program_does() -> None:
    program = (
        "import atexit, sys\nsys.argv = ['linmax', '--version']\natexit.register(print, 'bye')\n"
        "from linmax.cli import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"linmax {linmax.__version__}\nbye\n")


def test_a_command_does_not_hide_pandas_from_pyarrow(tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("ann,truth\na,a\nb,b\n")
    program = (
        "import pyarrow\nfrom typer.testing import CliRunner\nfrom linmax.cli import app\n"
        f"CliRunner().invoke(app, ['look', {str(votes)!r}])\n"
        "print(len(pyarrow.table({'a': [1, 2]}).to_pandas()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "2\n")


def test_learners_shows_the_whole_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    output = run("learners").output
    for entry in catalogue():
        assert entry.name in output
        assert entry.summary in output
        assert ", ".join(entry.parameters) in output


def test_a_rule_of_one_s_own_is_listed_once_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec, "_registry", spec.registered())
    monkeypatch.setattr(spec, "_names", dict(spec._names))

    @linmax.register("Timid")
    @dataclass(frozen=True, repr=False)
    class Timid(Rule):
        """Move by a tenth."""

        step: float = 0.1

        @staticmethod
        def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
            return MOVED

    assert ("Timid", "rule", "Move by a tenth.", ("step=0.1",)) in [
        (entry.name, entry.kind, entry.summary, entry.parameters) for entry in catalogue()
    ]
    assert "Move by a tenth." in run("learners").output


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_linmax_beats_plurality_and_the_best_expert(seed: int) -> None:
    mistakes = raced(seed).mistakes
    assert mistakes["linmax"] < 0.8 * min(mistakes["plurality"], mistakes["best expert"])


def test_the_panel_is_of_very_different_worth() -> None:
    panel = panel_of(0)
    right = dict(zip(panel.experts, (panel.votes == panel.labels[:, None]).mean(axis=0), strict=True))
    assert len(right) == DOZEN
    assert right["logistic"] > 0.8 > 0.2 > right["stump"] > right["always 3"] > right["confused"]
    assert (panel.votes[:, panel.experts.index("cautious")] == -1).mean() > 0.5


def test_a_seed_gives_the_same_panel_again_and_another_gives_another() -> None:
    once, again, other = panel_of(0), digits_panel(0), panel_of(1)
    assert np.array_equal(once.votes, again.votes)
    assert np.array_equal(once.labels, again.labels)
    assert not np.array_equal(once.votes, other.votes)


@pytest.mark.parametrize("seed", range(20))
def test_the_confused_one_never_means_what_it_says(seed: int) -> None:
    other = derangement(np.random.default_rng(seed))
    assert sorted(other) == list(range(10))
    assert (other != np.arange(10)).all()


def test_the_demo_tells_the_whole_story(demo: tuple[str, Path]) -> None:
    output, picture = demo
    told = " ".join(output.split())
    mistakes = raced(0).mistakes
    for stop in milestones(1500):
        assert any(line.split()[:1] == [str(stop)] for line in output.splitlines())
    assert f"1500 {mistakes['plurality']} {mistakes['best expert']} {mistakes['linmax']}" in told
    assert "Trust in the experts" in told
    assert "Why linmax predicts" in told
    for expert in panel_of(0).experts:
        assert expert in output
    assert closing_sentence(raced(0)) in told
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_demo_is_the_same_for_the_same_seed(demo: tuple[str, Path], tmp_path: Path) -> None:
    again = run("demo", "--seed", "0", "--picture", str(tmp_path / "again.png"))
    output, picture = demo
    assert again.output.split("The curves")[0] == output.split("The curves")[0]
    assert (tmp_path / "again.png").read_bytes() == picture.read_bytes()


def test_another_learner_can_run_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_command, "digits_panel", lambda seed: first_items(300))
    result = run("demo", "--learner", "Winnow(1.2)", "--picture", str(tmp_path / "winnow.png"))
    assert result.exit_code == 0
    assert "Learner: Winnow(1.2)" in result.output


def test_the_closing_sentence_does_not_boast() -> None:
    wrong, right = np.zeros(10, bool), np.ones(10, bool)
    beaten = Progress(("ann",), wrong, right, right[:, None], right[:, None])
    assert closing_sentence(beaten).endswith("this learner did not beat both.")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--learner", "Winow(1.2)"], "there is no 'Winow'; did you mean 'Winnow'?"),
        (
            ["--picture", "/nowhere/x.png"],
            "cannot draw /nowhere/x.png: there is no folder /nowhere; create it first",
        ),
    ],
)
def test_an_error_is_one_sentence(words: list[str], sentence: str) -> None:
    result = run("demo", *words)
    assert result.exit_code == 2
    assert result.stderr == f"linmax: {sentence}\n"


def test_ctrl_c_leaves_cleanly_and_no_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo_command, "learn_until", interrupted)
    picture = tmp_path / "none.png"
    result = run("demo", "--picture", str(picture))
    assert (result.exit_code, result.stderr) == (130, "\nlinmax: stopped\n")
    assert not picture.exists()


def test_the_live_table_ends_with_the_numbers_of_the_plain_one() -> None:
    screen = io.StringIO()
    console = Console(force_terminal=True, width=80, file=screen)
    panel = first_items(300)
    fusion, alone = (Fusion(parse(LEARNER), classes=range(10), experts=panel.experts) for _ in range(2))
    live = demo_command.learn_panel(console, fusion, panel, seconds=0.0)
    assert live.mistakes == progressive(alone, panel.votes, panel.labels).mistakes
    assert "\x1b[?25h" in screen.getvalue()  # the cursor is back
    paper = io.StringIO()
    Console(width=80, file=paper).print(progress_table(live, milestones(300)))
    last = next(line for line in paper.getvalue().splitlines() if line.split()[:1] == ["300"])
    assert last.split()[1:] == [str(live.mistakes[name]) for name in demo_command.COMPARED]
