"""`linmax predict` over the partitions of a data set, with one model or with one per key."""

from __future__ import annotations

from pathlib import Path

from linmax.cli.fuse.keyed import explain_interrupt, print_problems
from linmax.cli.inputs import count_names, print_unknown_classes
from linmax.cli.options.decisions import PredictOptions
from linmax.cli.options.files import FilesOptions, split_names
from linmax.cli.options.tasks import DatasetOptions, EngineOptions
from linmax.cli.output import print_message, stderr_console, task_progress
from linmax.scale.by_key.store import MANIFEST, KeyedModels
from linmax.scale.prediction import PredictionResult, predict


def predict_dataset(
    model: Path,
    read: FilesOptions,
    options: PredictOptions,
    dataset: DatasetOptions,
    engine: EngineOptions,
) -> bool:
    """Predict every partition; return whether there was no problem."""
    if options.output is None:
        raise ValueError("a data set is predicted into a folder; name it with --output FOLDER")
    if options.output.is_file():
        raise ValueError(f"--output {options.output} is a file; a data set needs a folder")
    if read.labels is not None:
        raise ValueError(f"--labels {read.labels} cannot be combined with a data set; join the labels first")
    by = split_names(dataset.by)
    if by is not None:
        given = ",".join(by)
        if not (model / MANIFEST).exists():
            raise ValueError(f"{model} has no models by key; learn them with linmax fuse --by {given}")
        stored = ",".join(KeyedModels(model).by)
        if given != stored:
            raise ValueError(f"the models in {model} are by {stored!r} (got --by {given}); use that")
    with explain_interrupt(options.output), task_progress() as show:
        found = predict(
            model, read.paths, options.output, format=dataset.format, max_error=options.max_error,
            coverage=options.coverage, resume=dataset.resume, on_progress=show, **engine.where(),
            **read.panel_arguments(),
        )  # fmt: skip
    _print_unknown(found, str(model), ", ".join(map(str, read.paths)))
    console = stderr_console()
    text = f"{found.rows:,} rows of {len(found.files) - found.skipped:,} partitions predicted"
    if found.skipped:
        text += f", {found.skipped:,} partitions were there already"
    if found.labelled:
        part = f"{found.correct / found.labelled:.1%}"
        text += f", {found.correct:,} of {found.labelled:,} labelled rows correct ({part})"
    print_message(text)
    if found.without_model:
        print_message(f"{found.without_model:,} rows have no key, or one without a model: no prediction")
    print_problems(console, found.problems)
    return not found.problems


def _print_unknown(found: PredictionResult, model: str, where: str) -> None:
    """Say which experts of the model are missing, and which votes and labels it does not know."""
    if found.absent:
        print_message(f"some partitions of {where} lack {count_names(found.absent, 'expert')} of {model}")
    first = f"the first rows of the partitions of {where}"
    print_unknown_classes(found.unknown_votes, "vote", first, model, closed=found.closed)
    print_unknown_classes(found.unknown_labels, "label", where, model, closed=found.closed)
