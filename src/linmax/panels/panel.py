"""Panels: one or several files, read with the roles of their columns, as a stream of items."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from linmax.inputs.label_order import label_order
from linmax.panels.build import ChunkBuilder
from linmax.panels.joins.folder import check_alike, list_tables
from linmax.panels.joins.join import join_tables
from linmax.panels.joins.keys import Join
from linmax.panels.panel_warnings import table_warnings, vote_warnings
from linmax.panels.roles.classes import MIN_LABELS, ClassNames, ignore_case
from linmax.panels.roles.column_role import PanelOptions, ProfiledTable, Reading, as_dict
from linmax.panels.roles.long_roles import infer_long
from linmax.panels.roles.profile import MISSING, ColumnProfile, profile_columns
from linmax.panels.roles.table_layout import check_second_header, drop_strays, name_voters, swap_transposed
from linmax.panels.roles.wide.roles import infer_wide
from linmax.panels.stored import merge_missing, reading_by_name, restore_reading
from linmax.panels.streamed.late import LateColumns, LateSpelling, empty_columns
from linmax.panels.streamed.table import StreamedTable
from linmax.panels.table import RawTable, load_table
from linmax.streams import Chunk, Schema, Stream, StreamError
from linmax.validation import DataWarning

CHUNK_SIZE = 100_000
MAX_BYTES, MAX_CELLS = 1 << 25, 1 << 23
"""Larger text files, and Parquet files with more cells, are read in chunks if they can be."""
STREAMED = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".arrow", ".feather", ".gz", ".zst")


@dataclass
class Panel:
    """Votes and labels from files, and how they were read.

    Attributes
    ----------
    file : str
        The files.
    table : RawTable
        Their columns, joined if there are several files.
    options : PanelOptions
        What the user said, with the names of columns as they are in the joined table.
    reading : Reading
        The roles of the columns.
    profiles : dict of str to ColumnProfile
        What is in the columns.
    classes : ClassNames
        Which spellings name the same class.
    joins : list of Join
        How several files were joined.
    warnings : list of DataWarning
        What may be wrong, grave warnings first.
    chunk : Chunk or None
        All items; None if the reading has a problem.
    schema : Schema
        The roles, as streams have them.
    complete : bool
        Whether these are all items of the files.
    opened : Stream or None
        All items, if the file is too large or is standard input; `chunk` has the first of them then.
    late : tuple of LateColumns and LateSpelling
        What its later rows have told of its columns and labels; empty if all rows are in memory.
    given : PanelOptions
        What the user said, as it was said.

    Examples
    --------
    >>> import io
    >>> panel = read_panel([io.BytesIO(b"ticket,gpt4,human_label\\nT1,bug,bug\\nT2,fix,bug\\n")])
    >>> [(role.name, role.role) for role in panel.reading.roles]
    [('ticket', 'id'), ('gpt4', 'expert'), ('human_label', 'label')]
    >>> panel.chunk.labels.tolist()
    ['bug', 'bug']
    """

    file: str
    table: RawTable = field(repr=False)
    options: PanelOptions = field(repr=False)
    reading: Reading
    profiles: dict[str, ColumnProfile] = field(repr=False)
    classes: ClassNames = field(repr=False)
    joins: list[Join] = field(default_factory=list)
    warnings: list[DataWarning] = field(default_factory=list)
    chunk: Chunk | None = None
    complete: bool = True
    opened: Stream | None = field(default=None, repr=False)
    late: tuple[LateColumns | LateSpelling, ...] = field(default=(), repr=False)
    given: PanelOptions = field(default_factory=PanelOptions, repr=False)

    @property
    def schema(self) -> Schema:
        """The roles, as streams have them."""
        reading = self.reading
        shape, experts = "wide", tuple(one.name for one in reading.columns("expert"))
        if reading.shape == "long":
            shape = "long"
            experts = tuple(
                str(name) for role in ("id", "expert", "vote", "score") if (name := reading.column(role))
            )
        elif reading.columns("score"):
            scores = [f"{one.expert}:{one.label}" for one in reading.columns("score")]
            shape, experts = "scores", tuple(scores) + experts
        elif not experts:
            shape = "attributes"
        has_late = self.table.format == "JSONL" or empty_columns(reading, self.profiles, self.options)
        is_open = bool(has_late) and not self.complete and shape != "long"
        return Schema(
            self.file, self.table.format, self.table.compression, shape, experts,
            reading.column("label"), reading.column("id"),
            tuple(one.name for one in reading.columns("attribute")),
            tuple(one.name for one in reading.roles if one.role in ("ignored", "time")),
            is_open and self.options.experts is None and not self.options.is_stored
            and not self.options.is_by_name,
        )  # fmt: skip

    def stream(self) -> Stream:
        """Return the items as a stream.

        Raises
        ------
        StreamError
            If the reading has a problem.
        """
        if self.opened is not None:
            return self.opened
        if self.chunk is None:
            raise StreamError(self.reading.problem or f"{self.file} cannot be read")
        return Stream(_Memory(), self.schema, _slices(self.chunk), self.chunk.items)  # type: ignore[arg-type]

    def close(self) -> None:
        """Close the file, if it is still open."""
        if self.opened is not None:
            self.opened.close()

    def late_warnings(self) -> list[DataWarning]:
        """Return what the rows of a stream that were read so far have told of its columns and labels."""
        return [warning for one in self.late for warning in one.warnings()]

    def vote_counts(self) -> Counter[Any]:
        """Return all different votes as they are written, and how often each is in the rows looked at."""
        found = Counter[Any]()
        for one in self.reading.columns("vote" if self.reading.shape == "long" else "expert"):
            found.update(self.profiles[one.name].counts)
        return found

    def unknown_votes(self) -> dict[Any, int]:
        """Return the votes that name no class of the model that the rows are read for, and their numbers."""
        counts = self.vote_counts()
        return {value: count for value, count in counts.items() if self.classes.find(value) is None}

    def as_json(self) -> dict[str, Any]:
        """Return the reading as values that JSON has."""
        return {
            "file": self.file,
            "format": self.table.format,
            "unit": self.table.unit,
            "shape": self.reading.shape,
            "items": None if self.chunk is None else self.chunk.items,
            "classes": [str(name) for name in self.classes.names[:1000]],
            "columns": [as_dict(role, self.profiles.get(role.name)) for role in self.reading.roles],
            "joins": [one._asdict() for one in self.joins],
            "warnings": [one._asdict() for one in self.warnings],
            "problem": self.reading.problem,
        }

    def command(self, files: Sequence[str]) -> str:
        """Return the command that reads the files in this way, to be copied.

        Parameters
        ----------
        files : sequence of str
            The files as the user wrote them.
        """
        user, roles = self.given, self.reading
        inferred = None if self.joins else roles.column("label")
        known = MISSING if set(MISSING) <= {*user.missing, *user.classes} else ()
        given = {
            "--label": inferred if user.label is None else user.label,
            "--id": roles.column("id") if user.id is None else user.id,
            "--shape": user.shape,
            "--experts": None if user.experts is None else ",".join(user.experts),
            "--attributes": ",".join(user.attributes) or None,
            "--ignore": ",".join(user.ignore) or None,
            "--classes": ",".join(user.classes) or None,
            "--missing": ",".join(one for one in user.missing if one and one not in known) or None,
            "--labels": None if user.labels is None else str(user.labels),
            "--labels-id": user.labels_id,
            "--encoding": user.encoding or None,
            "--sheet": user.sheet or None,
        }
        if roles.shape == "long" and roles.column("vote") and "columns" not in self.table.hints:
            given |= {"--shape": "long", "--experts": f"{roles.column('expert')},{roles.column('vote')}"}
        given |= roles.suggestion
        words = ["linmax", "fuse", *files]
        words += [] if known else ["--missing", ""]
        for name, value in given.items():
            words += [] if value is None else [name, value]
        words += ["--no-header"] * (not user.header) + ["--ignore-case"] * user.ignore_case
        return shlex.join(words)


def read_panel(paths: Sequence[str | os.PathLike[str] | Any], options: PanelOptions | None = None) -> Panel:
    """Read files, infer the roles of their columns, and join them.

    Parameters
    ----------
    paths : sequence of str, path-like or binary file
        The files: a table of votes, one file per expert, or votes and labels apart. Of a folder, all tables
        are read.
    options : PanelOptions, optional
        What the user says.

    Returns
    -------
    Panel
        If its reading has a `problem`, it has no items.

    Raises
    ------
    StreamError
        If a file cannot be read, or the options name a column that does not exist.
    """
    options = options or PanelOptions()
    if options.classes:  # a class may be called NA
        options = replace(options, missing=tuple(set(options.missing) - set(options.classes)))
    if options.is_stored and isinstance(stored := (options.like or {}).get("missing"), list):
        options = replace(options, missing=merge_missing(list(map(str, stored)), options.missing))
    labels = None if options.labels is None else _load(options.labels, options)
    paths, folders = list_tables(paths)
    _check_given_once(paths)
    if len(paths) == 1 and options.header and (paths[0] == "-" or _is_large(paths[0])):
        panel = _open_large(paths[0], labels, options)
        if paths[0] == "-" or not _needs_memory(panel):
            return panel
        panel.close()
    tables = [_load_named(path, options) for path in paths]
    if len(tables) == 1 and not tables[0].complete:
        return _open_large(paths[0], labels, options)
    for table in tables:
        if not table.complete:
            raise StreamError(f"{table.file} is too large to be joined with other files; join them first")
    check_alike(tables, folders)
    joined = join_tables(tables, labels, options)
    table = replace(joined.table, notes=(*folders, *joined.table.notes))
    panel = panel_of(table, joined.options, joined.joins, joined.warnings)
    panel.given = options
    return panel


def _check_given_once(paths: Sequence[Any]) -> None:
    """Refuse a file that is given twice, which would be two experts."""
    seen: dict[str, str] = {}
    for path in paths:
        if not isinstance(path, str | os.PathLike):
            continue
        name = os.fspath(path)
        place = os.path.realpath(name) if os.path.exists(name) else name
        if place in seen:
            same = "" if seen[place] == name else f" (as {seen[place]} and as {name})"
            raise StreamError(f"{os.path.basename(name)} is given twice{same}; name each file once")
        seen[place] = name


def _load(path: Any, options: PanelOptions) -> RawTable:
    table = load_table(path, header=options.header, encoding=options.encoding, sheet=options.sheet)
    return name_voters(swap_transposed(table))


def _load_named(path: Any, options: PanelOptions) -> RawTable:
    """Load a file; its whole path tells which expert it is of, if there are several."""
    table = _load(path, options)
    is_path = isinstance(path, str | os.PathLike) and path != "-"
    return replace(table, expert=os.fspath(path)) if is_path else table


def _is_large(path: Any) -> bool:
    """Whether a file is streamed, unless it must be in memory."""
    if not isinstance(path, str | os.PathLike) or not os.path.isfile(path):
        return False
    name = os.fspath(path).lower()
    if name.endswith((".parquet", ".pq")):
        from pyarrow.parquet import read_metadata

        try:
            metadata = read_metadata(path)
        except (ValueError, OSError):  # damaged: its reader says so
            return False
        return bool(metadata.num_rows * metadata.num_columns > MAX_CELLS)
    return os.path.getsize(path) > MAX_BYTES and name.endswith(STREAMED)


def _needs_memory(panel: Panel) -> bool:
    """Whether rows must be grouped or shuffled: those of a long table, or rows with labels in blocks."""
    if panel.reading.problem is not None or panel.reading.shape == "long":
        return True
    if panel.chunk is None or panel.chunk.raw_labels is None:
        return False
    return label_order(panel.chunk.labels).may_be_sorted


def _open_large(path: Any, labels: RawTable | None, options: PanelOptions) -> Panel:
    """Open standard input, or a file that is not read into memory; its first rows decide on the roles."""
    if not options.header:
        raise StreamError(f"--no-header needs a file that fits into memory; give {path} a header")
    head = StreamedTable(path, CHUNK_SIZE, options.encoding)
    try:
        joined = join_tables([head.table], labels, options)
        panel = panel_of(joined.table, joined.options, joined.joins, joined.warnings)
        panel.given = options
        if panel.reading.problem is None:
            empty = empty_columns(panel.reading, panel.profiles, options)
            panel.opened = head.stream(
                panel.reading, panel.classes, panel.schema, options, joined.labels, empty
            )
            panel.late = head.late, head.spelling
        return panel
    except BaseException:
        head.close()
        raise


def panel_of(
    table: RawTable,
    options: PanelOptions,
    joins: list[Join] | None = None,
    warnings: Sequence[DataWarning] = (),
) -> Panel:
    """Infer the roles of the columns of one table, and make items of its rows.

    Parameters
    ----------
    table : RawTable
        The table.
    options : PanelOptions
        What the user says.
    joins : list of Join, optional
        How the table was made of several files.
    warnings : sequence of DataWarning
        What may be wrong with these files.
    """
    joins = joins or []
    table = name_voters(table)
    check_second_header(table)
    table = drop_strays(table, options)
    if not table.data.num_rows and options.needs_label:
        raise StreamError(f"{table.file} has no rows; it needs at least one below the header")
    profiles = profile_columns(table.coded_data, options.missing)
    known = ProfiledTable(table.file, table.data, profiles, options, table.hints)
    is_wide = options.is_stored or "experts" in table.hints or "scores" in table.hints
    long = None if is_wide else infer_long(known)
    if options.is_stored:
        reading, classes = restore_reading(options.like or {}, known)
    elif long is not None:
        reading, classes = long, _long_classes(long, known.profiles, options)
    elif options.is_by_name:
        reading, classes = reading_by_name(options.like or {}, known)
    else:
        reading, classes = infer_wide(known)
    panel = Panel(
        table.file, table, options, reading, known.profiles, classes, joins, list(warnings),
        complete=table.complete,
    )  # fmt: skip
    if reading.problem is None:
        _build(panel)
    else:
        panel.warnings += [*reading.warnings, *(DataWarning("reading", "note", one) for one in table.notes)]
    panel.warnings.sort(key=lambda one: one.severity)  # grave comes before note
    return panel


def _long_classes(reading: Reading, profiles: dict[str, ColumnProfile], options: PanelOptions) -> ClassNames:
    if options.known_classes is not None:
        return ClassNames(options.known_classes, options.classes, options.missing)
    source = reading.column("label") or reading.column("vote")
    values = list(profiles[source].counts) if source else []
    return ClassNames(
        ignore_case(values) if options.ignore_case else values, options.classes, options.missing
    )


def _build(panel: Panel) -> None:
    """Make the items, and find out what may be wrong."""
    reading, table = panel.reading, panel.table
    label, options = reading.column("label"), panel.options
    labelled = panel.profiles[label].present if label else 0
    is_predicted = options.known_classes is not None
    keep = is_predicted or label is None or labelled < MIN_LABELS or not table.complete
    keep &= not options.is_closed
    builder = ChunkBuilder(
        table.file, table.unit, reading, panel.classes, keep=keep, keep_labels=is_predicted,
        missing=options.missing,
    )  # fmt: skip
    panel.chunk = builder.chunk(table.coded_data if reading.shape == "wide" else table.data, table.lines)
    panel.warnings += [*reading.warnings, *table_warnings(panel, builder), *vote_warnings(panel, keep)]
    panel.warnings += [DataWarning("reading", "note", sentence) for sentence in table.notes]


def _slices(chunk: Chunk) -> Iterator[Chunk]:
    for start in range(0, chunk.items, CHUNK_SIZE):
        yield chunk.slice(start, start + CHUNK_SIZE)


class _Memory:
    """What a stream needs to know of a file that is in memory."""

    bytes_read = 0
    bytes_total = None

    def close(self) -> None:
        """Do nothing."""
