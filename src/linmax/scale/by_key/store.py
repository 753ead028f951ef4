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
from linmax.scale.by_key.split import bucket_of
from linmax.scale.dataset import RowReader, describe_key, join_key, key_columns, split_key

Key = str | tuple[str, ...]
"""The value of the column of keys, or those of several columns."""
FORMAT, VERSION = "linmax-keyed", 1
MANIFEST, RESULTS, PRIOR = "manifest.json", "results.parquet", "prior.linmax"
ROW_GROUP = 256
"""Models of a row group, which are read together."""
CACHED_GROUPS = 8
"""Row groups in memory: who asks for the models of a file in their order reads each row group once."""

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
    def by(self) -> tuple[str, ...]:
        """The columns of keys, usually one."""
        return key_columns(self.manifest["reader"]["by"])

    @property
    def reader(self) -> RowReader:
        """How the rows of the data set are read."""
        return RowReader.from_json(self.manifest["reader"])

    @property
    def prior(self) -> Fusion | None:
        """The model that all keys have started from; None if each has started from nothing."""
        return load(self.folder / PRIOR) if self.manifest["pooled"] else None

    def table(self) -> Any:
        """Return the table of results: a row per key, with its items, its mistakes and the baselines.

        If keys have several columns, these are at the end, and the key is a JSON list of their values.
        """
        return read_columns(self.folder / RESULTS)

    def current_table(self) -> Any:
        """Return the table of results as it is before the end of a run, or after one that was stopped."""
        return read_results(self.folder, self.manifest)

    def __iter__(self) -> Iterator[Key]:
        files = [name for name in self.manifest["files"] if name is not None]
        keys = sorted(key for name in files for key in _rows_of(self.folder / name))
        columns = len(self.by)
        return iter(keys if columns == 1 else [split_key(key, columns) for key in keys])

    def __len__(self) -> int:
        files = [name for name in self.manifest["files"] if name is not None]
        return sum(len(_rows_of(self.folder / name)) for name in files)

    def __getitem__(self, key: Key) -> Fusion:
        found = self.get(key)
        if found is None:
            raise KeyError(f"there is no model of {describe_key(self.by, self._text(key))}")
        return found

    def __contains__(self, key: Key) -> bool:
        return self.model_bytes(self._text(key)) is not None

    def get(self, key: Key) -> Fusion | None:
        """Return the model of a key, or None.

        Parameters
        ----------
        key : str or tuple
            The key; with several columns of keys, a tuple with a value for each.
        """
        text = self._text(key)
        content = self.model_bytes(text)
        return None if content is None else from_bytes(content, f"the model of {describe_key(self.by, text)}")

    def _text(self, key: Key) -> str:
        """Return the text of a key, of which values may be numbers, too."""
        values = (key,) if isinstance(key, str) or not isinstance(key, tuple | list) else tuple(key)
        if len(values) != len(self.by):
            raise KeyError(f"a key has a value for each of {', '.join(self.by)} (got {key!r})")
        if any(value is None for value in values):
            raise KeyError(f"rows without a key have no model (got {key!r})")
        return join_key([str(value) for value in values])

    def model_bytes(self, key: str) -> bytes | None:
        """Return the content of the model of the text of a key, or None.

        Parameters
        ----------
        key : str
            The text of a key, as in the table of results.
        """
        name = self.manifest["files"][bucket_of(key, self.manifest["buckets"])]
        if name is None:
            return None
        path = self.folder / name
        row = _rows_of(path).get(key)
        if row is None:
            return None
        models = _read_models(str(path), path.stat().st_mtime_ns, row // ROW_GROUP)
        content: bytes | None = models[row % ROW_GROUP].as_py()
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
    """Return the row of each key in a file of models; a key that could learn nothing has no model."""
    return _read_rows(str(path), path.stat().st_mtime_ns)


@lru_cache(CACHED_GROUPS)
def _read_models(path: str, _: int, group: int) -> Any:
    with pq.ParquetFile(path) as file:
        return file.read_row_group(group, columns=["model"]).column("model")


@lru_cache(256)
def _read_rows(path: str, _: int) -> dict[str, int]:
    table = read_columns(path, ["key", "items"])
    found = zip(table.column("key").to_pylist(), table.column("items").to_pylist(), strict=True)
    return {key: row for row, (key, items) in enumerate(found) if items}


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
        raise ValueError(f"{folder / MANIFEST} is damaged; restore it, or remove it to begin again") from None
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
    table = read_results(folder, manifest)
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    write_atomic(folder / RESULTS, content.getvalue())
    return table


def read_results(folder: Path, manifest: dict[str, Any]) -> Any:
    """Return the results of all buckets, sorted by key, from the files of models.

    Parameters
    ----------
    folder, manifest
        The folder of the store, and its manifest.
    """
    files = [name for name in manifest["files"] if name is not None]
    tables = [read_columns(folder / name, RESULT.names) for name in files]
    table = pa.concat_tables(tables) if tables else RESULT.empty_table()
    table = table.take(pc.sort_indices(table, sort_keys=[("key", "ascending")])).combine_chunks()
    by = key_columns(manifest["reader"]["by"])
    if len(by) > 1:
        values = zip(*(split_key(key, len(by)) for key in table.column("key").to_pylist()), strict=True)
        for name, column in zip(by, list(values) or [()] * len(by), strict=True):
            table = table.append_column(name, pa.array(column, pa.string()))
    return table
