"""The reader of a format whose rows have columns."""

from __future__ import annotations

from collections.abc import Callable

from linmax.streams.arrays import Npy, Npz
from linmax.streams.batch import Reader
from linmax.streams.columnar import Arrow, Parquet
from linmax.streams.delimited import Delimited
from linmax.streams.source import Source

READERS: dict[str, Callable[[Source], Reader]] = {
    "CSV": lambda source: Delimited(source, "CSV"),
    "TSV": lambda source: Delimited(source, "TSV"),
    "Parquet": Parquet,
    "Arrow": Arrow,
    "npy": Npy,
    "npz": Npz,
}


def reader_of(source: Source, format: str) -> Reader:
    """Open a file that has columns."""
    return READERS[format](source)
