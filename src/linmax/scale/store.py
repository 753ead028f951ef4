"""One model per key, in a folder of Parquet files: one file per bucket of keys, and a manifest."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from linmax._files import write_atomic
from linmax.fusion import Fusion, load
from linmax.fusion.model_file import from_bytes
from linmax.scale.dataset import RowReader
from linmax.scale.split import bucket_of

FORMAT, VERSION = "linmax-keyed", 1
MANIFEST, RESULTS, PRIOR = "manifest.json", "results.parquet", "prior.linmax"
ROW_GROUP = 256
"""Models of a row group, which are read together."""

RESULT = pa.schema(
    [
        ("key", pa.string()),
        ("items", pa.int64()),
        ("trials", pa.int64()),
        ("novel", pa.int64()),
        ("mistakes", pa.int64()),
        ("accuracy", pa.float64()),
        ("accuracy_low", pa.float64()),
        ("accuracy_high", pa.float64()),
        ("plurality", pa.float64()),
        ("best_expert", pa.string()),
        ("best_expert_accuracy", pa.float64()),
        ("most_frequent_class", pa.string()),
        ("most_frequent_share", pa.float64()),
        ("error", pa.string()),
    ]
)
"""The columns of the table of results."""
STORED = pa.schema([*RESULT, ("behind", pa.int64()), ("counts", pa.string()), ("model", pa.binary())])
"""The columns of a file of models; `behind` is how many partitions a key with an error has learned."""


class KeyedModels:
    """The models that `keyed` has left in a folder.

    Parameters
    ----------
    folder : str or path-like
        The folder.

    Attributes
    ----------
    manifest : dict
        What was learned, from which partitions, and how their columns are read.

    Raises
    ------
    ValueError
        If there are no models in the folder.

    Examples
    --------
    >>> import tempfile
    >>> from linmax.scale import KeyedModels, keyed
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = "".join(f"c{i % 3},{'ab'[i % 2]},b,{'ab'[i % 2]}\\n" for i in range(60))
    >>> _ = (folder / "votes.csv").write_text("customer,ann,bob,truth\\n" + rows)
    >>> result = keyed(folder / "votes.csv", by="customer", store=folder / "models", label="truth",
    ...                learner="Winnow(1.5)", workers=1)
    >>> models = KeyedModels(folder / "models")
    >>> list(models), models["c1"].trials, len(models)
    (['c0', 'c1', 'c2'], 20, 3)
    >>> models.table().select(["key", "items", "mistakes", "best_expert"]).to_pylist()[0]
    {'key': 'c0', 'items': 20, 'mistakes': 0, 'best_expert': 'ann'}
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        if self.manifest is None:
            raise ValueError(
                f"{os.fspath(folder)!r} has no models by key; linmax fuse DATASET --by COLUMN writes them"
            )

    @property
    def by(self) -> str:
        """The column of keys."""
        return str(self.manifest["reader"]["by"])

    @property
    def reader(self) -> RowReader:
        """How the rows of the data set are read."""
        return RowReader.from_json(self.manifest["reader"])

    @property
    def prior(self) -> Fusion | None:
        """The model that all keys have started from; None if each has started from nothing."""
        return load(self.folder / PRIOR) if self.manifest["pooled"] else None

    def table(self) -> Any:
        """Return the table of results: a row per key, with its items, its mistakes and the baselines."""
        return read_columns(self.folder / RESULTS)

    def __iter__(self) -> Iterator[str]:
        files = [name for name in self.manifest["files"] if name is not None]
        return iter(sorted(key for name in files for key in _rows_of(self.folder / name)))

    def __len__(self) -> int:
        files = [name for name in self.manifest["files"] if name is not None]
        return sum(pq.read_metadata(self.folder / name).num_rows for name in files)

    def __getitem__(self, key: str) -> Fusion:
        content = self.model_bytes(str(key))
        if content is None:
            raise KeyError(f"there is no model of {self.by} {key!r}")
        return from_bytes(content, f"the model of {self.by} {key!r}")

    def get(self, key: str) -> Fusion | None:
        """Return the model of a key, or None."""
        return None if self.model_bytes(str(key)) is None else self[key]

    def model_bytes(self, key: str) -> bytes | None:
        """Return the content of the model of a key, or None."""
        name = self.manifest["files"][bucket_of(key, self.manifest["buckets"])]
        if name is None:
            return None
        path = self.folder / name
        row = _rows_of(path).get(key)
        if row is None:
            return None
        with pq.ParquetFile(path) as file:
            group = file.read_row_group(row // ROW_GROUP, columns=["model"])
        content: bytes | None = group.column("model")[row % ROW_GROUP].as_py()
        return content


def read_columns(path: str | os.PathLike[str], columns: list[str] | None = None) -> Any:
    """Return columns of one Parquet file; its path is not searched for further ones.

    Parameters
    ----------
    path, columns
        The file, and the columns; None is all of them.
    """
    with pq.ParquetFile(path) as file:
        return file.read(columns)


def _rows_of(path: Path) -> dict[str, int]:
    """Return the row of each key in a file of models."""
    return _read_rows(str(path), path.stat().st_mtime_ns)


@lru_cache(256)
def _read_rows(path: str, _: int) -> dict[str, int]:
    keys = read_columns(path, ["key"]).column("key").to_pylist()
    return {key: row for row, key in enumerate(keys)}


def read_manifest(folder: Path) -> Any:
    """Return the manifest of a store, or None if there is none.

    Parameters
    ----------
    folder
        The folder of the store.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise ValueError(f"{folder / MANIFEST} is damaged; restore it, or learn everything again") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"{folder / MANIFEST} is not the manifest of models by key; name another folder")
    if manifest.get("version") != VERSION:
        raise ValueError(
            f"{folder} has version {manifest.get('version')!r} and this linmax reads {VERSION}; update linmax"
        )
    return manifest


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Replace the manifest of a store; what it does not name does not belong to the store.

    Parameters
    ----------
    folder, manifest
        The folder of the store, and the manifest.
    """
    write_atomic(folder / MANIFEST, json.dumps(manifest).encode())


def write_models(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a file of models, sorted by key.

    Parameters
    ----------
    path
        The file.
    rows
        A dict per key, with the columns of `STORED`.
    """
    table = pa.Table.from_pylist(sorted(rows, key=lambda row: str(row["key"])), STORED)
    content = io.BytesIO()
    pq.write_table(table, content, row_group_size=ROW_GROUP, compression="zstd")
    write_atomic(path, content.getvalue())


def write_results(folder: Path, manifest: dict[str, Any]) -> Any:
    """Write the table of results of all buckets, sorted by key, and return it.

    Parameters
    ----------
    folder, manifest
        The folder of the store, and its manifest.
    """
    files = [name for name in manifest["files"] if name is not None]
    tables = [read_columns(folder / name, RESULT.names) for name in files]
    table = pa.concat_tables(tables) if tables else RESULT.empty_table()
    table = table.take(pc.sort_indices(table, sort_keys=[("key", "ascending")])).combine_chunks()
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    write_atomic(folder / RESULTS, content.getvalue())
    return table
