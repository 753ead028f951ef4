"""The rows of a data set: keys, times, votes and labels, read alike from all of its partitions."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linmax.panels.build import ChunkBuilder
from linmax.panels.panel import panel_of
from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.column_role import ColumnRole, PanelOptions, Reading, check_roles_once
from linmax.panels.streamed.columns import check_spelling
from linmax.panels.streamed.late import empty_column_doubts
from linmax.panels.streamed.table import EmptyTableError, StreamedTable
from linmax.scale.partition import Partition
from linmax.streams import Chunk, StreamError
from linmax.streams.columns import is_text, label_kind, single_chunk
from linmax.streams.schema import missing_column, short_repr

BATCH_ROWS = 1 << 17
"""Rows of a partition that are in memory at a time."""
HEAD_ROWS = 20_000
"""Rows of the first partition that decide on the roles of columns."""
TIME_KINDS = pa.types.is_temporal, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal
KEY, TIME, ROW = "linmax:key", "linmax:time", "linmax:row"
"""Columns of split tables: the key as text, the time, and the number of the row in its partition."""
UNUSED = ("labels", "labels_id", "sheet", "ignore_case")
"""What the user may say about one file, and not about the rows of a data set."""


def key_columns(by: str | Sequence[str]) -> tuple[str, ...]:
    """Return the columns whose values make a key.

    Parameters
    ----------
    by
        The column, or several.

    Examples
    --------
    >>> key_columns("customer"), key_columns(["customer", "topic"])
    (('customer',), ('customer', 'topic'))
    """
    found = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, list | tuple) else ()
    if not found or any(not isinstance(one, str) or not one for one in found):
        raise ValueError(f"by is the column of keys, or a list of columns (got {by!r})")
    if len(set(found)) < len(found):
        raise ValueError(f"by names a column twice (got {', '.join(found)}); name it once")
    return found


def join_key(values: Sequence[str]) -> str:
    """Return the text of a key: that of its column, or a JSON list of those of several columns.

    Parameters
    ----------
    values
        The value of each column.

    Examples
    --------
    >>> join_key(["c7"]), join_key(["c7", "spam"]), split_key('["c7","spam"]', 2)
    ('c7', '["c7","spam"]', ('c7', 'spam'))
    """
    if len(values) == 1:
        return values[0]
    quoted = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return '["' + '","'.join(quoted) + '"]'


def split_key(key: str, columns: int) -> tuple[str, ...]:
    """Return the value of each column of a key.

    Parameters
    ----------
    key
        What `join_key` has returned.
    columns
        The number of columns.
    """
    return (key,) if columns == 1 else tuple(json.loads(key, strict=False))


def describe_key(by: Sequence[str], key: str) -> str:
    """Return a key with its columns, for messages.

    Parameters
    ----------
    by, key
        The columns, and the text of the key.

    Examples
    --------
    >>> describe_key(["customer", "topic"], '["c7","spam"]')
    "customer 'c7', topic 'spam'"
    """
    values = zip(by, split_key(key, len(by)), strict=True)
    return ", ".join(f"{name} {short_repr(value)}" for name, value in values)


@dataclass
class RowReader:
    """Reads the rows of all partitions alike: the first rows of the first one have decided how.

    Parameters
    ----------
    builder : ChunkBuilder
        The roles of the columns and the classes, and what the first rows have decided.
    types : pyarrow.Schema
        The type of each column that is read, with `KEY` and `TIME`.
    by : tuple of str
        The columns of keys; none if there are no keys.
    time : str or None
        The column of times.
    encoding : str
        The encoding of text; "" detects it.
    doubts : tuple of str
        What the first rows make doubtful: grave warnings, and columns that are not read. Not stored.
    """

    builder: ChunkBuilder
    types: Any
    by: tuple[str, ...]
    time: str | None
    encoding: str = ""
    doubts: tuple[str, ...] = ()

    @classmethod
    def infer(
        cls, partition: Partition, options: PanelOptions, by: tuple[str, ...] = (), time: str | None = None
    ) -> RowReader:
        """Infer the roles of columns from the first rows of a partition.

        Parameters
        ----------
        partition
            The partition.
        options
            What the user says.
        by, time
            The columns of keys and of times.

        Raises
        ------
        StreamError
            If the roles are not clear, or a table has a row per vote.
        """
        _check_options(options, by, time)
        named = by if time is None else (*by, time)
        table = _open(partition, HEAD_ROWS, options.encoding, named)
        try:
            head = next(table.batches())
            raw = _with_values(table.table, partition)
        finally:
            table.close()
        columns = list(dict.fromkeys((*raw.data.column_names, *head.table.column_names)))
        if lacking := [name for name in named if name not in columns]:
            raise missing_column(partition.name, lacking[0], columns)
        ignore = (*options.ignore, *(name for name in named if name in raw.data.column_names))
        panel = panel_of(raw, replace(options, ignore=ignore))
        if panel.reading.problem is not None:
            raise StreamError(panel.reading.problem)
        if panel.reading.shape == "long":
            raise StreamError(f"{partition.name} has a row per vote; a data set needs a row per item")
        builder = ChunkBuilder(
            partition.name, "row", panel.reading, panel.classes, keep=not options.is_stored,
            missing=options.missing,
        )  # fmt: skip
        builder.chunk(raw.coded_data, raw.lines)  # the first chunk decides what is per cent, and a number
        used = [one.name for one in panel.reading.roles if one.role not in ("ignored", "time")]
        fields = [pa.field(KEY, pa.string())] if by else []
        if time is not None:
            kept = head.table if time in head.table.column_names else raw.data
            fields.append(pa.field(TIME, _time_type(single_chunk(kept.column(time)), time, partition)))
        fields += [pa.field(name, _plain_type(raw.data.schema.field(name).type)) for name in used]
        doubts = [one.text for one in panel.warnings if one.severity == "grave"]
        doubts += table.header_notes + table.columns.lost
        doubts += empty_column_doubts(panel.reading, panel.profiles, panel.options)
        return cls(builder, pa.schema(fields), by, time, options.encoding, tuple(doubts))

    @property
    def reading(self) -> Reading:
        """The roles of the columns."""
        return self.builder.reading

    def tables(self, partition: Partition, rows: int = BATCH_ROWS, *, labels: bool = True) -> Iterator[Any]:
        """Read a partition, in tables that have the columns of `types` and `ROW`.

        Parameters
        ----------
        partition
            The partition.
        rows
            The rows of a table.
        labels
            Whether a partition without labels is an error.

        Raises
        ------
        StreamError
            If it cannot be read, lacks a column, or has another scale; the sentence names the partition.
        """
        try:
            table = _open(partition, rows, self.encoding, (*self.by, self.time))
        except EmptyTableError:
            return
        try:
            table.columns.check_readable(self.types.names)
            for number, batch in enumerate(table.batches({*self.types.names, *self.by, str(self.time)})):
                found = self._table(batch, partition, labels)
                if not number:
                    self.builder.check_scales(found, batch.lines, partition.name)
                yield found
        finally:
            table.close()

    def _table(self, batch: Any, partition: Partition, labels: bool) -> Any:
        data = _with_values(batch.table, partition)
        columns, found = [], False
        for field in self.types:
            if field.name == KEY:
                columns.append(self._keys(data, partition, batch.lines))
                continue
            name = self.time if field.name == TIME else field.name
            if name in data.column_names:
                found |= field.name != TIME
                columns.append(
                    _cast(single_chunk(data.column(name)), field, str(name), partition, batch.lines)
                )
            elif labels and (field.name == TIME or name == self.reading.column("label")):
                raise missing_column(partition.name, str(name), data.column_names)
            else:  # an expert that did not exist yet
                check_spelling(str(name), {*data.column_names} - {*self.types.names}, partition.name)
                columns.append(pa.nulls(data.num_rows, field.type))
        if not found:
            raise StreamError(
                f"{partition.name} has none of the columns of the first partition; it has"
                f" {', '.join(data.column_names[:6])}"
            )
        table = pa.table(columns, schema=self.types)
        return table.append_column(ROW, pa.array(np.asarray(batch.lines, np.int64)))

    def _keys(self, data: Any, partition: Partition, lines: Any) -> Any:
        """Return the text of the key of each row; none if one of its columns is empty."""
        field, columns = pa.field(KEY, pa.string()), []
        for name in self.by:
            if name not in data.column_names:
                raise missing_column(partition.name, name, data.column_names)
            column = single_chunk(data.column(name))
            if pa.types.is_nested(column.type):
                raise StreamError(
                    f"{partition.name}: {short_repr(name)} holds {column.type}, which cannot be a key; use a"
                    " column of texts or numbers"
                )
            columns.append(_cast(column, field, name, partition, lines))
        if len(columns) == 1:
            return columns[0]
        quoted = [
            pc.replace_substring(pc.replace_substring(one, "\\", "\\\\"), '"', '\\"') for one in columns
        ]  # as `join_key` does
        inner = pc.binary_join_element_wise(*quoted, '","')
        return pc.binary_join_element_wise('["', inner, '"]', "")

    def chunk(self, table: Any, file: str = "") -> Chunk:
        """Return the rows of a table as items.

        Parameters
        ----------
        table
            The rows, with the columns of `types` and `ROW`.
        file
            What errors call the file.
        """
        self.builder.decoder.file = file or self.builder.decoder.file
        return self.builder.chunk(table, table.column(ROW).to_numpy())

    def as_json(self) -> dict[str, Any]:
        """Return the reader as values that JSON has."""
        builder, classes = self.builder, self.builder.classes
        return {
            "by": self.by[0] if len(self.by) == 1 else self.by or None,
            "time": self.time,
            "encoding": self.encoding,
            "roles": [[one.name, one.role, one.expert, one.label] for one in self.reading.roles],
            "probabilities": [one.name for one in self.reading.roles if one.is_probability],
            "classes": classes.names,
            "abstaining": sorted(classes.abstaining),
            "missing": list(builder.missing),
            "keep": builder.keep,
            "per_cent": builder.per_cent,
            "numeric": builder.decoder.numeric,
            "types": base64.b64encode(self.types.serialize().to_pybytes()).decode(),
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> RowReader:
        """Return the reader that `as_json` was called on."""
        probabilities = stored.get("probabilities", ())
        roles = [ColumnRole(name, role, "", *rest) for name, role, *rest in stored["roles"]]
        roles = [one._replace(is_probability=one.name in probabilities) for one in roles]
        missing = tuple(stored["missing"])
        classes = ClassNames(stored["classes"], (), missing)
        classes.abstaining = frozenset(stored["abstaining"])
        builder = ChunkBuilder(
            "the data set", "row", Reading("wide", roles), classes, keep=stored["keep"], missing=missing
        )
        builder.per_cent.update(stored["per_cent"])
        builder.decoder.numeric.update(stored["numeric"])
        types = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored["types"])))
        by = () if stored["by"] is None else key_columns(stored["by"])
        return cls(builder, types, by, stored["time"], stored["encoding"])


def _check_options(options: PanelOptions, by: tuple[str, ...], time: str | None) -> None:
    """Refuse what would have no effect, and a column with two roles."""
    unused = [name for name in UNUSED if getattr(options, name)] + ["no_header"] * (not options.header)
    if unused:
        name = unused[0].replace("_", "-")
        raise StreamError(f"--{name} has no effect on the rows of a data set; leave it out")
    columns = {
        "--by": [*by],
        "--time": [time] if time else [],
        "--label": [options.label] if options.label else [],
        "--experts": [*(options.experts or ())],
        "--attributes": [*options.attributes],
    }
    check_roles_once(columns, "the data set")


def given_options(options: PanelOptions) -> dict[str, Any]:
    """Return what a user says about columns, as values that JSON has.

    Parameters
    ----------
    options
        The options; those that have their default, and `needs_label`, are left out.

    Examples
    --------
    >>> given_options(PanelOptions(label="truth", ignore=("when",)))
    {'label': 'truth', 'ignore': ['when']}
    """
    default = replace(PanelOptions(), needs_label=options.needs_label)
    given = {one.name: getattr(options, one.name) for one in fields(options)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value != getattr(default, name)
    }


def _open(partition: Partition, rows: int, encoding: str, keep: Iterable[str | None]) -> StreamedTable:
    names = tuple(name for name in keep if name is not None)
    try:
        return StreamedTable(partition.path, rows, encoding, names)
    except EmptyTableError:
        raise
    except (StreamError, OSError) as error:
        reason = str(error)
        raise StreamError(reason if partition.name in reason else f"{partition.name}: {reason}") from None


def _with_values(table: Any, partition: Partition) -> Any:
    """Return a table, or a RawTable, with the columns that the path of its partition has."""
    if partition.values and not hasattr(table, "append_column"):
        return replace(table, data=_with_values(table.data, partition), dictionaries=None)
    for name, value in partition.values:
        if name not in table.column_names:
            table = table.append_column(name, pa.array([value] * table.num_rows, pa.string()))
    return table


def _plain_type(kind: Any) -> Any:
    """Return the type in which a column of votes, labels or attributes is stored."""
    whole = pa.int64() if pa.types.is_integer(kind) else pa.float64()
    return {"text": pa.string(), "true/false": pa.bool_(), "": pa.string()}.get(label_kind(kind), whole)


def _time_type(column: Any, name: str, partition: Partition) -> Any:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if any(is_kind(kind) for is_kind in TIME_KINDS):
        return kind
    if is_text(kind):
        for wanted in (pa.int64(), pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC")):
            with contextlib.suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
                column.cast(kind).cast(wanted)
                return wanted
    raise StreamError(
        f"{partition.name}: {short_repr(name)} holds neither numbers nor dates such as 2026-01-31T12:00:00;"
        " order rows by another column"
    )


def _cast(column: Any, field: Any, name: str, partition: Partition, lines: Any) -> Any:
    """Return a column in the type that it has in the first partition."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if column.type != field.type:
        try:
            column = column.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            reason = " ".join(str(error).split())[:100]
            raise StreamError(
                f"{partition.name}: {short_repr(name)} is not of type {field.type} as in the first partition"
                f" ({reason}); write the same type everywhere"
            ) from None
    if field.name == TIME and column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise StreamError(f"{partition.name}, row {lines[row]}: {short_repr(name)} is empty; fill it in")
    return column
