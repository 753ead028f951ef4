"""`linmax fuse`: one pass over a file, from the beginning or from where a model stopped."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from linmax._jit.tiers import PROBE, postpones
from linmax.cli.cost_files import check_prices, read_prices
from linmax.cli.fuse.late_doubts import find_late_doubts
from linmax.cli.fuse.start import NOTE, Start, find_warnings, start_session
from linmax.cli.fuse.summary import print_summary
from linmax.cli.inputs import (
    check_costs,
    check_needs,
    choose_order,
    named_experts,
    parse_costs,
    require_reading,
    stored_reading,
)
from linmax.cli.options.files import FilesOptions, FuseOptions
from linmax.cli.output import MilestoneTable, check_output, print_json, stdout_console
from linmax.decisions.answers import check_limits
from linmax.decisions.conformal import level_of
from linmax.evaluate.audit.checkpoint import audit_state
from linmax.evaluate.audit.resumable_run import ResumableRun, encode_ahead
from linmax.evaluate.findings.decisions import CONFIDENCE, AnswerCounts
from linmax.evaluate.findings.findings import Findings
from linmax.evaluate.findings.summary import summarize
from linmax.fusion import Fusion
from linmax.fusion.model_file import is_model
from linmax.panels.panel import Panel
from linmax.panels.stored import SCHEMA_NOTE, check_scales, store_reading
from linmax.streams import PredictionWriter, Stream
from linmax.streams.chunk import Chunk, shuffle_items
from linmax.streams.repeated_ids import RepeatedIds
from linmax.streams.stream import ReadAhead
from linmax.validation import DataWarning


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
    panel : Panel
        How the file was read.
    saved : int or None
        Rows that the model in the file of --save has learned; None if nothing is saved yet.
    failure : Exception or None
        Why the model could not be written at the end: raised after the findings are printed.
    """

    run: ResumableRun
    start: Start
    stream: Stream
    options: FuseOptions
    panel: Panel
    saved: int | None = None
    failure: Exception | None = None

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


def fuse(read: FilesOptions, options: FuseOptions, console: Console | None = None) -> int:
    """Run the pass and print the result; return the exit code, which is 0 unless a signal has stopped it."""
    writes = options.save or options.output or options.report
    console = console or stdout_console(lasting=writes is not None)
    costs = parse_costs(options.cost or [])
    check_options(read, options)
    listed = {} if options.prices is None else read_prices(options.prices)
    stored = None if options.start is None else stored_reading(options.start)
    like = None if read.names_columns else stored
    abstain = "" if options.abstain in (None, "none") else options.abstain
    panel = require_reading(read.open(like, abstain=abstain), read.paths, labels=False)
    check_scales(stored, panel.reading, panel.file)
    if panel.reading.column("label") is None:
        print_without_labels(console, panel, options)
        return 0
    order = choose_order(panel, options.shuffle, options.in_order)
    options = replace(options, shuffle=order.seed)
    with panel.stream() as stream:
        check_costs(costs, stream.schema)
        if options.prices is not None and (experts := named_experts(stream.schema)):
            check_prices(options.prices, listed | costs, experts, stream.schema.file)
        costs = listed | costs
        start = start_session(options, stream, panel)
        first = stream.peek()
        if first is not None:
            check_needs(start.fusion, first, repr(start.fusion.learner), stream.schema.file)
            compile_if_long(start.fusion, first, panel)
        warnings = find_warnings(panel, order, start, options)
        if not options.json:
            console.print(Text(str(stream.schema)), soft_wrap=True)
            print_warnings(console, warnings)
            for sentence in _output_notes(start, options):
                console.print(Text(f"Note: {sentence}.", style="yellow"), soft_wrap=True)
        rows = stream if options.shuffle is None else shuffle_items(stream, options.shuffle)
        ids = RepeatedIds(panel.options.missing)
        chunks = ReadAhead(encode_ahead(start.fusion, rows if panel.complete else ids.watch(rows)))
        run = ResumableRun(
            start.fusion,
            chunks,
            prefix=start.prefix,
            restored=start.restored,
            every=options.checkpoint,
            fingerprint=options.save is not None,
        )
        watch_decisions(run, options)
        one = Pass(run, start, stream, options, panel)
        with MilestoneTable(console, stream, quiet=options.json) as table:
            with one.explain_interrupt("before the end of the file"):
                with chunks, catch_interrupt(chunks) as interrupts:
                    learned = _learn(one, table, interrupts)
                if not learned and options.save is not None:
                    save_model(one, finished=False)
            with one.explain_interrupt("before the result was complete"):
                ablation = learned and not interrupts
                late = find_late_doubts(panel, run.audit, run.fusion, ids)
                found, ablated = _summarize(one, costs, [*late, *warnings], table, ablation=ablation)
    if not options.json:
        print_warnings(console, late)
    missing = ["rows"] * (not learned) + ["ablation"] * (not ablated)
    with one.explain_interrupt("before the result was complete"):
        report_result(console, found, one, missing)
        if one.failure is not None:
            raise one.failure
        if not missing and options.save is not None:
            save_model(one, finished=True)
    return 128 + (interrupts or [signal.SIGINT])[0] if missing else 0


