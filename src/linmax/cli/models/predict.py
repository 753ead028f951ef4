"""`linmax predict`: predictions of a model for the items of a file."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from linmax.cli.inputs import (
    check_known_experts,
    check_needs,
    count_names,
    describe_unknown,
    ignored_columns,
    load_model,
    name_rows,
    open_for_model,
    print_unknown_classes,
    print_unknown_votes,
)
from linmax.cli.options.decisions import PredictOptions
from linmax.cli.options.files import FilesOptions
from linmax.cli.output import ProgressBar, check_output, print_message, print_warning_messages, progress_bar
from linmax.decisions.answers import check_limits, why_no_answers
from linmax.decisions.conformal import level_of
from linmax.evaluate.findings.decisions import CONFIDENCE
from linmax.evaluate.predictions import PredictedChunk, predict_chunks, write_part
from linmax.fusion import Fusion
from linmax.fusion.model_file import is_model
from linmax.panels.panel import Panel
from linmax.streams import PredictionWriter, Stream
from linmax.validation import count_noun

NOT_OF_PREDICTIONS = frozenset({"missing-labels", "single-class", "votes-never-labels", "label-spelling"})
"""Warnings for those who learn; unknown votes and labels have messages of their own."""


class Summary(NamedTuple):
    """What was predicted.

    Attributes
    ----------
    rows : int
        The number of predictions.
    labelled : int
        The number of rows with a label.
    correct : int
        The number of rows whose label was predicted.
    unknown : list
        Experts in the file that the model does not know.
    absent : list
        Experts of the model that are not in the file.
    absent_attributes : list
        Attributes of the model that are not in the file.
    answered : int or None
        The number of answers under an error limit; None if there is none.
    unknown_labels : dict
        Labels that name no class of the model, and how often each occurs; these rows are not correct.
    """

    rows: int
    labelled: int
    correct: int
    unknown: list[Any]
    absent: list[Any]
    absent_attributes: list[Any]
    answered: int | None
    unknown_labels: dict[Any, int]

    def __str__(self) -> str:
        text = f"{count_noun(self.rows, 'row')} predicted"
        if self.answered is not None:
            text += f", {self.answered:,} answered"
        if self.labelled:
            part = f"{self.correct / self.labelled:.1%}"
            text += f", {self.correct:,} of {self.labelled:,} labelled rows correct ({part})"
        return text


def predict(model: Path, read: FilesOptions, options: PredictOptions) -> Summary:
    """Predict every row, write the predictions, and print how many are correct."""
    output = options.output
    _check_output(output, model, *map(Path, read.paths))
    if options.max_error is not None:
        check_limits(options.max_error, CONFIDENCE)
    if options.coverage is not None:
        level_of(options.coverage)
    if any(is_model(Path(path)) for path in read.paths) and not is_model(model):
        raise ValueError(f"the model comes before the files: linmax predict {read.paths[0]} {model}")
    fusion = load_model(model)
    writer = PredictionWriter(output)
    on_screen = writer.path is None and sys.stdout.isatty()
    panel = open_for_model(read, fusion)
    print_warning_messages(one for one in panel.warnings if one.code not in NOT_OF_PREDICTIONS)
    with panel.stream() as stream, progress_bar(stream, "predicting", quiet=on_screen) as bar:
        first = stream.peek()
        if first is not None:
            check_needs(fusion, first, str(model), stream.schema.file)
        with writer:
            summary = _write_all(fusion, panel, stream, writer, model, bar, options)
    print_warning_messages(panel.late_warnings())
    file = stream.schema.file
    unknown = [*ignored_columns(panel), *summary.unknown]
    if unknown:
        print_message(describe_unknown(str(model), unknown, file))
    if summary.absent:
        print_message(f"{file} lacks {count_names(summary.absent, 'expert')} of {model}")
    if summary.absent_attributes:
        lacking = count_names(summary.absent_attributes, "attribute")
        print_message(f"{file} lacks {lacking} of {model}: zeros are used instead")
    print_unknown_votes(panel, str(model))
    closed = panel.options.is_closed
    print_unknown_classes(summary.unknown_labels, "label", file, str(model), closed=closed)
    if options.max_error is not None:
        threshold = fusion.answer_threshold(options.max_error)
        if threshold.probability == math.inf:
            print_message(f"--max-error {options.max_error:g} answers nothing: {why_no_answers(threshold)}")
    print_message(str(summary))
    return summary


def _write_all(
    fusion: Fusion,
    panel: Panel,
    stream: Stream,
    writer: PredictionWriter,
    model: Path,
    bar: ProgressBar,
    options: PredictOptions,
) -> Summary:
    rows = labelled = correct = answered = 0
    seen: dict[Any, None] = {}
    columns: set[Any] = set()
    classes, unknown_labels = {*fusion.classes, *panel.classes.names}, Counter[Any]()
    for part in _predictions(fusion, stream, options):
        columns |= _columns_of(part.chunk.attributes)
        if not seen:
            check_known_experts(fusion, part.experts, str(model), stream.schema.file)
        seen.update(dict.fromkeys(part.experts))
        write_part(writer, part, fusion)
        rows += part.chunk.items
        answered += 0 if part.answers is None else sum(answer is not None for answer in part.answers)
        labels, hits = part.count_hits()
        labelled, correct = labelled + labels, correct + hits
        unknown_labels += part.unknown_labels(classes)
        bar.update(rows)
    known = set(fusion.experts)
    compared = "votes" in fusion.needs and seen and known
    return Summary(
        rows,
        labelled,
        correct,
        [name for name in seen if name not in known] if compared else [],
        [name for name in fusion.experts if name not in seen] if compared else [],
        [name for name in _known_columns(fusion) if name not in columns] if columns else [],
        None if options.max_error is None else answered,
        dict(unknown_labels),
    )


def _known_columns(fusion: Fusion) -> dict[Any, None]:
    """The columns that the attributes of a session come from: of text, a pair has the column and a value."""
    names = [*fusion.names.attributes.names, *fusion.names.values.names]
    return dict.fromkeys(name[0] if isinstance(name, tuple) else name for name in names)


def _columns_of(attributes: Any) -> set[Any]:
    """The columns of attributes, an Arrow table or dicts."""
    if attributes is None or hasattr(attributes, "column_names"):
        return set() if attributes is None else set(attributes.column_names)
    return {name for row in attributes for name in row}


def _predictions(fusion: Fusion, stream: Stream, options: PredictOptions) -> Iterator[PredictedChunk]:
    for chunk in stream:
        parts = predict_chunks(fusion, chunk, max_error=options.max_error, coverage=options.coverage)
        while True:
            with name_rows(stream.schema.file, chunk):
                part = next(parts, None)
            if part is None:
                break
            yield part


def _check_output(output: Path | None, *inputs: Path) -> None:
    """Refuse a file that is read, and one that cannot be written."""
    if output is None or str(output) == "-":
        return
    for path in inputs:
        if str(path) != "-" and path.exists() and output.exists() and output.samefile(path):
            raise ValueError(f"--output {output} is an input file; name another file")
    check_output(output, "write --output")
