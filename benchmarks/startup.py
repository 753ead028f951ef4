"""Program-up time of programs: imports, first calls, and commands on a small file."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers.environment import PeersMissingError, named, python
from benchmarks.peers.vw import lines_by_class
from benchmarks.timing import Cost, in_turn, machine, record, time_process
from linmax._jit.tiers import VARIABLE
from linmax.problems import majority

ROOT = Path(__file__).parents[1]
ROWS, EXPERTS, CLASSES, FIRST = 1000, 20, 5, 10
LEARNER = "Averaged(Winnow(1.2))"
COLD = ("linmax, Winnow(1.2)", "linmax, default", "linmax fuse, default")  # measured with an empty cache, too
AS_USERS = ("env", "-u", VARIABLE)
SLOW = (
    "import sklearn",
    "scikit-learn, SGDClassifier",
    "linmax, Winnow(1.2)",
    f"linmax fuse, {LEARNER}",
)  # left out
IMPORTS, CALLS, COMMANDS = "import", f"import and learn {FIRST} items", f"command, {ROWS} rows"

TEN = f"from linmax.problems import majority; votes, labels = majority({FIRST})"
DEFAULT = f"{TEN}; from linmax import Fusion; Fusion(classes=range(5)).learn(votes, labels)"
WINNOW = (
    f"{TEN}; from linmax import Fusion, Winnow; Fusion(Winnow(1.2), classes=range(5)).learn(votes, labels)"
)
RIVER = f"""\
from river.linear_model import SoftmaxRegression
model = SoftmaxRegression()
for y in range({FIRST}):
    item = {{f"{{i}}={{(i + y) % 5}}": 1 for i in range({EXPERTS})}}
    model.predict_one(item)
    model.learn_one(item, y % 5)
"""
SCIKIT = f"""\
import numpy as np
from sklearn.linear_model import SGDClassifier
items = np.random.default_rng(0).random(({FIRST}, {EXPERTS * CLASSES}))
SGDClassifier(loss="log_loss").partial_fit(items, np.arange({FIRST}) % 5, classes=range(5))
"""
WABBIT = f"""\
from vowpalwabbit import Workspace
model = Workspace("--oaa 5 --quiet")
for y in range({FIRST}):
    model.learn(f"{{y % 5 + 1}} |" + "".join(f" e{{i}}^{{(i + y) % 5}}" for i in range({EXPERTS})))
model.finish()
"""
FILE = "import sys; from vowpalwabbit import Workspace; Workspace(sys.argv[1]).finish()"


class Program(NamedTuple):
    """A program to start."""

    group: str
    name: str
    command: tuple[str, ...]


def measure(quick: bool, report: Callable[[str], None] = lambda what: None) -> dict[str, Any]:
    """Time all programs in turn, and first calls with an empty cache."""
    notes = []
    with tempfile.TemporaryDirectory() as made:
        starts = linmax_programs(Path(made))
        report("the peers' environment")
        try:
            starts += peer_programs(Path(made), python(ROOT / ".cache" / "peers", make=True))
        except PeersMissingError as error:
            notes.append(f"peers are left out: {error}")
        starts = [start for start in starts if not quick or start.name not in SLOW]
        works = {start.name: partial(time_program, start, report) for start in starts}
        costs = in_turn(works, rounds := 1 if quick else 3)
        records = [{"group": one.group, "name": one.name, **record(costs[one.name])} for one in starts]
        cold = [
            time_cold(start, report, at_once=at_once)
            for start in starts
            if start.name in COLD and not quick
            for at_once in (False, True)
        ]
    kept = {"quick": quick, "notes": notes, "rounds": rounds, "starts": records, "cold": cold}
    about = machine()
    if not notes:
        about["versions"] |= named()
    return {**about, **kept}


def time_program(start: Program, report: Callable[[str], None]) -> Cost:
    """Time one program."""
    report(start.name)
    return time_process((*AS_USERS, *start.command))[0]


def time_cold(start: Program, report: Callable[[str], None], *, at_once: bool) -> dict[str, Any]:
    """Time a program with an empty numba cache; everything is compiled at once, or as users have it."""
    report(f"{start.name}, empty cache")
    with tempfile.TemporaryDirectory() as cache:
        way = ("env", f"{VARIABLE}=0") if at_once else AS_USERS
        cost, _ = time_process((*way, f"NUMBA_CACHE_DIR={cache}", *start.command))
        kernels = sorted({file.name.split("-")[0] for file in Path(cache).rglob("*.nbi")})
        size = sum(file.stat().st_size for file in Path(cache).rglob("*.nbc")) / 2**20
    kept = {"kernels": kernels, "kept megabytes": round(size, 2)}
    return {"name": start.name, "compiled at once": at_once, **record([cost]), **kept}


def linmax_programs(folder: Path) -> list[Program]:
    """Return the programs of linmax."""
    script = (str(Path(sys.executable).with_name("linmax")),)
    here = (sys.executable, "-c")
    file = str(write_csv(folder / "small.csv"))
    return [
        Program(IMPORTS, "Python alone", (*here, "pass")),
        Program(IMPORTS, "import linmax", (*here, "import linmax")),
        Program(CALLS, "linmax, Winnow(1.2)", (*here, WINNOW)),
        Program(CALLS, "linmax, default", (*here, DEFAULT)),
        Program(COMMANDS, "linmax --help, no rows", (*script, "--help")),
        Program(COMMANDS, f"linmax fuse, {LEARNER}", (*script, "fuse", file, "--learner", LEARNER)),
        Program(COMMANDS, "linmax fuse, default", (*script, "fuse", file)),
    ]


def peer_programs(folder: Path, interpreter: Path) -> list[Program]:
    """Return the programs of the peers; Vowpal Wabbit's package has no command and is called from Python."""
    there = (str(interpreter.absolute()), "-c")
    options = "--csoaa_ldf mc --loss_function logistic --quiet --no_stdin -p /dev/null -d "
    return [
        *(
            Program(IMPORTS, f"import {name}", (*there, f"import {name}"))
            for name in ("river", "river.linear_model", "sklearn", "sklearn.linear_model", "vowpalwabbit")
        ),
        Program(CALLS, "River, SoftmaxRegression", (*there, RIVER)),
        Program(CALLS, "scikit-learn, SGDClassifier", (*there, SCIKIT)),
        Program(CALLS, "VW, --oaa", (*there, WABBIT)),
        Program(
            COMMANDS, "VW, --csoaa_ldf", (*there, FILE, options + str(write_examples(folder / "small.vw")))
        ),
    ]