def compile_if_long(fusion: Fusion, first: Chunk, panel: Panel) -> None:
    """Compile at once if the whole pass, with a run without each expert, would take too long as Python."""
    if not postpones():
        return
    few, copy, seconds = first.slice(0, PROBE), Fusion(fusion.learner), 0.0
    for _ in range(2):  # the second time counts
        begun = time.perf_counter()
        with suppress(ValueError):  # the pass itself says what is wrong
            copy.learn(few.votes, few.labels, attributes=few.attributes)
        seconds = (time.perf_counter() - begun) / max(1, few.items)
    items = first.items if panel.chunk is None else panel.chunk.items
    postpones(seconds * items * (len(panel.schema.experts) + 3))  # and what the result takes


def check_options(read: FilesOptions, options: FuseOptions) -> None:
    """Refuse, before anything is read, what could not be done at the end."""
    inputs = [Path(path) for path in (*read.paths, read.labels) if path is not None]
    taken = {path.resolve(): "is an input file" for path in inputs}
    outputs = (("--save", options.save), ("--report", options.report), ("--output", options.output))
    for name, path in outputs:
        if path is None:
            continue
        check_output(path, f"write {name}")
        if path.resolve() in taken:
            raise ValueError(f"{name} {path} {taken[path.resolve()]}; name another file")
        taken[path.resolve()] = "is written twice"
    if options.save is not None and options.save.exists() and not is_model(options.save):
        raise ValueError(f"--save {options.save} exists and is not a model; name another file, or remove it")
    if options.output is not None:
        PredictionWriter(options.output)  # checks the suffix
    if options.checkpoint and options.save is None:
        raise ValueError(f"--checkpoint {options.checkpoint} requires --save MODEL")
    if options.max_error is not None:
        check_limits(options.max_error, CONFIDENCE)
    if options.coverage is not None:
        level_of(options.coverage)
    stored = (
        ("learner", options.learner),
        ("abstain", options.abstain),
        ("mistake-costs", options.mistake_costs),
        ("cost-margins", options.cost_margins or None),
        ("seed", options.seed),
    )
    for name, value in stored:
        if options.start is not None and value is not None:
            raise ValueError(f"--{name} is stored in the model of --from {options.start}; leave it out")
    if options.cost_margins and options.mistake_costs is None:
        raise ValueError("--cost-margins requires --mistake-costs FILE")
    if options.relearn and options.start is None:
        raise ValueError("--relearn requires --from MODEL")


def watch_decisions(run: ResumableRun, options: FuseOptions) -> None:
    """Count the answers and the sets that are asked for."""
    if options.max_error is None and options.coverage is None:
        return
    run.fusion.decisions.use_all()
    if options.coverage is not None:
        run.fusion.decisions.watch(options.coverage)
    counts = run.audit.answers
    if options.max_error is not None and (counts is None or counts.max_error != options.max_error):
        run.audit.answers = AnswerCounts(options.max_error)


def print_warnings(console: Console, warnings: list[DataWarning]) -> None:
    """Print warnings, one line each."""
    for one in warnings:
        word, style = ("Warning", "bold red") if one.severity == "grave" else ("Note", "yellow")
        console.print(Text(f"{word}: {one.text}.", style=style), soft_wrap=True)


