"""The split by key: the rows of a partition go to a file in which each bucket of keys can be read alone."""

from __future__ import annotations

import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linmax._files import open_atomic
from linmax.scale.dataset import KEY, ROW, TIME, RowReader
from linmax.scale.partition import Partition
from linmax.streams.columns import single_chunk

ROW_BITS = 40
"""Bits of the number of a row; those above have the number of its partition."""
ROW_MASK = (1 << ROW_BITS) - 1
Words = NDArray[np.uint64]


class SplitJob(NamedTuple):
    """A partition to split.

    Attributes
    ----------
    number : int
        The place of the partition in the data set.
    partition : Partition
        The partition.
    target : str
        The file for its rows.
    """

    number: int
    partition: Partition
    target: str


class SplitResult(NamedTuple):
    """What a partition has.

    Attributes
    ----------
    stamp, digest
        Its size and time, and the checksum of its content.
    rows, without_key : int
        The rows with a key, and those without, which are left out.
    earliest, latest
        The first and the last time, as numbers or texts; None without a column of times.
    lowest : list of int
        The lowest random numbers of rows, in ascending order.
    """

    stamp: list[Any]
    digest: str
    rows: int
    without_key: int
    earliest: Any
    latest: Any
    lowest: list[int]


def bucket_of(key: str, buckets: int) -> int:
    """Return the bucket of a key, which is the same on every machine.

    Parameters
    ----------
    key
        The key.
    buckets
        The number of buckets.

    Examples
    --------
    >>> bucket_of("customer 7", 64)
    5
    """
    return zlib.crc32(key.encode()) % buckets


def split_partition(job: SplitJob, reader: dict[str, Any], buckets: int, sampled: int) -> SplitResult:
    """Read a partition a batch at a time, and write the rows of every batch bucket by bucket.

    Record batch ``t * buckets + b`` of the target has the rows of batch t that belong to bucket b, in their
    order. The file appears when it is complete.

    Parameters
    ----------
    job
        The partition.
    reader
        How it is read: `RowReader.as_json`.
    buckets
        The number of buckets.
    sampled
        The number of rows to take at random: those with the lowest numbers are in ``target + ".sample"``.
    """
    rows = RowReader.from_json(reader)
    stamp, digest = job.partition.stamp(), job.partition.digest()
    total = without = 0
    earliest = latest = None
    sample = None
    schema = rows.types.append(pa.field(ROW, pa.int64()))
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        open_atomic(Path(job.target)) as file,
        pa.ipc.new_file(pa.PythonFile(file, mode="w"), schema, options=options) as writer,
    ):
        for table in rows.tables(job.partition):
            keyed = table.filter(pc.is_valid(table.column(KEY)))
            total, without = total + len(keyed), without + len(table) - len(keyed)
            if len(keyed) == 0:
                continue
            places = pc.add(keyed.column(ROW), job.number << ROW_BITS)
            keyed = keyed.set_column(keyed.schema.get_field_index(ROW), ROW, places)
            for piece in _by_bucket(keyed, buckets):
                writer.write_batch(piece)
            if rows.time is not None:
                first, last = _bounds(keyed.column(TIME))
                earliest = first if earliest is None else min(earliest, first)
                latest = last if latest is None else max(latest, last)
            if sampled:
                sample = lowest_rows(keyed if sample is None else pa.concat_tables([sample, keyed]), sampled)
    lowest: list[int] = []
    if sample is not None:
        lowest = np.sort(random_numbers(sample)).tolist()
        with open_atomic(Path(job.target + ".sample")) as file, pa.ipc.new_file(file, schema) as writer:
            writer.write_table(sample)
    return SplitResult(stamp, digest, total, without, earliest, latest, lowest)


def _bounds(times: Any) -> tuple[Any, Any]:
    """Return the first and the last time: numbers, or texts that can be compared."""
    if pa.types.is_temporal(times.type):
        times = times.cast(pa.string())
    elif pa.types.is_decimal(times.type):
        times = times.cast(pa.float64())
    found = pc.min_max(times).as_py()
    return found["min"], found["max"]


def _by_bucket(table: Any, buckets: int) -> list[Any]:
    """Return a record batch per bucket, empty where a bucket has no rows."""
    encoded = single_chunk(table.column(KEY)).dictionary_encode()
    by_key = np.array([bucket_of(key, buckets) for key in encoded.dictionary.to_pylist()], np.int64)
    bucket = by_key[encoded.indices.to_numpy()]
    order = np.argsort(bucket, kind="stable")
    (ordered,) = table.take(pa.array(order)).combine_chunks().to_batches()
    starts = np.searchsorted(bucket[order], np.arange(buckets + 1)).tolist()
    return [ordered.slice(start, stop - start) for start, stop in pairwise(starts)]


def read_bucket(paths: list[str], bucket: int, buckets: int) -> Any:
    """Return the rows of a bucket, in the order of the files and of the rows in them.

    Parameters
    ----------
    paths
        Files that `split_partition` has written.
    bucket, buckets
        The bucket, and their number.
    """
    found = []
    for path in paths:
        with pa.OSFile(path) as source, pa.ipc.open_file(source) as file:
            found += [file.get_batch(i) for i in range(bucket, file.num_record_batches, buckets)]
            schema = file.schema
    return pa.Table.from_batches(found, schema) if paths else None


def read_sample(paths: list[str], limit: int) -> Any:
    """Return the sampled rows whose random number is at most a limit.

    Parameters
    ----------
    paths
        The targets of `split_partition`.
    limit
        The largest number.
    """
    tables = []
    for path in paths:
        with pa.OSFile(path + ".sample") as source:
            tables.append(pa.ipc.open_file(source).read_all())
    table = pa.concat_tables(tables)
    return table.filter(pa.array(random_numbers(table) <= np.uint64(limit)))


def lowest_rows(table: Any, count: int) -> Any:
    """Return the rows with the lowest random numbers, in their order."""
    numbers = random_numbers(table)
    if len(numbers) <= count:
        return table
    return table.take(pa.array(np.sort(np.argpartition(numbers, count)[:count])))


def random_numbers(table: Any) -> Words:
    """Return a number for each row that depends on its place only, as if drawn at random (splitmix64)."""
    x = table.column(ROW).to_numpy().astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = x ^ (x >> np.uint64(31))
    return mixed


def sort_rows(table: Any) -> tuple[Any, list[str], NDArray[np.int64]]:
    """Sort rows by key, then by time and place.

    Parameters
    ----------
    table
        The rows.

    Returns
    -------
    table : pyarrow.Table
        The same rows.
    keys : list of str
        The keys, sorted.
    starts : ndarray
        Where the rows of each key begin, and the end.
    """
    encoded = single_chunk(table.column(KEY)).dictionary_encode()
    keys = encoded.dictionary.to_pylist()
    order = sorted(range(len(keys)), key=keys.__getitem__)
    rank = np.empty(len(keys), np.int64)
    rank[order] = np.arange(len(keys))
    codes = rank[encoded.indices.to_numpy()]
    by = {"key": codes, "row": table.column(ROW).to_numpy()}
    columns, sort = dict(by), [("key", "ascending"), ("row", "ascending")]
    if TIME in table.column_names:
        columns["time"] = table.column(TIME)
        sort.insert(1, ("time", "ascending"))
    places = pc.sort_indices(pa.table(columns), sort_keys=sort)
    starts = np.searchsorted(codes[places.to_numpy()], np.arange(len(keys) + 1))
    return table.take(places).combine_chunks(), [keys[i] for i in order], starts
