"""What may be wrong with a panel: joins, spelling, votes and labels that do not fit, leaks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import combinations, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linmax.panels.build import ChunkBuilder, vote_codes
from linmax.panels.joins.labels import conflict_warning, whitespace_note
from linmax.panels.roles.classes import folded
from linmax.panels.roles.wide.scores import are_counts, spoiled_by
from linmax.panels.roles.wide.several_labels import several_labels
from linmax.streams import Chunk
from linmax.streams.schema import short_list, short_repr
from linmax.validation import DataWarning

if TYPE_CHECKING:
    from linmax.panels.panel import Panel

Codes = NDArray[np.int64]
Votes = dict[Any, tuple[Codes, Codes]]
Counts = tuple[Codes, Codes, int]
LEAK_ACCURACY, LEAK_RATIO, LEAK_ITEMS = 0.99, 5.0, 50
"""An expert that is right so often, with so many times fewer mistakes than the next, may know the label."""
BELOW_CHANCE = 3.0
"""Standard deviations below chance from which on scores have the wrong sign, or votes other codes."""
MAX_RATINGS, NEAR = 20, 0.8
"""The most ratings there are, and the least correlation of wrong votes with labels that are quantities."""
MAX_PAIRED, MAX_COMPARED = 60, 5000
"""Experts of which all pairs are compared, and items on which they are."""
MAX_SHOWN = 40
"""Characters of a value in a list."""
MAX_ABSTAINING = 0.5
"""The largest share of votes that are never a label."""
MAX_UNVOTED = 0.2
"""The largest share of items whose label no expert votes for."""


def table_warnings(panel: Panel, builder: ChunkBuilder) -> Iterator[DataWarning]:
    """Warn about joins, repeated votes, conflicting and missing labels.

    Parameters
    ----------
    panel : Panel
        The panel, with its items.
    builder : ChunkBuilder
        What made them.
    """
    for join in panel.joins:
        if join.is_normalised:
            yield DataWarning(
                "spelling", "note",
                f"the ids of {join.file} are in no other file as they are written; they were joined without"
                " case, whitespace and leading zeros",
            )  # fmt: skip
        if join.left is not None and (join.left_only or join.right_only):
            yield DataWarning(
                "unmatched-labels", "grave" if join.right_only > join.matched else "note", str(join)
            )
    if builder.repeated:
        yield DataWarning(
            "repeated-votes", "note",
            f"{builder.repeated:,} times an expert votes again on an item; its last vote is used",
        )  # fmt: skip
    if builder.nameless:
        yield DataWarning(
            "nameless-votes", "note",
            f"{builder.nameless:,} votes have no expert or no item, and are left out",
        )  # fmt: skip
    chunk = panel.chunk
    assert chunk is not None
    if count := builder.conflicting:
        labelled = count + sum(label is not None for label in chunk.labels.tolist())
        text = f"{count:,} of {labelled:,} labelled items have two different labels"
        yield conflict_warning(f"{text}; they count as not labelled", count, labelled)
    if chunk.raw_labels is not None:
        missing = chunk.labels.tolist().count(None)
        if missing:
            yield DataWarning(
                "missing-labels", "note",
                f"{missing:,} of {chunk.items:,} items have no label: they are only predicted"
                + _marker_hint(panel),
            )  # fmt: skip


def _marker_hint(panel: Panel) -> str:
    """Return what cells of labels and votes read that are taken for missing ones, if both have it."""
    label = panel.reading.column("label")
    votes = panel.reading.columns("vote" if panel.reading.shape == "long" else "expert")
    found = {} if label is None or label not in panel.profiles else panel.profiles[label].markers
    both = {
        text: n for text, n in found.items() if any(text in panel.profiles[one.name].markers for one in votes)
    }
    if not both:
        return ""
    return f"; {_counted(both, 2)} in labels and votes means that; if it is a class, pass --missing ''"


def vote_warnings(panel: Panel, keep: bool) -> Iterator[DataWarning]:
    """Warn about spelling, votes that are never a label, labels without votes, and leaks.

    Parameters
    ----------
    panel : Panel
        The panel, with its items.
    keep : bool
        Whether votes that are never a label count.
    """
    chunk, classes = panel.chunk, panel.classes
    assert chunk is not None
    columns = [
        one.name for one in panel.reading.columns("vote" if panel.reading.shape == "long" else "expert")
    ]
    respelled, unlabelled = 0, dict[str, int]()
    for name in columns:
        for value, count in panel.profiles[name].counts.items():
            found = classes.find(value)
            if found is None:
                unlabelled[str(value)] = unlabelled.get(str(value), 0) + count
            elif str(found) != str(value):
                respelled += count
    source = panel.reading.column("label") or panel.reading.column("vote") or next(iter(columns), None)
    several = several_labels(panel.profiles[source].counts, source) if source else None
    if several is not None:
        yield several
    if respelled:
        yield DataWarning(
            "spelling", "note",
            f"{respelled:,} votes are spelled unlike the labels (case, whitespace, 1.0 for 1, or yes for 1),"
            " and count for the class of the same name",
        )  # fmt: skip
    label = panel.reading.column("label")
    if label is not None and panel.profiles[label].merged:
        yield whitespace_note(panel.profiles[label].merged)
    alike = _spelled_alike(classes.names)
    if alike:
        yield DataWarning(
            "label-spelling", "note",
            f"{short_list(map(short_repr, alike))} differ by case or whitespace only, and are different"
            " classes; --ignore-case makes them equal",
        )  # fmt: skip
    signs = [name for name in map(str, classes.names) if not any(map(str.isalnum, name))]
    if 0 < len(signs) < len(classes.names):
        yield DataWarning(
            "punctuation-class", "note",
            f"{short_list(map(short_repr, signs))}: read as a class; pass --missing {shlex.quote(signs[0])}"
            " if it means that there is no vote or label",
        )  # fmt: skip
    unlabelled.pop(panel.options.abstain, None)
    if all(str(name).isdecimal() for name in classes.names):
        unlabelled.pop("-1", None)  # it abstains among whole numbers from 0
    if unlabelled and not keep:
        present = sum(panel.profiles[name].present for name in columns)
        usual = unlabelled.get("0", 0) if classes.are_signs else 0
        share = (sum(unlabelled.values()) - usual) / max(present, 1)
        most = sorted(unlabelled, key=lambda value: -unlabelled[value])
        shown = _counted({value: unlabelled[value] for value in most}, 4)
        grave = share > MAX_ABSTAINING
        confirm = f", or pass --missing {shlex.quote(most[0])} if that abstains" if grave else ""
        yield DataWarning(
            "votes-never-labels", "grave" if grave else "note",
            f"{sum(unlabelled.values()):,} votes are never a label and abstain: {shown};"
            f" name those that are classes with --classes{confirm}",
        )  # fmt: skip
    yield from _missing_scores(panel)
    if chunk.raw_labels is not None and panel.reading.column("label"):
        yield from _label_warnings(panel, chunk)


def _missing_scores(panel: Panel) -> Iterator[DataWarning]:
    """Warn about experts with scores for some classes only: a bad cell makes linmax ignore a column."""
    scored: dict[Any, set[Any]] = {}
    for one in panel.reading.columns("score"):
        scored.setdefault(one.expert, set()).add(panel.classes.find(one.label))
    lacking = {
        expert: [name for name in panel.classes.names if name not in found]
        for expert, found in scored.items()
        if 1 < len(found - {None}) < len(panel.classes.names)
    }
    if not lacking:
        return
    spoiled = {}
    for one in [*panel.reading.columns("ignored"), *panel.reading.columns("id")]:
        if one.name not in panel.profiles or not any(str(expert) in one.name for expert in lacking):
            continue
        bad = spoiled_by(panel.profiles[one.name])
        if bad is not None:
            spoiled[one.name] = bad
    hints = [f"{short_repr(name)} is not read as one, because it has {bad}" for name, bad in spoiled.items()]
    expert, names = next(iter(lacking.items()))
    classes = short_list(map(short_repr, names), 3)
    yield DataWarning(
        "missing-scores", "grave" if spoiled else "note",
        f"{short_repr(expert)} has no score for {classes}, so it cannot vote for it"
        + (f"; {'; '.join(hints)}: correct the cell" if hints else ""),
    )  # fmt: skip


def _spelled_alike(names: list[Any]) -> list[Any]:
    """Return the classes that others differ from by case or whitespace only, and these others."""
    groups: dict[str, list[Any]] = {}
    for name in names:
        groups.setdefault(folded(str(name)), []).append(name)
    return [name for group in groups.values() if len(group) > 1 for name in group]


def _counted(counts: dict[str, int], limit: int) -> str:
    """Return values with their counts; long values are cut off, counts never are."""
    shown = [
        f"{value if len(value) <= MAX_SHOWN else value[: MAX_SHOWN - 3] + '...'!r} ({count:,})"
        for value, count in [*counts.items()][:limit]
    ]
    return ", ".join(shown + ["..."] * (len(counts) > limit))


def labels_never_voted(items: int, total: int, names: list[Any]) -> DataWarning:
    """Return a warning on labels that no expert votes for; a grave one if many items have them.

    Parameters
    ----------
    items, total : int
        The number of items with such a label, and of all that have a label.
    names : list
        These labels.
    """
    some = short_list(map(short_repr, names), 4)
    return DataWarning(
        "labels-never-voted", "grave" if items > MAX_UNVOTED * total else "note",
        f"{items:,} of {total:,} items have a label that no expert votes for ({some})",
    )  # fmt: skip


def _label_warnings(panel: Panel, chunk: Chunk) -> Iterator[DataWarning]:
    index = {name: i for i, name in enumerate(panel.classes.names)}
    labels = np.fromiter(map(index.get, chunk.labels.tolist(), repeat(-1)), np.int64, chunk.items)
    total = int((labels >= 0).sum())
    if not total:
        return
    if len(used := np.unique(labels[labels >= 0])) == 1 and panel.complete:
        only = panel.classes.names[used[0]]
        yield DataWarning("single-class", "note", f"all labels are {short_repr(only)}")
    votes = vote_codes(chunk.votes, panel.classes.names)
    voted = np.zeros(len(index) + 1, bool)
    errors: dict[Any, tuple[float, int]] = {}
    for expert, (item, code) in votes.items():
        voted[: len(index)] |= np.bincount(code, minlength=len(index)) > 0
        own = labels[item]
        known = own >= 0
        items = int(np.count_nonzero(known))
        if items >= LEAK_ITEMS:
            errors[expert] = (int(np.count_nonzero((own != code) & known)) / items, items)
    scored = {panel.classes.find(one.label) for one in panel.reading.columns("score")}
    voted[[index[name] for name in scored if name in index]] = True
    never = ~voted[labels] & (labels >= 0)
    if panel.schema.shape != "attributes" and never.any():
        names = [*dict.fromkeys(chunk.labels[never].tolist())]
        yield labels_never_voted(int(never.sum()), total, names)
    yield from _small_is_good(panel, errors)
    yield from _other_codes(panel, votes, labels)
    yield from quantities(panel.classes.names, votes, labels)
    if panel.options.experts is None:
        yield from _leaks(errors)
        yield from _results(votes, labels, len(index))
        scores = [panel.profiles[one.name] for one in panel.reading.columns("score")]
        if len(votes) == 1 and panel.reading.shape == "wide" and are_counts(scores):
            counts = short_list([one.name for one in scores], 3)
            yield DataWarning(
                "single-expert", "note",
                f"{counts} count votes per class, and from counts nobody's reliability can be learned; give"
                " the vote of each expert, in a column or a row of its own",
            )  # fmt: skip
        elif len(votes) == 1:
            yield DataWarning(
                "single-expert", "note",
                f"only {short_repr(next(iter(votes)))} votes, so there is nothing to combine; if others"
                " are experts, too, name all of them with --experts",
            )  # fmt: skip


def _small_is_good(panel: Panel, errors: dict[Any, tuple[float, int]]) -> Iterator[DataWarning]:
    """Warn about scores that are small where the label is: ranks, distances and losses."""
    scoring = {str(one.expert) for one in panel.reading.columns("score")}
    found = {str(expert): one for expert, one in errors.items() if str(expert) in scoring}
    chance = 1.0 / max(len(panel.classes.names), 2)
    wrong = [
        expert for expert, (rate, items) in found.items()
        if 1.0 - rate < chance - BELOW_CHANCE * np.sqrt(chance * (1.0 - chance) / items)
    ]  # fmt: skip
    if wrong and 2 * len(wrong) >= len(found):
        rate, items = found[wrong[0]]
        yield DataWarning(
            "reversed-scores", "grave",
            f"the largest score of {short_list(wrong, 3)} is that of the label on fewer items than by chance"
            f" ({1.0 - rate:.0%} of {items:,}); if small numbers are good, as of ranks and losses,"
            " write their negatives",
        )  # fmt: skip


def _other_codes(panel: Panel, votes: Votes, labels: Codes) -> Iterator[DataWarning]:
    """Warn about experts who vote for the label less often than if they did not know the item."""
    scoring = {str(one.expert) for one in panel.reading.columns("score")}
    size = len(panel.classes.names)
    counted: dict[str, Counts] = {}
    for expert, (item, code) in votes.items():
        known = labels[item] >= 0
        own, said = labels[item][known], code[known]
        if str(expert) not in scoring:
            by_class = np.bincount(own, minlength=size), np.bincount(said, minlength=size)
            counted[str(expert)] = (*by_class, int((own == said).sum()))
    return votes_below_chance(counted)


def votes_below_chance(counted: dict[str, Counts]) -> Iterator[DataWarning]:
    """Warn about experts who vote for the label less often than if they did not know the item.

    Parameters
    ----------
    counted : dict of str to (ndarray, ndarray, int)
        For each expert, on the items on which it votes: the labels and the votes of each class, and how
        often both are the same.
    """
    below: dict[str, tuple[float, float, int]] = {}
    compared = 0
    for expert, (own, said, right) in counted.items():
        items = int(own.sum())
        if items < LEAK_ITEMS:
            continue
        compared += 1
        agree, chance = right / items, float((own / items) @ (said / items))
        if agree < chance - BELOW_CHANCE * np.sqrt(chance * (1.0 - chance) / items):
            below[expert] = agree, chance, items
    if below:
        agree, chance, items = next(iter(below.values()))
        first = "" if len(below) == 1 else f", {next(iter(below))}"
        yield DataWarning(
            "votes-below-chance", "grave" if 2 * len(below) >= compared else "note",
            f"the votes of {short_list(below, 3)} are the label on fewer items than by chance ({agree:.0%} of"
            f" {items:,}{first}; by chance {chance:.0%}); if they have other codes than the labels, such as"
            " numbers from 0 instead of 1, write them alike",
        )  # fmt: skip


def quantities(classes: Sequence[Any], votes: Votes, labels: Codes) -> Iterator[DataWarning]:
    """Warn about labels that are quantities, such as ages: votes are near them, and seldom the same.

    Parameters
    ----------
    classes : sequence
        The classes.
    votes : dict
        The items on which each expert votes, and its votes, as `vote_codes` returns them.
    labels : ndarray of int64
        The labels; -1 is none.
    """
    names = list(map(str, classes))
    if len(names) <= MAX_RATINGS or not all(name.removeprefix("-").isdecimal() for name in names):
        return
    values = np.array(names, np.float64)
    wrong: list[NDArray[np.float64]] = [np.zeros((2, 0))]
    for item, code in votes.values():
        own = labels[item]
        known, differ = own >= 0, (own >= 0) & (own != code)
        if 2 * np.count_nonzero(differ) <= np.count_nonzero(known):
            return
        wrong.append(np.stack((values[own[differ]], values[code[differ]])))
    pairs = np.concatenate(wrong, axis=1)
    if pairs.shape[1] < LEAK_ITEMS or not np.ptp(pairs, axis=1).all():
        return
    near = float(np.asarray(np.corrcoef(pairs))[0, 1])
    if near > NEAR:
        yield DataWarning(
            "quantities", "grave",
            f"the labels may be quantities, not classes: {pairs.shape[1]:,} votes are near the label, but not"
            f" the same (correlation {near:.2f}), and no expert is right on half of the items; linmax"
            " predicts classes, so write ranges, such as 20-29; or texts, such as code 20, if these are"
            " classes",
        )  # fmt: skip


def _results(votes: Votes, labels: Codes, classes: int) -> Iterator[DataWarning]:
    """Warn about a column that says whether another is right: with two classes, both give away the label."""
    if classes != 2 or not 2 <= len(votes) <= MAX_PAIRED:
        return
    labels = labels[:MAX_COMPARED]
    table = np.full((len(votes), len(labels)), -1, np.int64)
    for row, (item, code) in zip(table, votes.values(), strict=True):
        row[item[item < len(labels)]] = code[item < len(labels)]
    for (a, left), (b, right) in combinations(zip(votes, table, strict=True), 2):
        known = (left >= 0) & (right >= 0) & (labels >= 0)
        odd = (left + right + labels)[known] % 2
        if len(odd) < LEAK_ITEMS or (odd != odd[0]).any():
            continue
        if all(np.ptp(one[known]) for one in (left, right, labels)):
            yield DataWarning(
                "possible-leak", "grave",
                f"{short_repr(b)} says on all {len(odd):,} items whether {short_repr(a)} is right (or the"
                f" other way round), so both give away the label; pass --ignore {shlex.quote(str(b))}, or"
                f" --ignore {shlex.quote(str(a))} if this one was made from the label",
            )  # fmt: skip


def _leaks(errors: dict[Any, tuple[float, int]]) -> Iterator[DataWarning]:
    """Warn about an expert that is nearly always right, unlike all others."""
    best = sorted(rate for rate, _ in errors.values())[:2]
    for expert, (rate, items) in errors.items():
        others = best[1:] if rate == best[0] else best[:1]
        if 1.0 - rate >= LEAK_ACCURACY and (not others or others[0] >= LEAK_RATIO * max(rate, 1.0 / items)):
            yield DataWarning(
                "possible-leak", "grave",
                f"{short_repr(expert)} is right on {1.0 - rate:.1%} of {items:,} items, no other nearly so"
                f" often; if it was made from the label, pass --ignore {shlex.quote(str(expert))}, and if"
                " not, name the experts with --experts",
            )  # fmt: skip
