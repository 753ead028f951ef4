"""The program: commands that are built when they are called, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from linmax import Fusion, Winnow, load
from linmax.cli import app, group
from linmax.cli.commands import COMMANDS
from linmax.cli.demo import demo
from linmax.service.event_log.database import Database
from tests.helpers.demo import panel_of

PROGRAM = "import sys\nfrom linmax_program import main\nsys.argv[0] = 'linmax'\nmain()"
FULL = Path("/dev/full")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def start(*words: str, **options: Any) -> subprocess.Popen[str]:
    """The program in a process of its own, which hears Ctrl-C also if the tests run in the background."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        **options,
    )


# --- commands


def test_only_the_command_that_is_called_is_built() -> None:
    group.build_command.cache_clear()
    assert run("learners", "Winnow").exit_code == 0
    assert group.build_command.cache_info().currsize == 1


def test_the_help_lists_all_commands_with_their_first_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    shown = run("--help").output
    for name, function in COMMANDS.items():
        line = next(line for line in shown.splitlines() if line.split()[1:2] == [name])
        assert (function.__doc__ or "").split(".")[0][:60] in line


def test_a_function_with_the_decorator_is_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "COMMANDS", dict(COMMANDS))

    @group.command
    def say_number(times: int = 1) -> None:
        """Say a number."""
        raise ValueError(f"{times} is refused")

    assert (run("say-number", "--times", "3").exit_code, run("say-number").stderr) == (
        2,
        "linmax: 1 is refused\n",
    )
    assert "Say a number." in run("--help").output


@pytest.mark.parametrize(
    ("words", "found"), [("linmax fu", ["fuse"]), ("linmax fuse --checkp", ["--checkpoint"])]
)
def test_the_shell_completes_commands_and_options(
    words: str, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_LINMAX_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert CliRunner().invoke(app, prog_name="linmax").output.split() == found


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fus", "votes.csv"], "there is no command 'fus'; did you mean 'fuse'?"),
        (["xyz"], "there is no command 'xyz'; linmax --help lists all commands"),
        (["fuse", "a.csv", "--lable", "x"], "there is no option --lable; did you mean --label?"),
        (["--nothing"], "no such option"),
        (["inspect"], "missing argument 'MODEL'; linmax inspect --help lists the options"),
        (["fuse", "a.csv", "--seed", "-1"], "invalid value for '--seed': "),
        (["fuse", "a.csv", "--seed", "x"], "invalid value for '--seed': "),
        (["fuse", "a.csv", "--label"], "option '--label' requires an argument; "),
        (["inspect", "a", "b"], "got unexpected extra argument"),
    ],
)
def test_a_wrong_word_is_one_line(words: list[str], sentence: str) -> None:
    result = CliRunner().invoke(app, words, prog_name="linmax")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"linmax: {sentence}")
    assert result.stderr.count("\n") == 1


def test_no_default_is_a_path_of_one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for name in COMMANDS:
        assert ".." + os.sep not in run(name, "--help").output
    assert "LINMAX_DATA" in run("reproduce", "--help").output
    monkeypatch.setenv("LINMAX_DATA", "/nowhere")
    assert "there is no folder /nowhere" in run("reproduce", "fusion-figure-4").stderr


# --- how it ends


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("files")
    (folder / "votes.csv").write_text("ann,bob,truth\n" + "a,b,a\nb,b,b\na,a,a\n" * 10)
    fusion = Fusion(Winnow(1.2))
    fusion.learn([{"ann": "a", "bob": "b"}, {"ann": "b", "bob": "b"}], ["a", "b"])
    fusion.save(folder / "panel.linmax")
    Database(folder / "server").close()
    return {
        "votes": str(folder / "votes.csv"),
        "model": str(folder / "panel.linmax"),
        "folder": str(folder),
        "server": str(folder / "server"),
    }