def print_without_labels(console: Console, panel: Panel, options: FuseOptions) -> None:
    """Say that there are no labels, and what can be estimated without them."""
    from linmax.cli.fuse.estimate import print_estimate
    from linmax.evaluate.without_labels import estimate

    for name in ("save", "output", "start"):
        if getattr(options, name) is not None:
            raise ValueError(
                f"{panel.file} has no labels, so nothing can be learned; name their column with --label, or a"
                " file of labels with --labels"
            )
    assert panel.chunk is not None
    found = estimate(panel.chunk, file=panel.file, unit=panel.table.unit)
    if options.report is not None:
        from linmax.report.estimate import write_estimate_page

        write_estimate_page(found, options.report)
    if options.json:
        print_json(
            {
                "verdict": "not judged",
                "warnings": panel.warnings,
                "schema": panel.as_json(),
                "items": panel.chunk.items,
                "accuracy": None,
                "baselines": [],
                "estimate": found.as_json(),
            }
        )
        return
    console.print(Text(str(panel.schema)), soft_wrap=True)
    print_warnings(console, panel.warnings)
    sentence = (
        "There are no labels, so nothing is learned or judged; this is an estimate from the votes alone."
        " Name the labels with --label COLUMN or --labels FILE."
    )
    console.print(Text(sentence, style="bold"), soft_wrap=True)
    print_estimate(console, found)
    if options.report is not None:
        console.print(Text(f"Report: {options.report}"), soft_wrap=True)


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
                writer.write(
                    outcome.chunk, outcome.guesses, outcome.margins, outcome.chunk.labels,
                    answers=outcome.answers,
                    sets=None if options.coverage is None else outcome.sets,
                )  # fmt: skip
            if options.checkpoint and run.audit.items % options.checkpoint == 0:
                save_model(one, finished=False)
            if interrupts:
                raise Interrupted
        if not run.audit.items and start.prefix.rows:
            raise ValueError(
                f"{options.start} has learned all {start.prefix.rows:,} rows of {one.stream.schema.file};"
                " add rows, or learn them again with --relearn"
            )
        if options.save is not None:
            try:
                save_model(one, finished=False)  # the findings are not printed yet
            except OSError as failure:
                one.failure = failure
                raise Interrupted from None
        return True
    return one.failure is not None


def save_model(one: Pass, *, finished: bool) -> None:
    """Write the model, with a note on how far it has come."""
    run, options = one.run, one.options
    assert options.save is not None
    notes = {
        "file": one.stream.schema.file,
        "rows": run.fingerprint.rows,
        "base": run.fingerprint.rows - run.audit.items,
        "digest": run.fingerprint.digest,
        "head": list(one.start.heads[-1]),  # all that earlier versions read
        "heads": [list(head) for head in one.start.heads],
        "shuffle": options.shuffle,
    }
    run.fusion.notes[SCHEMA_NOTE] = store_reading(one.panel.reading, one.panel.classes)
    run.fusion.notes[NOTE] = notes if finished else {**notes, "audit": audit_state(run.audit)}
    run.fusion.save(options.save)
    one.saved = run.fingerprint.rows


def _summarize(
    one: Pass, costs: dict[str, float], warnings: list[DataWarning], table: MilestoneTable, *, ablation: bool
) -> tuple[Findings, bool]:
    """The findings, and whether they include the ablation of experts; Ctrl-C during it skips only this."""

    def findings(ablation: bool) -> Findings:
        return summarize(
            one.run.audit,
            one.run.fusion,
            file=one.stream.schema.file,
            source=str(one.stream.schema),
            prices=costs,
            warnings=warnings,
            schema=one.panel.as_json(),
            repeated=one.start.relearns,
            ablation=ablation,
            consult=one.options.report is not None or one.options.prices is not None,
            on_progress=lambda i, n: table.update_status("ablation of each expert", i, n),
        )

    try:
        return findings(ablation), ablation
    except KeyboardInterrupt:
        return findings(False), False


def report_result(console: Console, found: Findings, one: Pass, missing: list[str]) -> None:
    """Print the findings, write the report, and list the files that were written."""
    options = one.options
    if options.json:
        print_json({**vars(found), "finished": not missing, "missing": missing})
    else:
        print_summary(console, found)
    if options.report is not None:  # after the findings: they are not lost if this fails
        from linmax.report.page import write_page

        write_page(found, options.report)
    if options.json:
        return
    for what, path in (
        ("Model", None if one.failure else options.save),
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
    """A list that the first Ctrl-C or SIGTERM fills, so that the current chunk is finished.

    The second acts as usual. While the program waits for input, the first raises Interrupted.
    """
    interrupts: list[int] = []

    def note(number: int, _: Any) -> None:
        interrupts.append(number)
        restore()
        if chunks.waiting:
            raise Interrupted

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    before: dict[signal.Signals, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, note)
    except ValueError:  # not in the main thread, which alone receives signals
        yield interrupts
        return
    try:
        yield interrupts
    finally:
        restore()