def write_csv(path: Path) -> Path:
    """Write votes and labels to a CSV file."""
    votes, labels = majority(ROWS, experts=EXPERTS, classes=CLASSES, noise=0.05)
    lines = [",".join([*(f"model{i}" for i in range(EXPERTS)), "truth"])]
    lines += [",".join(f"c{c}" for c in (*row, y)) for row, y in zip(votes, labels, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_examples(path: Path) -> Path:
    """Write the same votes in the format of Vowpal Wabbit."""
    votes, labels = majority(ROWS, experts=EXPERTS, classes=CLASSES, noise=0.05)
    rows = zip(votes.tolist(), labels.tolist(), strict=True)
    path.write_text("".join(lines_by_class(row, y, CLASSES) for row, y in rows))
    return path


def page(results: dict[str, Any]) -> str:
    """Return the results as Markdown."""
    parts = [HEAD.format(rounds=results["rounds"])]
    parts += [f"{note[0].upper()}{note[1:]}.\n\n" for note in results["notes"]]
    parts += ["| | wall, s | CPU, s |\n| --- | ---: | ---: |\n"]
    for group in (IMPORTS, CALLS, COMMANDS):
        parts.append(f"| **{group}** | | |\n")
        for one in (one for one in results["starts"] if one["group"] == group):
            cells = [one["name"], timed(one["wall"]), timed(one["cpu"])]
            parts.append(f"| {' | '.join(cells)} |\n")
    if results["cold"]:
        parts.append(EVER)
    for one in results["cold"]:
        way = f", with `{VARIABLE}=0`" if one["compiled at once"] else ""
        parts.append(f"- {one['name']}{way}: {one['wall'][0]:.1f} s, {one['cpu'][0]:.1f} s of CPU; ")
        cached = f"{one['kept megabytes']:.1f} MB are cached: {', '.join(one['kernels'])}"
        parts.append(f"{cached if one['kernels'] else 'nothing is compiled'}.\n")
    return "".join(parts)


HEAD = """\
## Start-up

Every start is a process; they run in turn, one round to warm the disk cache and {rounds} more that count.
Figures are the median (min .. max) of wall seconds, and CPU seconds of all threads. linmax's compiled kernels
are in numba's cache, which is the usual state after the first call on a machine. On a file `linmax fuse` also
computes and prints its report; Vowpal Wabbit, whose package on PyPI has no command, is called from Python: it
predicts, learns and reports nothing. Of the first calls only scikit-learn's does not predict.

"""
EVER = """\

### The first call on a machine

One run with an empty numba cache: linmax runs as Python first, and compiles the kernels it calls, and caches
them, when it has done so for some seconds or expects to; or at once, if it is told to.

"""


def highlights(results: dict[str, Any]) -> list[str]:
    """Return a line per program."""
    return [f"{one['name']} ({one['group']}): {timed(one['wall'])} s" for one in results["starts"]]


def timed(values: list[float]) -> str:
    """Return a median with minimum and maximum as text."""
    middle, least, longest = values
    return f"{middle:.2f} ({least:.2f} .. {longest:.2f})"


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw a bar for each program, as PNG and SVG."""
    from matplotlib import rc_context  # slow to import
    from matplotlib.figure import Figure

    starts = results["starts"]
    with rc_context({"svg.hashsalt": "startup"}):  # the same figures give the same file
        whole = Figure(figsize=(9, 1.2 + 0.3 * len(starts)), dpi=120, layout="constrained")
        axes = whole.subplots()
        order = [one for group in (IMPORTS, CALLS, COMMANDS) for one in starts if one["group"] == group]
        middles = [one["wall"][0] for one in order]
        ends = [
            [one["wall"][0] - one["wall"][1] for one in order],
            [one["wall"][2] - one["wall"][0] for one in order],
        ]
        colors = ["#0072B2" if "linmax" in one["name"] else "#BBBBBB" for one in order]
        axes.plot([one["cpu"][0] for one in order], range(len(order)), "k|", markersize=12, zorder=3)
        axes.barh(range(len(order)), middles, xerr=ends, color=colors, capsize=2, zorder=2)
        axes.set_yticks(range(len(order)), [f"{one['name']}  ({one['group']})" for one in order])
        axes.invert_yaxis()
        axes.set_xlabel("wall seconds: median, min, max (marks: CPU)")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", color="#EEEEEE", zorder=0)
        whole.savefig(path, metadata={"Software": None})
        whole.savefig(path.with_suffix(".svg"), metadata={"Date": None})