ALL = {
    "demo": "--seconds 0 --learner Winnow(1.2) --picture {folder}/demo.png",
    "look": "{votes}",
    "fuse": "{votes} --learner Winnow(1.2)",
    "predict": "{model} {votes}",
    "consult": "{model} {votes}",
    "inspect": "{model}",
    "explain": "{model} {votes} --row 1",
    "compare": "{votes} Winnow(1.2)",
    "follow": "--help",
    "reproduce": "",
    "bounds": "",
    "learners": "",
    "serve": "token --data {server}",
    "warm-up": "Winnow(1.2)",
    "--help": "",
    "--version": "",
}


def test_every_command_is_tried_with_a_full_disk() -> None:
    assert set(COMMANDS) <= set(ALL)


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("name", ALL)
def test_a_full_disk_is_one_sentence(
    name: str, files: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "digits_panel", panel_of)
    with FULL.open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(SystemExit) as end:
            app([name, *ALL[name].format(**files).split()], prog_name="linmax")
        monkeypatch.undo()
    assert end.value.code == 2
    assert capfd.readouterr().err.splitlines()[-1].startswith("linmax: cannot write ")


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
def test_a_full_disk_is_not_reported_again_at_the_end_of_the_process() -> None:
    with FULL.open("w") as full, start("--version", stdout=full) as program:
        assert program.stderr is not None
        assert program.stderr.read() == (
            "linmax: cannot write the output: No space left on device; write it elsewhere,"
            " or free some space\n"
        )
    assert program.returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_during_the_imports_is_quiet(tmp_path: Path) -> None:
    """A module named like the first that linmax imports waits there."""
    (tmp_path / "numpy.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with start("fuse", "votes.csv", stdout=subprocess.PIPE, env=environment) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.readline() == "importing\n"
        time.sleep(0.01)
        program.send_signal(signal.SIGINT)
        assert program.stderr.read() == ""
    assert program.returncode == 130


def test_a_closed_standard_output_is_no_error() -> None:
    program = f"{PROGRAM.replace('main()', 'sys.stdout = None; main()')}"
    done = subprocess.run(
        [sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", [pytest.param(["--help"], marks=pytest.mark.slow), ["fuse", "--help"]])
def test_a_pipe_that_is_closed_early_ends_the_program_quietly(words: list[str]) -> None:
    """As in `linmax --help | head`."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with start(*words, stdout=write_end) as program:
        os.close(write_end)
        assert program.stderr is not None
        assert program.stderr.read() == ""
    assert program.returncode == 0


def test_a_pipe_that_is_closed_early_costs_neither_the_model_nor_the_predictions(tmp_path: Path) -> None:
    """As in `linmax fuse votes.csv --save model | head -1`."""
    votes, model, guesses = tmp_path / "v.csv", tmp_path / "m.linmax", tmp_path / "g.csv"
    votes.write_text("ann,bob,label\n" + "ham,spam,ham\nspam,spam,spam\nham,ham,ham\n" * 20)
    read_end, write_end = os.pipe()
    os.close(read_end)
    words = ["fuse", votes, "--learner", "Winnow(1.2)", "--save", model, "--output", guesses]
    with start(*map(str, words), stdout=write_end) as program:
        os.close(write_end)
        assert program.stderr is not None
        assert program.stderr.read() == ""
    assert program.returncode == 0
    assert load(model).trials == 60
    assert len(guesses.read_text().splitlines()) == 61


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no folder /proc, where no file is made")
@pytest.mark.parametrize(
    "words",
    [
        "fuse nowhere.csv --save /proc/m.linmax",
        "fuse nowhere.csv --report /proc/r.html",
        "fuse nowhere.csv --output /proc/p.csv",
        "predict nowhere.linmax nowhere.csv --output /proc/p.csv",
        "compare nowhere.csv --picture /proc/c.png",
        "demo --picture /proc/d.png",
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(words: str) -> None:
    result = run(*words.split())
    assert result.exit_code == 2
    assert "no file can be made in /proc" in result.stderr
    assert result.stderr.count("\n") == 1
