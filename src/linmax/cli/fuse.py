"""`linmax fuse`: one pass over a file, from the beginning or from where a model stopped."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from linmax.cli.errors import as_options
from linmax.cli.fuse_summary import print_summary
from linmax.cli.inputs import check_costs, check_needs, open_labelled, parse_costs, parse_learner
from linmax.cli.options import FuseOptions, ReadOptions
from linmax.cli.output import MilestoneTable, print_json, stdout_console
from linmax.evaluate.checkpoint import (
    NO_PREFIX,
    LearnedPrefix,
    RestoredAudit,
    audit_state,
    head_fingerprint,
    matches_head,
)
from linmax.evaluate.findings import Findings
from linmax.evaluate.resumable_run import ResumableRun, encode_ahead
from linmax.evaluate.summary import summarize
from linmax.fusion import Fusion, load
from linmax.fusion.model_file import is_model
from linmax.inputs import DEFAULT
from linmax.streams import PredictionWriter, Stream, data_warnings
from linmax.streams.chunk import shuffle_items
from linmax.streams.stream import ReadAhead

ON_ATTRIBUTES = "Averaged(Perceptron()).on(Attributes())"
"""The learner for a file without votes."""

NOTE = "fuse"
"""The name of the note in a model that says how far a pass has come."""

MANY_CLASSES = 100
"""Classes from which on recommended() is slow."""


class Start(NamedTuple):
    """Where a pass begins.

    Attributes
    ----------
    fusion : Fusion
        The session.
    prefix : LearnedPrefix
        The rows to skip.
    restored : RestoredAudit or None
        The audit of an interrupted pass.
    relearns : bool
        Whether rows are learned that the model has already learned.
    notes : list of str
        What to tell the user about it.
    head : (int, str)
        The digest of the first rows of the file.
    """

    fusion: Fusion
    prefix: LearnedPrefix
    restored: RestoredAudit | None
    relearns: bool
    notes: list[str]
    head: tuple[int, str]


class Interrupted(Exception):  # noqa: N818 - not an error
    """Ctrl-C was pressed: the model is complete, and files that are only partly written are removed."""


@dataclass
class Pass:
    """One pass over a file.

    Attributes
    ----------
    run : ResumableRun
        What learns.
    start : Start
        Where it begins.
    stream : Stream
        The file.
    options : FuseOptions
        What to do with it.
    saved : int or None
        Rows that the model in the file of --save has learned; None if nothing is saved yet.
    """

    run: ResumableRun
    start: Start
    stream: Stream
    options: FuseOptions
    saved: int | None = None

    @property
    def way_on(self) -> str:
        """What was saved, and how to resume."""
        if self.saved is None:
            return "nothing was saved; with --save MODEL it could be resumed"
        model = self.options.save
        return f"{model} has learned {self.saved:,} rows; resume with --from {model}"

    @contextmanager
    def explain_interrupt(self, when: str) -> Iterator[None]:
        """Add to a Ctrl-C what was saved."""
        try:
            yield
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"stopped {when}; {self.way_on}") from None


def fuse(read: ReadOptions, options: FuseOptions, console: Console | None = None) -> bool:
    """Run the pass and print the result; return whether nothing is missing because of Ctrl-C."""
    console = console or stdout_console()
    costs = parse_costs(options.cost or [])
    check_options(read, options)
    stream, labeller = open_labelled(read, options.labels)
    with stream:
        check_costs(costs, stream.schema)
        start = start_session(options, stream)
        first = stream.peek()
        if first is not None:
            check_needs(start.fusion, first, repr(start.fusion.learner), stream.schema.file)
        warnings = find_warnings(stream, options)
        if not options.json:
            console.print(Text(str(stream.schema)), soft_wrap=True)
            for sentence in [*warnings, *start.notes, *_output_notes(start, options)]:
                console.print(Text(f"Note: {sentence}.", style="yellow"), soft_wrap=True)
        rows = labeller.label(stream if options.shuffle is None else shuffle_items(stream, options.shuffle))
        chunks = ReadAhead(encode_ahead(start.fusion, rows))
        run = ResumableRun(
            start.fusion,
            chunks,
            prefix=start.prefix,
            restored=start.restored,
            every=options.checkpoint,
            fingerprint=options.save is not None,
        )
        one = Pass(run, start, stream, options)
        with MilestoneTable(console, stream, quiet=options.json) as table:
            with one.explain_interrupt("before the end of the file"):
                with chunks, catch_interrupt(chunks) as interrupts:
                    learned = _learn(one, table, interrupts)
                if not learned and options.save is not None:
                    save_model(one, finished=False)
            with one.explain_interrupt("before the result was complete"):
                ablation = learned and not interrupts
                found, ablated = _summarize(one, costs, warnings, table, ablation=ablation)
    missing = ["rows"] * (not learned) + ["ablation"] * (not ablated)
    with one.explain_interrupt("before the result was complete"):
        report_result(console, found, one, missing)
        if not missing and options.save is not None:
            save_model(one, finished=True)
    return not missing


def check_options(read: ReadOptions, options: FuseOptions) -> None:
    """Refuse, before anything is read, what could not be done at the end."""
    inputs = [path for path in (read.path, options.labels) if path is not None]
    taken = {path.resolve(): "is an input file" for path in inputs}
    outputs = (("--save", options.save), ("--report", options.report), ("--output", options.output))
    for name, path in outputs:
        if path is None:
            continue
        _check_writable(name, path)
        if path.resolve() in taken:
            raise ValueError(f"{name} {path} {taken[path.resolve()]}; name another file")
        taken[path.resolve()] = "is written twice"
    if options.save is not None and options.save.exists() and not is_model(options.save):
        raise ValueError(f"--save {options.save} exists and is not a model; name another file, or remove it")
    if options.output is not None:
        PredictionWriter(options.output)  # checks the suffix
    if options.checkpoint and options.save is None:
        raise ValueError(f"--checkpoint {options.checkpoint} requires --save MODEL")
    for name, value in (("learner", options.learner), ("abstain", options.abstain)):
        if options.start is not None and value is not None:
            raise ValueError(f"--{name} is stored in the model of --from {options.start}; leave it out")
    if options.relearn and options.start is None:
        raise ValueError("--relearn requires --from MODEL")


def _check_writable(name: str, path: Path) -> None:
    if not path.parent.is_dir():
        raise ValueError(f"cannot write {name} {path}: there is no folder {path.parent}; create it first")
    if path.is_dir() or str(path) == "-":
        raise ValueError(f"cannot write {name} {path}: it is not the name of a file; add one")


def start_session(options: FuseOptions, stream: Stream) -> Start:
    """A new session, or that of a model, after the rows of this file that it has learned."""
    fingerprint = head_fingerprint(stream.peek())
    if options.start is None:
        default = ON_ATTRIBUTES if stream.schema.shape == "attributes" else "recommended()"
        learner = parse_learner(options.learner or default)
        fusion = Fusion(learner, seed=options.seed, abstain=parse_abstain(options.abstain, stream))
        return Start(fusion, NO_PREFIX, None, False, [], fingerprint)
    fusion = load(options.start)
    notes = fusion.notes.pop(NOTE, {})
    start = Start(fusion, NO_PREFIX, None, False, [], fingerprint)
    if not isinstance(notes, dict) or not notes:
        return start
    return _resume(start, notes, options, stream)


def _resume(start: Start, notes: dict[str, Any], options: FuseOptions, stream: Stream) -> Start:
    file, same_file = stream.schema.file, matches_head(notes.get("head"), stream.peek())
    try:
        prefix = LearnedPrefix(int(notes["rows"]), str(notes["digest"]))
        base = int(notes["base"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"the notes in {options.start} on its last run are damaged; start without --from"
        ) from None
    if "audit" in notes and not options.relearn:
        if not same_file or notes.get("shuffle") != options.shuffle:
            how = "" if notes.get("shuffle") is None else f" with --shuffle {notes['shuffle']}"
            raise ValueError(
                f"{options.start} stopped after {prefix.rows:,} rows of {notes.get('file')}{how}; pass the"
                " same file unchanged to resume there, or --relearn to learn this one from its beginning"
            )
        sentence = f"resuming {file} after row {prefix.rows:,}, where the last run stopped"
        return start._replace(prefix=prefix, restored=RestoredAudit(notes["audit"], base), notes=[sentence])
    if not same_file:
        return start
    if options.relearn or options.shuffle is not None or notes.get("shuffle") is not None:
        sentence = f"the model has already learned rows of {file}, and learns them again"
        return start._replace(relearns=True, notes=[sentence])
    sentence = f"continuing {file} after row {prefix.rows:,}, because the rows before are already learned"
    return start._replace(prefix=prefix, notes=[sentence])


def parse_abstain(text: str | None, stream: Stream) -> Any:
    """The vote that means no vote: None, an integer, or text (CSV has numbers as text)."""
    if text == "none":
        return None
    is_text = stream.schema.format in ("CSV", "TSV")
    if text is None:
        return "-1" if is_text and _has_integer_labels(stream) else DEFAULT
    return int(text) if not is_text and text.removeprefix("-").isdecimal() else text


def _has_integer_labels(stream: Stream) -> bool:
    """Whether the labels in the first rows are integers, and none is -1."""
    first = stream.peek()
    labels = set() if first is None or first.labels is None else set(first.labels.tolist()) - {None}
    return bool(labels) and "-1" not in labels and all(one.removeprefix("-").isdecimal() for one in labels)


def find_warnings(stream: Stream, options: FuseOptions) -> list[str]:
    """What looks wrong in the first rows, except what the options take care of."""
    sentences = data_warnings(stream)
    if options.shuffle is not None:
        sentences = [one for one in sentences if not one.startswith("rows are sorted")]
    if options.labels is not None:
        sentences = [one for one in sentences if "have no label" not in one]
    first = stream.peek()
    if options.learner is None and options.start is None and first is not None and first.labels is not None:
        classes = len(set(first.labels.tolist()))
        if classes > MANY_CLASSES:
            sentences.append(
                f"recommended() is slow with many classes ({classes} here);"
                " --learner 'Averaged(Winnow(1.2))' is fast"
            )
    return [as_options(one) for one in sentences]


def _output_notes(start: Start, options: FuseOptions) -> list[str]:
    if options.output is None or not start.prefix.rows:
        return []
    return [f"{options.output} will contain only the predictions after row {start.prefix.rows:,}"]


def _learn(one: Pass, table: MilestoneTable, interrupts: list[int]) -> bool:
    """Run the pass to its end, or to Ctrl-C; return whether it was the end."""
    run, start, options = one.run, one.start, one.options
    with ExitStack() as stack, suppress(Interrupted):
        writer = stack.enter_context(PredictionWriter(options.output)) if options.output else None
        for outcome in run:
            table.update(run.audit)
            if writer is not None:
                writer.write(outcome.chunk, outcome.guesses, outcome.margins, outcome.chunk.labels)
            if options.checkpoint and run.audit.items % options.checkpoint == 0:
                save_model(one, finished=False)
            if interrupts:
                raise Interrupted
        if not run.audit.items and start.prefix.rows:
            raise ValueError(
                f"{options.start} has learned all {start.prefix.rows:,} rows of {one.stream.schema.file};"
                " add rows, or learn them again with --relearn"
            )
        if options.save is not None:  # inside the writer's context: if saving fails, no predictions remain
            save_model(one, finished=False)  # the findings are not printed yet
        return True
    return False


def save_model(one: Pass, *, finished: bool) -> None:
    """Write the model, with a note on how far it has come."""
    run, options = one.run, one.options
    assert options.save is not None
    notes = {
        "file": one.stream.schema.file,
        "rows": run.fingerprint.rows,
        "base": run.fingerprint.rows - run.audit.items,
        "digest": run.fingerprint.digest,
        "head": list(one.start.head),
        "shuffle": options.shuffle,
    }
    run.fusion.notes[NOTE] = notes if finished else {**notes, "audit": audit_state(run.audit)}
    run.fusion.save(options.save)
    one.saved = run.fingerprint.rows


def _summarize(
    one: Pass, costs: dict[str, float], warnings: list[str], table: MilestoneTable, *, ablation: bool
) -> tuple[Findings, bool]:
    """The findings, and whether they include the ablation of experts; Ctrl-C during it skips only this."""

    def findings(ablation: bool) -> Findings:
        return summarize(
            one.run.audit,
            one.run.fusion,
            file=one.stream.schema.file,
            source=str(one.stream.schema),
            prices=costs,
            data_warnings=warnings,
            repeated=one.start.relearns,
            ablation=ablation,
            on_progress=lambda i, n: table.update_status("ablation of each expert", i, n),
        )

    try:
        return findings(ablation), ablation
    except KeyboardInterrupt:
        return findings(False), False


def report_result(console: Console, found: Findings, one: Pass, missing: list[str]) -> None:
    """Write the report, print the findings, and list the files that were written."""
    options = one.options
    if options.report is not None:
        from linmax.report.page import write_page

        write_page(found, options.report)
    if options.json:
        print_json({**vars(found), "finished": not missing, "missing": missing})
        return
    print_summary(console, found)
    for what, path in (
        ("Model", options.save),
        ("Predictions", None if "rows" in missing else options.output),
        ("Report", options.report),
    ):
        if path is not None:
            console.print(Text(f"{what}: {path}"), soft_wrap=True)
    if missing:
        items = f"{one.run.audit.items:,} items"
        done = f"after {items}" if "rows" in missing else f"during the ablation of experts, after all {items}"
        console.print(Text(f"Stopped {done}; {one.way_on}.", style="bold"), soft_wrap=True)


@contextmanager
def catch_interrupt(chunks: ReadAhead[Any]) -> Iterator[list[int]]:
    """A list that the first Ctrl-C fills, so that the current chunk is finished; the second acts as usual.

    While the program waits for input, the first raises Interrupted.
    """
    interrupts: list[int] = []

    def note(number: int, _: Any) -> None:
        interrupts.append(number)
        signal.signal(signal.SIGINT, before)
        if chunks.waiting:
            raise Interrupted

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not in the main thread, which alone receives signals
        yield interrupts
        return
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
