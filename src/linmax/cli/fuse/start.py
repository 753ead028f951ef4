"""Where a pass of `linmax fuse` begins: a new session, or that of a model, and what to warn of."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, NamedTuple

from linmax.cli.cost_files import read_mistake_costs
from linmax.cli.inputs import RowOrder, count_experts, parse_learner
from linmax.cli.options.files import FuseOptions
from linmax.evaluate.audit.checkpoint import (
    NO_PREFIX,
    LearnedPrefix,
    RestoredAudit,
    head_fingerprints,
    matches_head,
)
from linmax.experts import Attributes
from linmax.fusion import Fusion, load
from linmax.inputs import DEFAULT
from linmax.panels.panel import Panel
from linmax.rules.adaptive_winnow import AdaptiveWinnow
from linmax.rules.winnow import Winnow
from linmax.streams import Stream
from linmax.streams.schema import short_list
from linmax.validation import DataWarning

ON_ATTRIBUTES, ON_BOTH = "recommended(votes=False, attributes=True)", "recommended(attributes=True)"
"""The learners for a file without votes, and for one with votes and attributes."""

NOTE = "fuse"
"""The name of the note in a model that says how far a pass has come."""


MANY_CLASSES, MANY_CELLS = 100, 20_000
"""With more classes, or more pairs of experts and classes, recommended() is slow."""
LEAN = "Logistic(0.1, start='equal')"
LEAN_EXPERTS = f"Mixture(({LEAN}, NaiveBayes('accuracies')))"
"""The learners that are taken then: for many classes, and for many experts with few classes."""


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
    notes : list of DataWarning
        What to tell the user about it.
    heads : list of (int, str)
        The digests of the first rows of the file.
    """

    fusion: Fusion
    prefix: LearnedPrefix
    restored: RestoredAudit | None
    relearns: bool
    notes: list[DataWarning]
    heads: list[tuple[int, str]]


def start_session(options: FuseOptions, stream: Stream, panel: Panel) -> Start:
    """A new session, or that of a model, after the rows of this file that it has learned."""
    heads = head_fingerprints(stream.peek())
    if options.start is None:
        default, notes = default_learner(panel)
        learner = parse_learner(options.learner or default)
        costs = options.mistake_costs
        fusion = Fusion(
            learner,
            seed=options.seed or 0,
            abstain=parse_abstain(options.abstain, stream, panel),
            calibrate="sample" if (options.max_error, options.coverage) == (None, None) else "all",
            mistake_costs=None if costs is None else read_mistake_costs(costs, panel.classes.names),
            cost_margins=options.cost_margins,
        )
        notes = _attribute_ranges(fusion, panel) if options.learner else notes
        return Start(
            fusion, NO_PREFIX, None, False, [*notes, *_unused_abstain(options.abstain, panel)], heads
        )
    fusion = load(options.start)
    notes = fusion.notes.pop(NOTE, {})
    start = Start(fusion, NO_PREFIX, None, False, [], heads)
    if not isinstance(notes, dict) or not notes:
        return start
    return _resume(start, notes, options, stream)


def _resume(start: Start, notes: dict[str, Any], options: FuseOptions, stream: Stream) -> Start:
    saved = notes["heads"] if "heads" in notes else [notes.get("head")]
    file, same_file = stream.schema.file, matches_head(saved, stream.peek())
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
        return start._replace(
            prefix=prefix, restored=RestoredAudit(notes["audit"], base), notes=[_resumed(sentence)]
        )
    if not same_file:
        return start
    if options.relearn or options.shuffle is not None or notes.get("shuffle") is not None:
        sentence = f"the model has already learned rows of {file}, and learns them again"
        return start._replace(relearns=True, notes=[_resumed(sentence)])
    sentence = f"continuing {file} after row {prefix.rows:,}, because the rows before are already learned"
    return start._replace(prefix=prefix, notes=[_resumed(sentence)])


