"""Timing: everything runs in turn, so that other load on the machine affects all methods equally."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import numba
import numpy as np

import linmax


class Cost(NamedTuple):
    """The cost of one run.

    Parameters
    ----------
    wall, cpu : float
        Wall and CPU time in seconds.
    megabytes : float
        Peak memory, where it is known.
    """

    wall: float
    cpu: float
    megabytes: float = 0.0


class TimedRun(NamedTuple):
    """The cost of a run and its number of mistakes."""

    cost: Cost
    mistakes: int


def time_call(work: Callable[[], Any]) -> Cost:
    """Time a function in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


# Started by a small process: Linux counts the memory of the process that starts a program as the program's
STARTER = """
import json, os, sys, time
begun = time.perf_counter()
program = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(program, 0)
wall = time.perf_counter() - begun
cost = wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
os.write(int(sys.argv[1]), json.dumps([os.waitstatus_to_exitcode(status), cost]).encode())
"""


def time_process(command: Sequence[str]) -> tuple[Cost, bytes]:
    """Run a program, and return its cost and its output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    reading, writing = os.pipe()
    starter = [sys.executable, "-I", "-S", "-c", STARTER, str(writing), *command]
    with open(reading, "rb") as costs:
        try:
            done = subprocess.run(starter, stdout=subprocess.PIPE, env=environment, pass_fds=[writing])
        finally:
            os.close(writing)
        code, cost = json.loads(costs.read() or "[1, null]")
    if code or done.returncode:
        raise RuntimeError(f"{command[0]} ... {command[-1]} ended with {code or done.returncode}")
    return Cost(*cost), done.stdout


def in_turn(works: Mapping[str, Callable[[], Cost]], rounds: int) -> dict[str, list[Cost]]:
    """Run all functions in turn for some rounds, after one round of warm-up that is not counted."""
    costs: dict[str, list[Cost]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            cost = work()
            if number:
                costs[name].append(cost)
    return costs


def spread(values: Sequence[float]) -> list[float]:
    """Return the median, the minimum and the maximum."""
    return [float(f"{value:.4g}") for value in (median(values), min(values), max(values))]


def record(costs: Sequence[Cost]) -> dict[str, list[float]]:
    """Return median, minimum and maximum of wall and CPU seconds and of megabytes."""
    return {name: spread([float(getattr(cost, name)) for cost in costs]) for name in Cost._fields}


def processor() -> str:
    """Return the model of the processor, or at least its architecture."""
    try:
        lines = subprocess.run(["lscpu"], capture_output=True, text=True).stdout.splitlines()
    except OSError:
        lines = []
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    return f"{platform.machine()} {fields.get('Model name', '').strip()}".strip()


def memory() -> float:
    """Return the memory of the machine in gibibytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def machine() -> dict[str, Any]:
    """Return the machine and the versions that figures were measured with."""
    return {
        "machine": f"{processor()}, {os.cpu_count()} cores, {memory():.0f} GiB, {platform.system()}",
        "versions": {
            "linmax": linmax.__version__,
            "python": platform.python_version(),
            "numba": numba.__version__,
            "numpy": np.__version__,
        },
    }
