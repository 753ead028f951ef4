"""The format of a file, detected by its suffix and its first bytes."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from linmax.streams.files.encoding import BOM, CONTROLS, MAX_CONTROLS
from linmax.streams.files.source import ByteSource
from linmax.streams.schema import StreamError

COMPRESSED_SUFFIXES = (".gz", ".zst", ".gzip", ".zstd", ".bz2", ".xz", ".zip")
TEXT_FORMATS = ("CSV", "TSV", "JSONL", "JSON", "svmlight")
SUFFIXES = {
    "csv": "CSV", "tsv": "TSV", "tab": "TSV", "jsonl": "JSONL", "ndjson": "JSONL", "json": "JSON",
    "parquet": "Parquet", "pq": "Parquet", "arrow": "Arrow", "feather": "Arrow", "arrows": "Arrow",
    "ipc": "Arrow", "svm": "svmlight", "svmlight": "svmlight", "libsvm": "svmlight",
    "npy": "npy", "npz": "npz", "xlsx": "Excel", "xls": "Excel", "xlsm": "Excel", "xlsb": "Excel",
    "ods": "Excel",
}  # fmt: skip
PLAIN_SUFFIXES = ("txt", "dat", "data")  # of texts that may have a single column
USUAL_SUFFIXES = {
    "CSV": "csv", "TSV": "tsv", "JSONL": "jsonl", "JSON": "json", "Parquet": "parquet", "Arrow": "arrow",
    "svmlight": "svm", "npy": "npy", "npz": "npz", "Excel": "xlsx",
}  # fmt: skip
MAGIC_BYTES = {
    b"PAR1": "Parquet", b"ARROW1": "Arrow", b"\xff\xff\xff\xff": "Arrow",
    b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"\xd0\xcf\x11\xe0": "Excel",
}  # fmt: skip
OTHER_FILES = {
    b"%PDF": "a PDF", b"\x89PNG": "a PNG image", b"\xff\xd8\xff": "a JPEG image", b"GIF8": "a GIF image",
    b"SQLite format 3": "an SQLite database", b"\x89HDF": "an HDF5 file", b"\x80\x04\x95": "a Python pickle",
    b"\x80\x05\x95": "a Python pickle", b"Obj\x01": "an Avro file",
    b"Rar!": "a RAR archive", b"7z\xbc\xaf": "a 7z archive", b"RDX3\n": "an R data file",
    b"version https://git-lfs": "a Git LFS pointer, not the file itself (git lfs pull fetches it)",
}  # fmt: skip
MARKUP = {
    b"<!doctype html": "an HTML page", b"<html": "an HTML page", b"<head": "an HTML page",
    b"<table": "an HTML page", b"<?xml": "an XML file", b"<!doctype": "an XML file",
}  # fmt: skip
SVMLIGHT_LINE = re.compile(rb"[-+.\w]+([ \t]+(qid:)?\d+:[-+.\w]+)+[ \t]*(#.*)?\r?")
JSON_LIST = re.compile(rb'\[\s*([\[{"\d\]]|$)')


def detect_format(source: ByteSource) -> str:
    """Detect the format of a file by its suffix and its first bytes.

    Parameters
    ----------
    source : ByteSource
        The file.

    Returns
    -------
    str
        A format as in `Schema.format`.

    Raises
    ------
    StreamError
        If the format is unknown, or the suffix and the first bytes disagree.

    Examples
    --------
    >>> import io
    >>> detect_format(ByteSource(io.BytesIO(b'{"ann": "spam"}')))
    'JSONL'
    >>> file = io.BytesIO(b"ann,bob,truth")
    >>> file.name = "votes.parquet"
    >>> detect_format(ByteSource(file))
    Traceback (most recent call last):
    linmax.streams.schema.StreamError: votes.parquet ends like Parquet but begins like CSV; rename it to .csv
    """
    name, head = source.name, source.head
    if not head.strip():
        raise StreamError(f"{name} is empty; it needs a header or at least one row")
    suffix = _format_of_suffix(source.inner_name)
    magic = next((kind for start, kind in MAGIC_BYTES.items() if head.startswith(start)), "")
    magic = source.zip_format or magic
    if suffix and magic and suffix != magic:
        raise _contradiction(name, suffix, magic)
    if magic:
        return magic
    _refuse_other_files(name, head)
    content = _format_of_text(head)
    if suffix and suffix not in TEXT_FORMATS:
        raise _contradiction(name, suffix, content)
    if suffix in ("CSV", "TSV") and content in ("JSONL", "JSON"):
        raise _contradiction(name, suffix, content)
    if suffix in ("JSONL", "JSON"):
        if not head.lstrip(BOM + b" \t\r\n").startswith((b"[", b"{")):
            raise _contradiction(name, suffix, content)
        return content or suffix
    if not content and source.inner_name.lower().rpartition(".")[2] in PLAIN_SUFFIXES:
        return "CSV"
    if not suffix and not content:
        raise StreamError(f"{name}: unknown format; name it .{', .'.join(USUAL_SUFFIXES.values())}")
    return suffix or content


def refuse_document(source: ByteSource) -> NoReturn:
    """Raise the error for a file that is read as a whole, not in chunks.

    Raises
    ------
    StreamError
        For a JSON document or a workbook.
    """
    if source.head.lstrip(BOM + b" \t\r\n").startswith((b"[", b"{")):
        what = "list" if source.head.lstrip(BOM + b" \t\r\n").startswith(b"[") else "object"
        raise StreamError(f"{source.name} is one JSON {what}; write one object per line")
    raise StreamError(f"{source.name} is a workbook, which is not read in chunks; save it as CSV")


def _format_of_suffix(name: str) -> str:
    lower = name.lower()
    for suffix in COMPRESSED_SUFFIXES:
        lower = lower.removesuffix(suffix)
    return SUFFIXES.get(lower.rpartition(".")[2], "") if "." in lower else ""


def _format_of_text(head: bytes) -> str:
    """Return the format that the first line of a text looks like, or ""."""
    text = head.removeprefix(BOM).lstrip()
    line, _, more = text.partition(b"\n")
    if JSON_LIST.match(text):
        return "JSON"
    if line.startswith(b"{"):
        try:
            return "JSONL" if isinstance(json.loads(line), dict) else ""
        except (ValueError, RecursionError):  # broken JSON; reading it reports the line
            if more and line.rstrip().endswith((b"{", b"[", b",", b":")):
                return "JSON"
            return "JSONL" if b'"' in line and more else ""
    if b"\0" in head[:1024]:
        return ""
    if SVMLIGHT_LINE.fullmatch(line):
        return "svmlight"
    if b"\t" in line:
        return "TSV"
    return "CSV" if any(sign in line for sign in (b",", b";", b"|")) else ""


def _contradiction(name: str, suffix: str, content: str) -> StreamError:
    fix = f"rename it to .{USUAL_SUFFIXES.get(content, content)}" if content else "check what it is"
    return StreamError(f"{name} ends like {suffix} but begins like {content or 'something else'}; {fix}")


def _refuse_other_files(name: str, head: bytes) -> None:
    """Refuse files of well-known formats that hold no table, and files that are not text."""
    start = head.removeprefix(BOM).lstrip()[:64]
    kind = next((kind for sign, kind in OTHER_FILES.items() if start.startswith(sign)), "")
    kind = kind or next((kind for sign, kind in MARKUP.items() if start.lower().startswith(sign)), "")
    if head[257:262] == b"ustar":
        kind = "a tar archive"
    if kind:
        raise StreamError(f"{name} is {kind}; save the table as CSV, JSONL or Parquet")
    if len(head.translate(None, CONTROLS)) < (1 - 5 * MAX_CONTROLS) * len(head):
        raise StreamError(
            f"{name} is binary data of an unknown format (it begins with {head[:4].hex(' ')}); save the table"
            " as CSV, JSONL or Parquet"
        )
