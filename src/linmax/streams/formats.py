"""Which format a file has: by its ending and by how it begins, which must agree."""

from __future__ import annotations

import json
import re

from linmax.streams.errors import StreamError
from linmax.streams.source import Source

ENDINGS = {
    "csv": "CSV", "tsv": "TSV", "tab": "TSV", "jsonl": "JSONL", "ndjson": "JSONL",
    "parquet": "Parquet", "pq": "Parquet", "arrow": "Arrow", "feather": "Arrow", "arrows": "Arrow",
    "ipc": "Arrow", "svm": "svmlight", "svmlight": "svmlight", "libsvm": "svmlight",
    "npy": "npy", "npz": "npz",
}  # fmt: skip
BEGINNINGS = {
    b"PAR1": "Parquet", b"ARROW1": "Arrow", b"\xff\xff\xff\xff": "Arrow",
    b"\x93NUMPY": "npy", b"PK\x03\x04": "npz",
}  # fmt: skip
PACKED = (".gz", ".zst", ".gzip", ".zstd")
TEXTS = ("CSV", "TSV", "JSONL", "svmlight")
USUAL = {"CSV": "csv", "TSV": "tsv", "JSONL": "jsonl", "Parquet": "parquet", "Arrow": "arrow"}
SPARSE = re.compile(rb"[-+.\w]+([ \t]+(qid:)?\d+:[-+.\w]+)+[ \t]*(#.*)?\r?")
BOMS = (b"\xff\xfe", b"\xfe\xff")


def format_of(source: Source) -> str:
    """The format of a file.

    >>> import io
    >>> format_of(Source(io.BytesIO(b'{"ann": "spam"}')))
    'JSONL'
    >>> file = io.BytesIO(b"ann,bob,truth")
    >>> file.name = "votes.parquet"
    >>> format_of(Source(file))
    Traceback (most recent call last):
    linmax.streams.errors.StreamError: votes.parquet ends like Parquet but begins like CSV; rename it to .csv
    """
    name, head = source.name, source.head
    if not head.strip():
        raise StreamError(f"{name} is empty; it needs a header or at least one row")
    if head.startswith(BOMS):
        raise StreamError(f"{name} is UTF-16 text; save it as UTF-8")
    ending = _ending(name)
    begins = next((kind for magic, kind in BEGINNINGS.items() if head.startswith(magic)), "")
    if ending and begins and ending != begins:
        raise _disagree(name, ending, begins)
    if begins or (ending and ending not in TEXTS):
        if not begins:
            raise _disagree(name, ending, _text(head) or "something else")
        return begins
    if ending == "svmlight":
        return ending
    looks = _text(head)
    if ending in ("CSV", "TSV") and looks == "JSONL":
        raise _disagree(name, ending, looks)
    if ending == "JSONL" and looks != "JSONL":
        if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            raise StreamError(f"{name} is one JSON list; write one object per line")
        if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            raise _disagree(name, ending, looks or "something else")
    if not ending and not looks:
        raise StreamError(
            f"{name}: cannot tell the format; name it .csv, .tsv, .jsonl, .parquet, .arrow, .svm,"
            " .npy or .npz"
        )
    return ending or looks


def _ending(name: str) -> str:
    lower = name.lower()
    for packed in PACKED:
        lower = lower.removesuffix(packed)
    return ENDINGS.get(lower.rpartition(".")[2], "") if "." in lower else ""


def _text(head: bytes) -> str:
    """What text looks like, judged by its first line."""
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0]
    if line.startswith(b"{"):
        try:
            return "JSONL" if isinstance(json.loads(line), dict) else ""
        except (ValueError, RecursionError):
            return "" if b"," in line.split(b"{", 1)[0] else "JSONL" * (b'"' in line)
    if b"\0" in head[:1024]:
        return ""
    if SPARSE.fullmatch(line):
        return "svmlight"
    if b"\t" in line:
        return "TSV"
    return "CSV" if b"," in line or b";" in line else ""


def _disagree(name: str, ending: str, begins: str) -> StreamError:
    cure = f"rename it to .{USUAL.get(begins, begins)}" if begins != "something else" else "check what it is"
    return StreamError(f"{name} ends like {ending} but begins like {begins}; {cure}")
