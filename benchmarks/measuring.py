"""How everything here is measured: in turn, so that what else the machine does hits all alike."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import numba
import numpy as np

import linmax


class Cost(NamedTuple):
    """What one run took."""

    wall: float  # seconds
    cpu: float
    megabytes: float = 0.0  # at its peak, where that is known


def here(work: Callable[[], Any]) -> Cost:
    """Run a function in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def process(command: Sequence[str]) -> tuple[Cost, bytes]:
    """Run a program to its end: what it took, and what it said."""
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=usual) as program:
        assert program.stdout is not None
        said = program.stdout.read()
        _, status, used = os.wait4(program.pid, 0)
        wall = time.perf_counter() - begun
        program.returncode = os.waitstatus_to_exitcode(status)
    if program.returncode:
        raise RuntimeError(f"{command[0]} ... {command[-1]} ended with {program.returncode}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024), said


def in_turn(works: Mapping[str, Callable[[], Cost]], rounds: int) -> dict[str, list[Cost]]:
    """Everybody in turn, round after round; one round more comes first, for compilers and caches."""
    costs: dict[str, list[Cost]] = {name: [] for name in works}
    for at in range(rounds + 1):
        for name, work in works.items():
            cost = work()
            if at:
                costs[name].append(cost)
    return costs


def spread(values: Sequence[float]) -> list[float]:
    """Median, least and most."""
    return [float(f"{value:.4g}") for value in (median(values), min(values), max(values))]


def record(costs: Sequence[Cost]) -> dict[str, list[float]]:
    """The median of some runs, with the least and the most, of wall and CPU seconds and megabytes."""
    return {name: spread([float(getattr(cost, name)) for cost in costs]) for name in Cost._fields}


def processor() -> str:
    """The model of the processor, or at least its kind."""
    try:
        told = subprocess.run(["lscpu"], capture_output=True, text=True).stdout.splitlines()
    except OSError:
        told = []
    named = dict(line.split(":", 1) for line in told if ":" in line)
    return f"{platform.machine()} {named.get('Model name', '').strip()}".strip()


def memory() -> float:
    """Gibibytes of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def machine() -> dict[str, Any]:
    """What the figures were taken on and with."""
    return {
        "machine": f"{processor()}, {os.cpu_count()} cores, {memory():.0f} GiB, {platform.system()}",
        "versions": {
            "linmax": linmax.__version__,
            "python": platform.python_version(),
            "numba": numba.__version__,
            "numpy": np.__version__,
        },
    }
