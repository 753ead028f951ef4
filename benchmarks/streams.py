"""What reading a file costs beside learning from it: `python -m benchmarks.streams`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich.console import Console
from rich.table import Table

from benchmarks.memory import resident
from linmax import Averaged, Fusion, Winnow
from linmax.problems import majority
from linmax.streams import open_stream

CLASSES = 5
NAMES = ["spam", "ham", "eggs", "tea", "milk"]


def files(folder: Path, rows: int, experts: int) -> dict[str, Path]:
    """The same panel as whole numbers, as categories and as text."""
    votes, labels = majority(rows, experts=experts, classes=CLASSES, noise=0.05)
    codes = {f"expert {i}": votes[:, i] for i in range(experts)} | {"truth": labels}
    texts = {
        name: pa.DictionaryArray.from_arrays(pa.array(column.astype(np.int8)), pa.array(NAMES))
        for name, column in codes.items()
    }
    paths = {name: folder / name for name in ("numbers.parquet", "categories.parquet", "text.csv")}
    pa.parquet.write_table(pa.table(codes), paths["numbers.parquet"], row_group_size=1 << 17)
    pa.parquet.write_table(pa.table(texts), paths["categories.parquet"], row_group_size=1 << 17)
    plain = pa.table({name: column.cast(pa.string()) for name, column in texts.items()})
    pa.csv.write_csv(
        plain, paths["text.csv"], pa.csv.WriteOptions(quoting_style="none", quoting_header="none")
    )
    return paths


def read(path: Path) -> None:
    """Read alone."""
    for _ in open_stream(path):
        pass


def learn(path: Path) -> None:
    """Read and learn."""
    classes: Any = range(CLASSES) if path.name == "numbers.parquet" else NAMES
    fusion = Fusion(Averaged(Winnow(1.2)), classes=classes)
    for piece in open_stream(path):
        fusion.learn(piece.votes, piece.labels)


def only_learn(path: Path, rows: int, experts: int) -> None:
    """The kernel: learn from one array of codes."""
    votes, labels = majority(rows, experts=experts, classes=CLASSES, noise=0.05)
    begin = time.process_time()
    Fusion(Averaged(Winnow(1.2)), classes=range(CLASSES)).learn(votes, labels)
    print(f"the kernel on one array: {(time.process_time() - begin) / rows * 1e9:.0f} ns of CPU per row")


def seconds(work: Callable[[Path], None], path: Path, rounds: int = 3) -> float:
    """The least CPU time of a few rounds."""
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        work(path)
        times.append(time.process_time() - begin)
    return min(times)


def main(rows: int = 1_000_000, experts: int = 20) -> None:
    """Show rows per second of CPU."""
    table = Table(title=f"{rows} rows of {experts} experts")
    for name in ("file", "reading, rows/s", "reading and learning, rows/s", "ns per row", "MB resident"):
        table.add_column(name)
    with tempfile.TemporaryDirectory() as folder:
        paths = files(Path(folder), rows, experts)
        learn(paths["numbers.parquet"])  # compiles, or loads from disk
        only_learn(paths["numbers.parquet"], rows, experts)
        for name, path in paths.items():
            alone, both = seconds(read, path), seconds(learn, path)
            figures = [f"{rows / alone:,.0f}", f"{rows / both:,.0f}", f"{1e9 * both / rows:.0f}"]
            table.add_row(name, *figures, f"{resident():.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