def _resumed(sentence: str) -> DataWarning:
    return DataWarning("resumed", "note", sentence)


def parse_abstain(text: str | None, stream: Stream, panel: Panel) -> Any:
    """The vote that means no vote: None, an integer, or text (CSV has numbers as text)."""
    if text == "none" or (text is None and -1 in panel.classes.names):
        return None
    is_text = stream.schema.format in ("CSV", "TSV")
    if text is None:
        return "-1" if is_text and _has_integer_labels(stream) else DEFAULT
    return int(text) if not is_text and text.removeprefix("-").isdecimal() else text


def _unused_abstain(text: str | None, panel: Panel) -> list[DataWarning]:
    """A note if no vote is the one that --abstain names."""
    if text in (None, "none"):
        return []
    votes = set(map(str, panel.vote_counts()))
    if text in votes:
        return []
    close = get_close_matches(str(text), sorted(votes), 1)
    first = "" if panel.complete else "the first rows of "
    similar = f"; {close[0]!r} is similar" if close else ""
    sentence = f"no vote in {first}{panel.file} is {text!r}, which --abstain names{similar}"
    return [DataWarning("reading", "note", sentence)]


def _attribute_ranges(fusion: Fusion, panel: Panel) -> list[DataWarning]:
    """A note if Winnow, which multiplies its weights, learns from attributes that are not within [0, 1]."""
    rules = [run.rule for run in fusion.runner.rule_runs if isinstance(run.rule, Winnow | AdaptiveWinnow)]
    learning = [
        rule
        for rule in rules
        if rule.experts and any(isinstance(one, Attributes) for one in rule.experts.parts)
    ]
    profiles = [panel.profiles[one.name] for one in panel.reading.columns("attribute")]
    outside = [
        f"{one.name} has {one.low:g} to {one.high:g}"
        for one in profiles
        if one.low is not None and one.high is not None and not 0 <= one.low <= one.high <= 1
    ]
    if not (learning and outside):
        return []
    sentence = (
        f"{type(learning[0]).__name__} needs attributes from 0 to 1 ({short_list(outside)}); scale them, or"
        " take a rule that adds to its weights, such as Perceptron().on(ScaledAttributes())"
    )
    return [DataWarning("attribute-range", "note", sentence)]


def _has_integer_labels(stream: Stream) -> bool:
    """Whether the labels in the first rows are integers, and none is -1."""
    first = stream.peek()
    labels = set() if first is None or first.labels is None else set(first.labels.tolist()) - {None}
    return bool(labels) and "-1" not in labels and all(one.removeprefix("-").isdecimal() for one in labels)


def default_learner(panel: Panel) -> tuple[str, list[DataWarning]]:
    """The learner for a panel: a lean one where recommended() would need too much memory or time."""
    if panel.schema.shape == "attributes":
        return ON_ATTRIBUTES, []
    classes, experts = len(panel.classes.names), count_experts(panel)
    if classes <= MANY_CLASSES and experts * classes <= MANY_CELLS:
        return ON_BOTH if panel.schema.attributes else "recommended()", []
    lean = LEAN if classes > MANY_CLASSES else LEAN_EXPERTS
    sentence = (
        f"{lean} learns here, because recommended() is slow with {experts:,} experts and {classes:,} classes;"
        " --learner 'recommended()' takes it all the same"
    )
    return lean, [DataWarning("lean-learner", "note", sentence)]


def find_warnings(panel: Panel, order: RowOrder, start: Start, options: FuseOptions) -> list[DataWarning]:
    """What a user should know before believing the result, grave warnings first."""
    found = [*panel.warnings, *order.warnings, *start.notes]
    if start.relearns:
        sentence = "the model has learned these rows before, so the figures are too good"
        found.append(DataWarning("learned-before", "grave", sentence))
    return sorted(found, key=lambda one: one.severity)  # "grave" comes before "note"
