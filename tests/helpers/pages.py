"""Run the code blocks of a page: ```python and ```console blocks, in order, in one temporary folder.

The statements of a python block and the commands of a console block are doctest examples: what they print is
compared with the page, where `...` matches anything and any amount of white space is the same.

A console block shows a terminal. A line that begins with `$ ` is a command, lines that begin with `> ` right
below it continue it, and all other lines are the output. The commands are `linmax`, which runs in this
process, and those of a shell that a page needs to write and show files: `cat > FILE << WORD`, `cat FILE`,
`head -n NUMBER FILE` and `ls`.
"""

from __future__ import annotations

import contextlib
import doctest
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from linmax import spec
from linmax._jit.compilation import interpreted
from linmax.cli import app

ROOT = Path(__file__).parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
WIDTH = "100"  # columns of the terminal
SHELL, MODE = "__shell__", "__mode__"  # the names under which examples find them


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page, with their kind."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [(kind, block) for kind, block in found]


def run_page(page: Path, compiled: Callable[[str], bool] = lambda block: True) -> int:
    """Run every python and console block and compare what it prints; the number of examples that were run.

    Blocks for which `compiled` is false are interpreted.
    """
    with contextlib.ExitStack() as mode:

        def switch(on: bool) -> None:
            mode.close()
            if not on:
                mode.enter_context(interpreted())

        return _run(page, compiled, {SHELL: shell, MODE: switch})


def _run(page: Path, compiled: Callable[[str], bool], names: dict[str, Any]) -> int:
    whole: dict[str, Any] = {"__name__": f"page_{page.stem.lower()}", **names}
    before = spec.registered()
    found = list(examples(page, compiled))
    test = doctest.DocTest(found, whole, page.name, str(page), 0, None)
    report: list[str] = []
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            result = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=report.append)
    finally:
        spec.restore_registry(before)  # what a page registers ends with the page
    assert result.failed == 0, "".join(report)
    return result.attempted - sum(example.source.startswith(MODE) for example in found)


def examples(page: Path, compiled: Callable[[str], bool]) -> Iterator[doctest.Example]:
    """The statements and commands of a page, in order, each with the output that the page shows."""
    for kind, block in blocks(page):
        yield doctest.Example(f"{MODE}({compiled(block)})\n", "")
        if kind == "python":
            yield from doctest.DocTestParser().get_examples(block, page.name)
        elif kind == "console":
            for command, output in commands(block):
                yield doctest.Example(f"{SHELL}({command!r})\n", output)


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that the block shows.

    >>> commands("$ cat > a.csv << END\\n> x,y\\n> END\\n$ head -n 1 a.csv\\nx,y\\n")
    [('cat > a.csv << END\\nx,y\\nEND', ''), ('head -n 1 a.csv', 'x,y\\n')]
    """
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), ""))
            continue
        assert found, f"a console block begins with a command (got {line!r})"
        command, output = found[-1]
        if line.startswith("> ") and not output:
            found[-1] = f"{command}\n{line.removeprefix('> ')}", output
        else:
            found[-1] = command, f"{output}{line}\n"
    return found


def shell(command: str) -> None:
    """Run a command and print what it writes to standard output and standard error."""
    first, *rest = command.split("\n")
    match shlex.split(first.removesuffix("\\")):
        case ["cat", ">", name, "<<", word]:
            assert rest, f"no lines follow {first!r}"
            assert rest[-1] == word, f"{first!r} is not ended by {word!r}"
            Path(name).write_text("".join(f"{line}\n" for line in rest[:-1]), encoding="utf-8")
        case ["cat", name]:
            print(Path(name).read_text(encoding="utf-8"), end="")
        case ["head", "-n", number, name]:
            lines = Path(name).read_text(encoding="utf-8").splitlines()
            print(*lines[: int(number)], sep="\n")
        case ["ls"]:
            print(*sorted(path.name for path in Path().iterdir()), sep="\n")
        case ["linmax", *_]:
            words = shlex.split(command.replace("\\\n", " "))[1:]
            result = CliRunner().invoke(app, words, env={"COLUMNS": WIDTH})
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                raise result.exception
            print(result.output, end="")
        case words:
            raise AssertionError(f"pages run no {words[0]!r}")
