"""`linmax inspect` of models by key: how many, from which learner and data, and how the largest keys did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linmax import parse, recommended
from linmax.cli.fuse.keyed import print_largest_keys, sum_keys
from linmax.cli.models.inspect import format_bytes, print_lines, short_name
from linmax.cli.output import print_json, shorten, stdout_console
from linmax.scale.by_key.store import FORMAT, VERSION, KeyedModels
from linmax.streams.schema import short_list

MAX_ERRORS = 5
"""Keys with an error that are named."""


def inspect_store(folder: Path, *, json: bool) -> None:
    """Print what the models by key of a folder have learned."""
    models = KeyedModels(folder)
    table = models.current_table()
    found = store_facts(models, table)
    if json:
        print_json(found)
        return
    console = stdout_console()
    print_lines(_lines(found), console)
    if found["keys"]:
        print_largest_keys(console, table, models.by)


def store_facts(models: KeyedModels, table: Any) -> dict[str, Any]:
    """What there is to print about models by key and the table of their results, with the keys of --json."""
    manifest = models.manifest
    learned = [one for one in manifest["partitions"] if one["path"] is not None]
    learner = recommended() if manifest["learner"] is None else parse(manifest["learner"])
    files = [models.folder / name for name in manifest["files"] if name is not None]
    total = len(manifest["partitions"])
    rows = table.select(["key", "error"]).to_pylist()
    return {
        "store": str(models.folder),
        "format": f"{FORMAT} {VERSION}",
        "learner": repr(learner),
        "called": short_name(learner),
        "by": list(models.by),
        "time": models.reader.time,
        "pooled": manifest["pooled"],
        "partitions": len(learned),
        "rows": sum(one["rows"] for one in learned),
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files),
        **sum_keys(table),
        "unfinished": sum(count < total for count in manifest["learned"]),
        "buckets": manifest["buckets"],
        "errors": {row["key"]: row["error"] for row in rows if row["error"] is not None},
    }


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    size = format_bytes(found["bytes"])
    accuracy = "" if found["accuracy"] is None else f", accuracy {found['accuracy']:.2%}"
    order = "the order of the files" if found["time"] is None else f"the order of {shorten(found['time'])}"
    lines = [
        ("models", f"{shorten(found['store'])}, {found['files']:,} files, {size}, format {found['format']}"),
        ("learner", found["called"]),
        ("keys", f"{found['keys']:,}, by {short_list(map(shorten, found['by']))}"),
        ("learned", f"{found['partitions']:,} files with {found['rows']:,} rows, in {order}"),
        (
            "items",
            f"{found['items']:,}, {found['trials']:,} trials, {found['mistakes']:,} mistakes{accuracy}",
        ),
    ]
    if found["pooled"]:
        lines.append(("prior", f"prior.linmax, of {found['pooled']:,} items of all keys"))
    if found["unfinished"]:
        parts = f"{found['unfinished']:,} of {found['buckets']:,} buckets of keys have not learned everything"
        lines.append(("unfinished", f"{parts}; run linmax fuse --by again with --resume"))
    for key, error in list(found["errors"].items())[:MAX_ERRORS]:
        lines.append(("error", f"{shorten(key)}: {shorten(error)}"))
    if len(found["errors"]) > MAX_ERRORS:
        lines.append(("error", f"and {len(found['errors']) - MAX_ERRORS:,} more keys"))
    return lines
