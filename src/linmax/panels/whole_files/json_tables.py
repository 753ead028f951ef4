"""JSON files read as a whole: arrays of objects, objects of columns, and objects on lines."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from linmax.panels.whole_files.label_studio import is_label_studio, read_label_studio
from linmax.panels.whole_files.limits import HEAD_ROWS, Loaded, ReadLimit
from linmax.panels.whole_files.lm_eval import is_sample_log, read_sample_log
from linmax.panels.whole_files.nested_votes import find_votes, read_nested_votes
from linmax.panels.whole_files.prodigy import is_prodigy, read_prodigy
from linmax.panels.whole_files.promptfoo import promptfoo_results, read_promptfoo
from linmax.panels.whole_files.records import MAX_COLUMNS, MAX_SPARSE_CELLS, plain_array, records_table
from linmax.streams.files.source import ByteSource, text_blocks
from linmax.streams.readers.csv import number_repeated
from linmax.streams.readers.json_lines import ContentError, is_unicode, unique_keys
from linmax.streams.schema import UNNAMED, StreamError, short_list, short_repr

CONSTANTS = {"NaN": None, "Infinity": float("inf"), "-Infinity": float("-inf")}
"""What JSON does not have, and Python and JavaScript write: NaN is a missing value."""
DECODER = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=CONSTANTS.__getitem__)
MANY_KEYS = 50  # an object with so many plain values is a column, not a record
MAX_INDEX_DEPTH = 3  # of objects around the records


def read_json_lines(source: ByteSource, limit: ReadLimit) -> Loaded:
    """Read a file with one object per line."""
    records, lines, complete = [], [], True
    for line, text in _lines(source, limit):
        record = parse_json(text, f"{source.name}, line {line}", line)
        if not isinstance(record, dict):
            raise StreamError(
                f"{source.name}, line {line}: {short_repr(record)} is not an object;"
                " write {...} on each line"
            )
        records.append(record)
        lines.append(line)
        if len(records) % 1000 == 0 and limit.reached(len(records)):
            complete = False
            break
    if not complete:
        del records[HEAD_ROWS:], lines[HEAD_ROWS:]
    if is_sample_log(records):
        loaded = read_sample_log(records, lines, source.name, source.part)
        return loaded._replace(complete=complete)
    if is_label_studio(records):
        return read_label_studio(records, source.name, source.part)._replace(complete=complete)
    if results := promptfoo_results(records):
        return read_promptfoo(results, source.name)._replace(complete=complete)
    if is_prodigy(records):
        return read_prodigy(records, lines)._replace(complete=complete)
    if len(records) == 1 and _is_document(records[0]):
        return read_document(records[0], source.name, header=True, part=source.part)
    if place := find_votes(records):
        loaded = read_nested_votes(records, lines, place, source.name)
        return loaded._replace(complete=complete, unit="line")
    return Loaded(records_table(records, source.name), np.array(lines, np.int64), "line", [], complete)


def read_json(source: ByteSource, limit: ReadLimit, *, header: bool) -> Loaded:
    """Read a file that is one JSON document, or one object per line after all."""
    parts = []
    for block in text_blocks(source, whole_characters):
        parts.append(block.data)
        limit.check_bytes("one JSON document")
    data = b"".join(parts)
    del parts
    try:
        document = parse_json(data.decode(), source.name)
    except ExtraTextError as error:
        lines = ByteSource(io.BytesIO(data))
        lines.name, lines.part = source.name, source.part
        try:
            return read_json_lines(lines, ReadLimit(lines, limit.limit_bytes, head_only=limit.head_only))
        except StreamError:
            raise error from None
    return read_document(document, source.name, header=header, part=source.part)


def read_document(document: Any, file: str, *, header: bool, part: str = "") -> Loaded:
    """Read a JSON document as a table.

    Parameters
    ----------
    document : object
        A list of objects, of lists or of values; an object with such a list inside; an object of columns,
        or of objects by id.
    file : str
        Name of the file, for messages.
    header : bool
        Whether the first of several lists names the columns.
    part : str
        The key of the list to read if there are several, or a question of a Label Studio export.

    Returns
    -------
    Loaded

    Examples
    --------
    >>> read_document({"ann": ["ham", "spam"], "y": [1, 2]}, "a.json", header=True).data.to_pylist()
    [{'ann': 'ham', 'y': 1}, {'ann': 'spam', 'y': 2}]
    >>> read_document({"ann": {"0": "ham"}, "y": {"0": 1}}, "a.json", header=True).data.to_pylist()
    [{'ann': 'ham', 'y': 1}]
    """
    notes: list[str] = []
    if isinstance(document, dict) and part in document:
        document = document[part]
    if isinstance(document, dict) and is_label_studio([document]):
        document = [document]
    if results := promptfoo_results(document):
        return read_promptfoo(results, file)
    if isinstance(document, dict) and len(tables := _record_lists(document)) == 1:
        loaded = read_document(document[tables[0]], file, header=header, part=part)
        return loaded._replace(notes=[f"the records are those of {short_repr(tables[0])}", *loaded.notes])
    if isinstance(document, list) and all(isinstance(task, dict) for task in document):
        if is_label_studio(document):
            return read_label_studio(document, file, part)
        if is_sample_log(document):
            rows = list(range(1, len(document) + 1))
            return read_sample_log(document, rows, file, part)._replace(unit="row")
    records = _records_of(document)
    if place := find_votes(records):
        return read_nested_votes(records, list(range(1, len(records) + 1)), place, file)
    if isinstance(document, dict):
        table = _object_table(document, file, notes, MAX_INDEX_DEPTH, header=header)
    elif isinstance(document, list):
        table = _list_table(document, file, header=header)
    else:
        raise StreamError(f"{file} is one JSON value {short_repr(document)}; write a list of objects")
    return Loaded(table, np.arange(1, len(table) + 1), "row", notes)


def _records_of(document: Any) -> list[dict[str, Any]]:
    """Return a list of objects, or the objects of a document by their ids; nothing of anything else."""
    if isinstance(document, dict) and len(document) > 1:
        values = list(document.values())
        if all(isinstance(value, dict) and len(value) > 1 for value in values):
            return [{"id": key, **value} for key, value in document.items()]
    is_list = isinstance(document, list) and all(isinstance(value, dict) for value in document)
    return document if is_list else []


class ExtraTextError(StreamError):
    """A valid JSON value, and something after it."""


def parse_json(text: str, file: str, line: int = 0) -> Any:
    """Parse JSON; NaN is a missing value.

    Parameters
    ----------
    text : str
        The text.
    file : str
        Name of the file and perhaps the line, for messages.
    line : int
        The line if the text is one line of a file; otherwise lines are counted in the text.

    Returns
    -------
    object

    Raises
    ------
    StreamError
        If the text is not JSON, is nested too deep, or has a key twice.
    """
    try:
        value = DECODER.decode(text.removeprefix("\ufeff"))
    except RecursionError:
        problem = "nested too deep; write flat objects"
    except ContentError as error:
        problem = str(error)
    except json.JSONDecodeError as error:
        place = "" if line else f", line {error.lineno}"
        if error.msg == "Extra data":
            raise ExtraTextError(
                f"{file}{place}: more text after the end of the JSON value, from column {error.colno} on;"
                " write one list of objects, or one object per line"
            ) from None
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
            problem = f"the JSON text ends too early ({error.msg}); it may be cut off, so copy it again"
        else:
            problem = f"not valid JSON from column {error.colno} on ({error.msg}); fix the line"
        raise StreamError(f"{file}{place}: {problem}") from None
    except ValueError:  # an integer with more digits than Python reads
        problem = "a number too long to read; shorten it"
    else:
        if "\\u" not in text or is_unicode(value):
            return value
        problem = "half of a surrogate pair (\\ud...); fix the text"
    raise StreamError(f"{file}: {problem}")


def whole_characters(data: bytes) -> int:
    """Return the end of the last whole UTF-8 character.

    Examples
    --------
    >>> whole_characters("aé".encode()), whole_characters("aé".encode()[:2])
    (3, 1)
    """
    for back in range(1, min(4, len(data)) + 1):
        letter = data[-back]
        if letter < 0x80:
            return len(data) - back + 1
        if letter >= 0xC0:
            size = 2 if letter < 0xE0 else 3 if letter < 0xF0 else 4
            return len(data) if back >= size else len(data) - back
    return len(data)


def _lines(source: ByteSource, limit: ReadLimit) -> Iterator[tuple[int, str]]:
    for block in text_blocks(source):
        for line, text in enumerate(block.data.decode().split("\n"), block.line):
            if text and not text.isspace():
                yield line, text


def _list_table(rows: list[Any], file: str, *, header: bool) -> Any:
    if not rows:
        raise StreamError(f"{file} is an empty JSON list; it needs at least one object")
    kinds = {type(row) for row in rows}
    if kinds == {dict}:
        return records_table(rows, file)
    if kinds == {list}:
        return _matrix_table(rows, file, header=header)
    if not kinds & {dict, list}:
        return pa.table({UNNAMED.format(1): plain_array(rows)})
    kind = dict if isinstance(rows[0], dict) else type(rows[0])
    i = next(i for i, row in enumerate(rows) if type(row) is not kind)
    raise StreamError(
        f"{file}: entry {i + 1} of the list is {short_repr(rows[i])}; write an object {{...}} for each"
    )


def _matrix_table(rows: list[list[Any]], file: str, *, header: bool) -> Any:
    width = len(rows[0])
    names = [UNNAMED.format(j + 1) for j in range(width)]
    first = rows[0]
    if i := next((i for i, row in enumerate(rows) if len(row) != width), 0):
        raise StreamError(
            f"{file}: entry {i + 1} of the list has {len(rows[i])} values and the first {width}; fix it"
        )
    if header and len(rows) > 1 and all(isinstance(name, str) for name in first) and len(set(first)) == width:
        names, rows = [name or unnamed for name, unnamed in zip(first, names, strict=True)], rows[1:]
    if width > MAX_COLUMNS:
        raise StreamError(f"{file}: {width} columns; at most {MAX_COLUMNS} are read")
    columns = [plain_array([row[j] for row in rows]) for j in range(width)]
    return pa.table(columns, names=number_repeated(names))


def _object_table(document: dict[str, Any], file: str, notes: list[str], depth: int, *, header: bool) -> Any:
    if not document:
        raise StreamError(f"{file} is an empty JSON object; it needs at least one record")
    if {"columns", "data"} <= set(document) and isinstance(document["data"], list):
        columns, rows = document["columns"], document["data"]
        if isinstance(columns, list) and rows and all(isinstance(row, list) for row in rows):
            names = number_repeated([str(name) for name in columns])
            return _matrix_table([names, *rows], file, header=True)
    lists = {key: value for key, value in document.items() if isinstance(value, list) and value}
    tables = _record_lists(document)
    if len(tables) == 1:
        return _list_table(document[tables[0]], file, header=header)
    if len(tables) > 1:
        raise StreamError(
            f"{file} has several lists of objects ({short_list(tables)}); name one as {file}#{tables[0]}"
        )
    if len(lists) == len(document):
        return _columns_table(lists, file)
    if columns := _lists_inside(document):
        return _columns_table(columns, file)
    if all(isinstance(value, dict) for value in document.values()):
        return _objects_table(document, file, notes, depth, header=header)
    if len(lists) == 1 and all(isinstance(row, list) for row in next(iter(lists.values()))):
        return _list_table(next(iter(lists.values())), file, header=header)
    inner = [value for value in document.values() if isinstance(value, dict)]
    if not lists and not inner and len(document) >= MANY_KEYS:
        notes.append("keys are read as ids and their values as one column")
        return pa.table({"id": plain_array(list(document)), "value": plain_array(list(document.values()))})
    if depth and len(inner) == 1 and any(isinstance(value, list) for value in inner[0].values()):
        return _object_table(inner[0], file, notes, depth - 1, header=header)
    return records_table([document], file)


def _lists_inside(document: dict[str, Any]) -> dict[str, list[Any]]:
    """Return lists of one length beside objects of such lists: {"labels": [...], "votes": {"ann": [...]}}."""
    found: dict[str, list[Any]] = {}
    for key, value in document.items():
        parts = (
            {f"{key}.{name}": part for name, part in value.items()}
            if isinstance(value, dict)
            else {key: value}
        )
        found |= {name: part for name, part in parts.items() if isinstance(part, list) and part}
    nested = sum(isinstance(value, dict) for value in document.values())
    lists = sum(isinstance(value, list) for value in document.values())
    several = len(found) > 1 and len({len(part) for part in found.values()}) == 1
    return found if several and nested and lists else {}


def _is_document(record: dict[str, Any]) -> bool:
    """Return whether the only object of a file is a table rather than a record."""
    nested = any(isinstance(value, list | dict) for value in record.values())
    return nested or not record or len(record) >= MANY_KEYS


def _record_lists(document: dict[str, Any]) -> list[str]:
    """Return the keys of lists of objects."""
    lists = {key: rows for key, rows in document.items() if isinstance(rows, list) and rows}
    return [key for key, rows in lists.items() if all(isinstance(row, dict) for row in rows)]


def _columns_table(columns: dict[str, list[Any]], file: str) -> Any:
    sizes = {key: len(values) for key, values in columns.items()}
    if len(set(sizes.values())) > 1:
        found = short_list(f"{key} {size}" for key, size in sizes.items())
        raise StreamError(f"{file} has lists of different lengths ({found}); write columns of one length")
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return records_table(rows, file)


def _objects_table(document: dict[str, Any], file: str, notes: list[str], depth: int, *, header: bool) -> Any:
    """Read an object of objects: columns by name as pandas writes them, or records by id."""
    inner = list(document.values())
    keys = list(dict.fromkeys(key for value in inner for key in value))
    scalars = not any(isinstance(value, list | dict) for row in inner for value in row.values())
    if depth and len(document) == 1 and not scalars:
        return _object_table(inner[0], file, notes, depth - 1, header=header)
    if scalars and keys and _is_columns(document, keys):
        return _indexed_columns(document, keys, file)
    if keys:
        id = _free_name(keys)
        notes.append(f"keys of the records are read as the column {id}")
        if all(map(str.isdecimal, document)):
            return records_table(({id: int(key), **row} for key, row in document.items()), file)
        return records_table(({id: key, **row} for key, row in document.items()), file)
    return records_table([document], file)


def _is_columns(document: dict[str, Any], keys: list[str]) -> bool:
    """Return whether the keys of an object of objects are columns rather than ids.

    Columns have values of one type. If that does not decide, ids are the more numerous keys, and pandas
    numbers rows.
    """
    outer_numbers, inner_numbers = all(map(str.isdecimal, document)), all(map(str.isdecimal, keys))
    if outer_numbers != inner_numbers:
        return inner_numbers
    by_row: dict[str, set[type]] = {}
    is_uniform = True
    for row in document.values():
        is_uniform &= len({type(value) for value in row.values()} - {type(None)}) < 2
        for key, value in row.items():
            if value is not None:
                by_row.setdefault(key, set()).add(type(value))
    if is_uniform != all(len(kinds) < 2 for kinds in by_row.values()):
        return is_uniform
    return len(document) < len(keys)


def _free_name(taken: Iterable[str]) -> str:
    names = set(taken)
    return next(
        name for name in ("id", "key", *(f"id.{i}" for i in range(2, len(names) + 3))) if name not in names
    )


def _indexed_columns(document: dict[str, Any], keys: list[str], file: str) -> Any:
    if len(document) > MAX_COLUMNS or len(document) * len(keys) > MAX_SPARSE_CELLS:
        raise StreamError(
            f"{file}: {len(document)} columns of {len(keys)} rows; at most {MAX_COLUMNS} columns and"
            f" {MAX_SPARSE_CELLS} values are read in this form, so write a list of objects"
        )
    if keys != [str(i) for i in range(len(keys))]:
        id = _free_name(document)
        document = {id: {key: key for key in keys}, **document}
    return records_table(({name: value.get(key) for name, value in document.items()} for key in keys), file)
