"""What commands read: learners and costs as text, models, and files with their labels."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from linmax import spec
from linmax.cli.options.files import ColumnOptions, FilesOptions
from linmax.cli.output import print_message
from linmax.fusion import Fusion, load
from linmax.panels.panel import Panel
from linmax.panels.roles.column_role import matches
from linmax.panels.roles.names import CONFIDENCE_WORDS, split_suffix
from linmax.panels.stored import SCHEMA_NOTE, check_scales, reading_for
from linmax.spec import Learner
from linmax.streams import Chunk, Schema, StreamError
from linmax.streams.schema import short_list, short_repr, split_score_column
from linmax.validation import DataWarning, count_noun

SHUFFLE_SEED = 0
"""With which rows that are sorted by label are shuffled."""


def parse_learner(text: str, what: str = "learner") -> Any:
    """The learner that a text describes.

    >>> parse_learner("Averaged(Winnow(1.2))")
    Averaged(Winnow(1.2))
    >>> parse_learner("Votes()")
    Traceback (most recent call last):
    ValueError: Votes() is not a learner; write one like Winnow(1.2)
    """
    made = spec.parse(text)
    if not isinstance(made, Learner):
        raise ValueError(f"{text} is not a {what}; write one like Winnow(1.2)")
    return made


def parse_costs(texts: list[str]) -> dict[str, float]:
    """Costs such as "gpt=3.5".

    >>> parse_costs(["gpt=3.5", "bert=0"])
    {'gpt': 3.5, 'bert': 0.0}
    """
    costs = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            costs[name] = float(number)
        except ValueError:
            name = ""
        if not name or not 0.0 <= costs[name] < float("inf"):
            raise ValueError(f"--cost is written EXPERT=NUMBER, such as gpt=3.5 (got {text!r})")
    return costs


def named_experts(schema: Schema) -> list[str] | None:
    """All experts of a file; None if its schema does not name all of them."""
    if schema.shape not in ("wide", "scores") or schema.open:
        return None
    by_class = schema.shape == "scores"
    return list(
        dict.fromkeys(split_score_column(column)[0] if by_class else column for column in schema.experts)
    )


def check_costs(costs: dict[str, float], schema: Schema) -> None:
    """Refuse the cost of an unknown expert, if the schema names all experts."""
    experts = named_experts(schema)
    if experts is None:
        return
    for name in costs:
        if name not in experts:
            close = get_close_matches(name, sorted(experts), 1)
            fix = f"did you mean {close[0]!r}?" if close else f"it has {short_list(sorted(experts))}"
            raise ValueError(f"--cost: {schema.file} has no expert {name!r}; {fix}")


def load_model(path: Path) -> Fusion:
    """The session in a model file."""
    if not path.exists():
        raise ValueError(f"there is no file {str(path)!r}; check the path")
    return load(path)


def check_needs(fusion: Fusion, chunk: Chunk, who: str, file: str) -> None:
    """Refuse a file that lacks the votes or the attributes that the learner learns from."""
    if "votes" in fusion.needs and chunk.votes is None:
        raise ValueError(f"{who} learns from votes and {file} has none; name the columns with --experts")
    if fusion.needs - {"votes"} and chunk.attributes is None:
        raise ValueError(f"{who} learns from attributes; name their columns in {file} with --attributes")


def check_known_experts(fusion: Fusion, experts: list[Any], who: str, file: str) -> None:
    """Refuse a panel if the model knows none of its experts."""
    known = fusion.experts
    if "votes" in fusion.needs and known and experts and not set(experts) & set(known):
        raise ValueError(
            f"{file} has no expert that {who} knows (it has {short_list(map(repr, experts))}; the model knows"
            f" {short_list(map(repr, known))}); name the columns as in the file that the model learned"
        )


@contextmanager
def name_rows(file: str, chunk: Chunk) -> Iterator[None]:
    """Add the file and the rows to the message of an error."""
    try:
        yield
    except StreamError:
        raise
    except ValueError as error:
        rows = f"{chunk.lines[0]} to {chunk.lines[-1]}" if chunk.items else "none"
        raise ValueError(f"{file}, rows {rows}: {error}") from None


def require_reading(panel: Panel, files: Sequence[str], *, labels: bool = True) -> Panel:
    """Refuse a panel that cannot be read without a decision of the user; the message shows what to type."""
    problem = panel.reading.problem
    if problem is not None:
        example = panel.command(files) if panel.reading.suggestion else ""
        raise ValueError(problem + (f"; for example: {example}" if example else ""))
    if labels and panel.reading.column("label") is None:
        raise ValueError(
            f"{panel.file} has no labels; name their column with --label, or a file of labels with --labels"
        )
    return panel


class RowOrder(NamedTuple):
    """In which order rows are learned.

    Attributes
    ----------
    seed : int or None
        The seed with which they are shuffled; None if they are not.
    warnings : list of DataWarning
        What is to be said about it.
    """

    seed: int | None
    warnings: list[DataWarning]


def choose_order(panel: Panel, shuffle: int | None, in_order: bool, *, planned: bool = False) -> RowOrder:
    """Shuffle rows that are sorted by label, unless the user decides; rows that depend on time stay.

    `planned` is for sentences on what would be done.
    """
    if shuffle is not None and in_order:
        raise ValueError(f"--shuffle {shuffle} and --in-order exclude each other; pass one of them")
    if shuffle is not None:
        return RowOrder(shuffle, [_shuffled(shuffle, "as --shuffle says")])
    if panel.chunk is None or panel.chunk.raw_labels is None:
        return RowOrder(None, [])
    from linmax.inputs.label_order import label_order

    order = label_order(panel.chunk.labels)
    first = "" if panel.complete else "the first "
    if order.sorted and in_order:
        return RowOrder(None, [DataWarning(
            "sorted-by-label", "grave",
            f"{first}rows are sorted by label ({order.runs:,} runs of {order.classes:,} classes), and were"
            " learned in this order, so the figures mean little",
        )])  # fmt: skip
    if order.sorted and not panel.complete:
        return RowOrder(None, [DataWarning(
            "order-unknown", "grave",
            f"{first}rows are sorted by label, and {panel.file} is not read into memory to be shuffled;"
            f" {_how_to_shuffle(panel)}",
        )])  # fmt: skip
    if order.sorted and planned:
        sentence = "rows are sorted by label, so fuse shuffles them; --in-order keeps their order"
        return RowOrder(SHUFFLE_SEED, [DataWarning("shuffled", "note", sentence)])
    if order.sorted:
        return RowOrder(SHUFFLE_SEED, [_shuffled(SHUFFLE_SEED, "because they are sorted by label")])
    if order.dependent:
        return RowOrder(None, [DataWarning(
            "dependent-order", "note",
            f"labels depend on the ones before: the last label is right on {order.last_label_accuracy:.1%}",
        )])  # fmt: skip
    return RowOrder(None, [])


def _how_to_shuffle(panel: Panel) -> str:
    """What to type so that rows are shuffled."""
    if panel.file == "standard input":
        return "write it to a file, and type: linmax fuse FILE"
    file = shlex.quote(panel.file)
    return f"type: (head -n 1 {file}; tail -n +2 {file} | shuf) > shuffled.csv; linmax fuse shuffled.csv"


def _shuffled(seed: int, why: str) -> DataWarning:
    return DataWarning("shuffled", "note", f"rows were shuffled (seed {seed}) {why}")


def count_experts(panel: Panel) -> int:
    """The number of experts of a panel."""
    if panel.reading.shape == "long":
        return panel.profiles[str(panel.reading.column("expert"))].distinct
    return len({one.expert for role in ("expert", "score") for one in panel.reading.columns(role)})


def stored_reading(model: Path) -> dict[str, Any] | None:
    """How the file of a model was read; None if the model does not say so."""
    found = load_model(model).notes.get(SCHEMA_NOTE)
    return found if isinstance(found, dict) else None


def open_for_model(read: ColumnOptions, fusion: Fusion, paths: Sequence[str] | None = None) -> Panel:
    """Read files for a model: its columns have the roles that they had when it learned; no label is needed.

    A model that does not say how its file was read finds its experts by their names.
    """
    like = reading_for(fusion, experts=read.experts, shape=read.shape)
    if "votes" not in fusion.needs and not read.attributes and "columns" not in like:
        raise ValueError("the model learns from attributes; name their columns with --attributes")
    if isinstance(read, FilesOptions):
        panel = require_reading(read.open(like, needs_label=False), read.paths, labels=False)
    else:
        panel = read.read(paths or [], like=like, needs_label=False)
        panel = require_reading(panel, paths or [], labels=False)
    stored = fusion.notes.get(SCHEMA_NOTE)
    check_scales(stored if isinstance(stored, dict) else None, panel.reading, panel.file)
    return panel


def ignored_columns(panel: Panel) -> list[str]:
    """Columns that could have been experts or their confidences, and that the model does not know."""
    if not panel.options.is_stored and not panel.options.is_by_name:
        return []
    experts = {one.name for one in panel.reading.columns("expert")}

    def is_confidence(name: str) -> bool:
        split = split_suffix(name, CONFIDENCE_WORDS)
        return split is not None and split[0] in experts

    return [
        one.name
        for one in panel.reading.columns("ignored")
        if not matches(one.name, panel.options.ignore)
        and (
            (panel.profiles[one.name].is_discrete and not panel.profiles[one.name].is_unique)
            or is_confidence(one.name)
        )
    ]


def describe_unknown(model: str, columns: list[Any], file: str) -> str:
    """One sentence on columns that a model does not know."""
    return f"{model} does not know {count_names(columns, 'column')} of {file}: ignored"


def count_names(names: list[Any], noun: str) -> str:
    """The number of some names, and the first of them.

    >>> count_names(["ann", "bob"], "expert")
    '2 experts (ann, bob)'
    """
    return f"{count_noun(len(names), noun)} ({short_list(names)})"


def describe_unknown_classes(counts: dict[Any, int], noun: str, where: str, model: str, effect: str) -> str:
    """One sentence on votes or labels that name no class of a model.

    >>> describe_unknown_classes({"refund": 2}, "vote", "new.csv", "m.linmax", "they abstain")
    "2 votes of new.csv name no class that m.linmax knows ('refund'): they abstain"
    """
    number = sum(counts.values())
    verb = "names" if number == 1 else "name"
    shown = short_list(map(short_repr, counts), 4)
    return f"{count_noun(number, noun)} of {where} {verb} no class that {model} knows ({shown}): {effect}"


def print_unknown_votes(panel: Panel, model: str, *, abstain: bool = False) -> None:
    """Say which votes name no class of a model, and what becomes of them."""
    rows = "" if panel.complete else f"the first {panel.table.data.num_rows:,} rows of "
    closed = abstain or panel.options.is_closed
    print_unknown_classes(panel.unknown_votes(), "vote", f"{rows}{panel.file}", model, closed=closed)


def print_unknown_classes(counts: dict[Any, int], noun: str, where: str, model: str, *, closed: bool) -> None:
    """Say which votes or labels, if any, name no class of a model, and what becomes of them.

    Unknown votes abstain if the classes are `closed`, and are classes of their own otherwise.
    """
    if noun == "vote":
        effect = "they abstain" if closed else "each is a class of its own"
    else:
        effect = "these rows count as wrong" + " unless a vote names the class, too" * (not closed)
    if counts:
        print_message(describe_unknown_classes(counts, noun, where, model, effect))
