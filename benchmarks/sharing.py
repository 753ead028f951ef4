"""The cost of hypothesis sharing: time per trial, and memory of kernels.

`python -m benchmarks.sharing` writes benchmarks/results/sharing.json and docs/sharing.png.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from linmax import Fusion, Perceptron
from linmax.experts import Attributes, Gaussian, Kernel, Shared, Source

ROOT = Path(__file__).resolve().parents[1]
LETTER = ROOT.parent / "shared" / "data" / "letter" / "letter.npz"
CLASSES, ATTRIBUTES, PIECE = 26, 16, 1000
NEAR = Gaussian(0.07)
SOURCES: dict[str, Source] = {
    "multi": Attributes(),
    "single": Shared("distance"),
    "hybrid": Shared("distance") + Attributes(),
    "kernel, multi": Kernel(NEAR),
    "kernel, single": Kernel(NEAR, "difference"),
    "kernel, hybrid": Kernel(NEAR) + Kernel(NEAR, "difference"),
}


def clouds(trials: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Generate instances in three overlapping clouds per class."""
    rng = np.random.default_rng(seed)
    middle = rng.uniform(0, 1.5, (CLASSES, 3, ATTRIBUTES))
    labels = rng.integers(CLASSES, size=trials)
    instances = middle[labels, rng.integers(3, size=trials)] + rng.normal(0, 0.25, (trials, ATTRIBUTES))
    return instances, labels


def cost_over_time(source: Source, attributes: np.ndarray, labels: np.ndarray, piece: int) -> dict[str, Any]:
    """Return microseconds of CPU per trial and the number of support vectors, chunk by chunk."""
    Fusion(Perceptron().on(source)).learn(attributes=attributes[:50], labels=labels[:50])  # compiles
    fusion = Fusion(Perceptron().on(source))
    cost, supports = [], []
    for begin in range(0, len(labels), piece):
        rows = slice(begin, begin + piece)
        before = time.process_time()
        fusion.learn(attributes=attributes[rows], labels=labels[rows])
        cost.append(1e6 * (time.process_time() - before) / len(labels[rows]))
        supports.append(_supports(fusion))
    return {
        "microseconds": cost,
        "supports": supports,
        "mistakes": fusion.mistakes,
        "megabytes": session_bytes(fusion) / 2**20,
    }


def _supports(fusion: Fusion) -> int:
    state = fusion.state()
    return sum(len(array) for name, array in state.items() if name.endswith(".norm"))


def session_bytes(fusion: Fusion) -> int:
    """Return the bytes of all arrays of a session, including spare capacity and work space."""
    runner = fusion.runner
    arrays: list[np.ndarray] = []
    for engine in runner.rule_runs:
        arrays += [*engine.columns.values(), *engine.work]
    for ground in runner.sources:
        for memory in ground.stateful:
            arrays += _arrays(memory)
    for head in runner.predictors:
        for part in vars(head).values():
            arrays += (
                [part] if isinstance(part, np.ndarray) else _arrays(part) if isinstance(part, tuple) else []
            )
    once = {id(array): array for array in arrays}
    return sum(array.nbytes for array in once.values())


def _arrays(thing: Any) -> list[np.ndarray]:
    if isinstance(thing, np.ndarray):
        return [thing]
    parts = thing if isinstance(thing, tuple) else vars(thing).values() if hasattr(thing, "__dict__") else ()
    return [array for part in parts for array in _arrays(part)]


def draw(figures: dict[str, Any], path: Path) -> None:
    """Draw the cost over trials without kernels, and over support vectors with kernels."""
    from matplotlib.figure import Figure

    picture = Figure((9, 3.6), layout="constrained")
    left, right = picture.subplots(1, 2)
    for name, found in figures.items():
        axes = right if "kernel" in name else left
        trials = PIECE * (1 + np.arange(len(found["microseconds"])))
        at = found["supports"] if "kernel" in name else trials
        axes.plot(at, found["microseconds"], label=name.removeprefix("kernel, "), linewidth=1.8)
    left.set(title="without a kernel: the same for ever", xlabel="trials")
    right.set(title="with a kernel: in proportion to the supports", xlabel="supports")
    for axes in (left, right):
        axes.set(ylim=(0, None), xlim=(0, None), ylabel="microseconds per trial")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    picture.savefig(path, dpi=130)


def main(
    quick: Annotated[bool, typer.Option(help="a tenth of the work, and nothing is kept")] = False,
) -> None:
    """Measure, print and draw."""
    trials = 2000 if quick else 20_000
    attributes, labels = clouds(trials)
    figures = {name: cost_over_time(source, attributes, labels, PIECE) for name, source in SOURCES.items()}
    results: dict[str, Any] = {"trials": trials, "clouds": figures}
    if LETTER.is_file():
        with np.load(LETTER, allow_pickle=False) as found:
            attributes, labels = found["X"][:trials] / 10.0, found["y"][:trials]
        kernels = {name: source for name, source in SOURCES.items() if "kernel" in name}
        results["letter"] = {
            name: cost_over_time(source, attributes, labels, len(labels)) for name, source in kernels.items()
        }
    else:
        Console().print(f"{LETTER} is not there: what kernels keep on LETTER is left out")
    table = Table("on", "source", "us, first piece", "us, last piece", "supports", "MB in memory")
    for where in ("clouds", "letter"):
        for name, found in results.get(where, {}).items():
            first, last = (f"{found['microseconds'][at]:.1f}" for at in (0, -1))
            table.add_row(where, name, first, last, str(found["supports"][-1]), f"{found['megabytes']:.1f}")
    Console().print(table)
    if not quick:
        (ROOT / "benchmarks" / "results" / "sharing.json").write_text(json.dumps(results, indent=1) + "\n")
        draw(figures, ROOT / "docs" / "sharing.png")


if __name__ == "__main__":
    typer.run(main)
