"""`summarize`: the `Findings` of an audited run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linmax.bounds import Case, mistake_bound, tightest
from linmax.evaluate.audit import Audit
from linmax.evaluate.counts import MistakeCounts
from linmax.evaluate.experts import Ablation, Trust, ablate_each, decode_labels, trust_of_codes
from linmax.evaluate.findings import (
    Agreement,
    BaselineComparison,
    Confusion,
    CoveragePoint,
    Curves,
    ExpertSummary,
    Findings,
    ModelResult,
    TrustHistory,
)
from linmax.evaluate.progressive import mistakes_in_hindsight
from linmax.evaluate.sample import SampleRows
from linmax.evaluate.significance import gain
from linmax.fusion import Fusion
from linmax.rules.winnow import Winnow
from linmax.svm import comparator, instances, simplex_comparator
from linmax.techniques import recommended

MAX_BOUND_ITEMS = 2000
"""The comparator of the bound takes long to compute for more items."""
MAX_AGREEMENT_EXPERTS = 40
"""Experts in the table of agreement: those that vote most often."""
MAX_CONFUSION_CLASSES = 20
"""Classes in the confusion table: those with the most items."""
COVERAGE_LEVELS = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05)
"""Fractions of the items for which the coverage curve has a point."""


def summarize(
    audit: Audit,
    fusion: Fusion,
    *,
    file: str = "",
    source: str = "",
    prices: Mapping[Any, float] | None = None,
    data_warnings: list[str] | None = None,
    repeated: bool = False,
    ablation: bool = True,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Findings:
    """Summarize an audited run.

    Parameters
    ----------
    audit : Audit
        The audit of the run.
    fusion : Fusion
        The session that has learned the stream.
    file, source : str
        The name of the file, and what was read, in a sentence.
    prices : mapping, optional
        What it costs to ask an expert, by name.
    data_warnings : list of str, optional
        What looks suspicious in the file.
    repeated : bool, default=False
        Whether the session had learned these items before.
    ablation : bool, default=True
        Whether to measure the accuracy without each expert, which takes a while.
    on_progress : callable
        Called during ablation with the number of runs done and of all runs.

    Returns
    -------
    findings : Findings
        The results.

    Examples
    --------
    >>> import io
    >>> from linmax import Winnow
    >>> from linmax.evaluate import ResumableRun, summarize
    >>> from linmax.streams import open_stream
    >>> text = b"ann,bob,eve,truth\\n" + b"a,b,a,b\\nb,a,b,a\\na,a,b,a\\nb,b,a,b\\n" * 30
    >>> run = ResumableRun(Fusion(Winnow(1.5)), open_stream(io.BytesIO(text)))
    >>> for learned in run:
    ...     pass
    >>> found = summarize(run.audit, run.fusion)
    >>> [(result.name, result.detail, result.mistakes) for result in found.results]
    [('linmax', 'Winnow(1.5)', 2), ('plurality', '', 60), ('best expert', 'bob', 0), ...]
    >>> found.experts[0].name, found.experts[0].reading
    ('bob', 'as voted')
    """
    audit.wait()
    rows = audit.sample.rows()
    sampled, ablation_items = 0, 0
    trusts: list[Trust] = []
    ablations: list[Ablation] = []
    if rows is not None:
        sampled, trusts = len(rows.row), trust_of_codes(fusion, rows.votes, rows.truth)
        if ablation:
            ablation_items, ablations = ablate_each(fusion, rows, on_progress=on_progress)
    audit.counts.grow(len(fusion.experts))
    experts = _experts(audit, fusion, trusts, ablations, prices or {})
    order = [fusion.experts.index(expert.name) for expert in experts]
    last_half = _last_half(audit)
    return Findings(
        file=file,
        learner=repr(fusion.learner),
        source=source,
        items=audit.items,
        trials=audit.counts.trials,
        unlabelled=audit.unlabelled,
        novel=audit.novel,
        repeated=repeated,
        sampled=sampled,
        classes=fusion.classes,
        results=_results(audit, fusion, last_half, rows),
        comparisons=[
            *_comparisons(fusion, "all", audit.counts),
            *_comparisons(fusion, "last half", last_half),
        ],
        experts=experts,
        curves=_curves(audit, order),
        trust_history=_trust_history(audit, order),
        confusion=_confusion(audit, fusion),
        agreement=_agreement(fusion, rows),
        coverage=_coverage(rows),
        hardest=audit.hardest.items,
        next_labels=audit.uncertain.items,
        milestones=audit.milestones,
        bound=_bound(audit, fusion, rows),
        members=fusion.members,
        data_warnings=data_warnings or [],
        notes=_notes(audit, sampled, ablation_items),
    )


def _last_half(audit: Audit) -> MistakeCounts:
    """Return the counts since the last snapshot before the middle of the stream."""
    first_half = [counts for items, counts in audit.history.snapshots if 2 * items <= audit.items]
    return audit.counts.since(first_half[-1] if first_half else MistakeCounts())


def _baselines(fusion: Fusion, counts: MistakeCounts) -> list[tuple[int, str, str]]:
    """Return the columns, names and details of the plurality and the best expert, if there are experts."""
    best = counts.best_expert
    if best is None:
        return []
    name = str(fusion.experts[best - counts.first_expert])
    return [(counts.plurality, "plurality", ""), (best, "best expert", name)]


def _results(
    audit: Audit, fusion: Fusion, last_half: MistakeCounts, rows: SampleRows | None
) -> list[ModelResult]:
    counts = audit.counts
    learner = "recommended()" if fusion.learner == recommended() else repr(fusion.learner)
    results = [
        ModelResult(
            name, detail, counts.trials, int(counts.mistakes[column]),
            _fraction(counts.correct[column], counts.trials),
            _fraction(last_half.correct[column], last_half.trials),
        )
        for column, name, detail in [(0, "linmax", learner), *_baselines(fusion, counts)]
    ]  # fmt: skip
    if rows is not None and counts.best_expert is not None and len(fusion.classes) > 1:
        trials, mistakes = mistakes_in_hindsight(rows.votes, rows.truth, len(fusion.classes))
        detail = "fixed weights of the votes, fitted to all labels"
        accuracy = _fraction(trials - mistakes, trials)
        results.append(ModelResult("best in hindsight", detail, trials, mistakes, accuracy, None))
    return results


def _comparisons(fusion: Fusion, part: str, counts: MistakeCounts) -> list[BaselineComparison]:
    found = []
    for column, name, detail in _baselines(fusion, counts):
        both = int(counts.both_correct[column])
        difference = gain(counts.trials, int(counts.correct[0]) - both, int(counts.correct[column]) - both)
        found.append(BaselineComparison(name, detail, part, difference))
    return found


def _experts(
    audit: Audit, fusion: Fusion, trusts: list[Trust], ablations: list[Ablation], prices: Mapping[Any, float]
) -> list[ExpertSummary]:
    counts = audit.counts
    total = sum(_positive(one) for one in trusts) or 1.0
    trust_by_name = {one.expert: one for one in trusts}
    ablation_by_name = {one.expert: one for one in ablations}
    found = []
    for i, name in enumerate(fusion.experts):
        correct, voted = int(counts.correct[counts.first_expert + i]), int(counts.voted[i])
        one, ablation = trust_by_name.get(name), ablation_by_name.get(name)
        trust = _positive(one) / total if one else 0.0
        square_loss, log_loss = audit.losses.means(i) or (None, None)
        found.append(
            ExpertSummary(
                name=name,
                accuracy=_fraction(correct, voted) if voted else None,
                vote_rate=_fraction(voted, counts.trials),
                accuracy_all=_fraction(correct, counts.trials),
                trust=trust,
                reading=_reading(one, trust),
                square_loss=square_loss,
                log_loss=log_loss,
                ablated_accuracy=ablation.accuracy if ablation else None,
                accuracy_drop=ablation.accuracy_drop if ablation else None,
                price=prices.get(name, prices.get(str(name))),
            )
        )
    return sorted(found, key=lambda one: (-one.trust, -one.accuracy_all))


def _positive(one: Trust) -> float:
    """Return the contribution, or 0 if it is negative or not finite."""
    return one.contribution if 0.0 < one.contribution < float("inf") else 0.0


def _reading(one: Trust | None, trust: float) -> str:
    if one is None or trust <= 0.0:
        return "ignored"
    remapped = sum(vote != label for vote, label in one.mapping.items())
    return "as voted" if 2 * remapped <= len(one.mapping) else "remapped"


def _curves(audit: Audit, order: list[int]) -> Curves:
    snapshots = audit.history.with_end()
    mistakes = [counts.mistakes for _, counts in snapshots]
    plurality, first = audit.counts.plurality, audit.counts.first_expert
    return Curves(
        items=[items for items, _ in snapshots],
        trials=[counts.trials for _, counts in snapshots],
        linmax=[int(one[0]) for one in mistakes],
        plurality=[int(one[plurality]) for one in mistakes],
        best=[
            int(one[first:].min(initial=counts.trials))
            for one, (_, counts) in zip(mistakes, snapshots, strict=True)
        ],
        experts=[[int(one[first + i]) for one in mistakes] for i in order],
    )


def _trust_history(audit: Audit, order: list[int]) -> TrustHistory:
    table = np.zeros((len(audit.trust), len(order)))
    for row, (_, contributions) in zip(table, audit.trust, strict=True):
        row[: len(contributions)] = np.maximum(contributions, 0.0)[: len(order)]
    table /= np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    return TrustHistory([items for items, _ in audit.trust], [table[:, i].tolist() for i in order])


def _confusion(audit: Audit, fusion: Fusion) -> Confusion:
    items: dict[int, int] = {}
    for pair, count in audit.confusion.items():
        for code in pair:
            items[code] = items.get(code, 0) + count
    shown = sorted(sorted(items, key=lambda code: -items[code])[:MAX_CONFUSION_CLASSES])
    index = {code: i for i, code in enumerate(shown)}
    table = [[0] * len(shown) for _ in shown]
    omitted = 0
    for (truth, guess), count in audit.confusion.items():
        if truth in index and guess in index:
            table[index[truth]][index[guess]] += count
        else:
            omitted += count
    return Confusion([fusion.classes[code] for code in shown], table, omitted)


def _agreement(fusion: Fusion, rows: SampleRows | None) -> Agreement:
    if rows is None or rows.votes.shape[1] < 2:
        return Agreement([], [])
    voted = np.count_nonzero(rows.votes >= 0, axis=0)
    shown = np.sort(np.argsort(-voted, kind="stable")[:MAX_AGREEMENT_EXPERTS])
    votes = np.ascontiguousarray(rows.votes[:, shown].T)
    present = votes >= 0
    table: list[list[float | None]] = []
    for own, own_present in zip(votes, present, strict=True):
        same = np.count_nonzero((own == votes) & own_present, axis=1)
        together = np.count_nonzero(own_present & present, axis=1)
        table.append([float(s / t) if t else None for s, t in zip(same, together, strict=True)])
    return Agreement([fusion.experts[i] for i in shown], table)


def _coverage(rows: SampleRows | None) -> list[CoveragePoint]:
    """Return the coverage curve; items with equal margins count as equally likely to be answered."""
    if rows is None:
        return []
    margin = np.nan_to_num(rows.margin, nan=-1.0)
    order = np.argsort(-margin, kind="stable")
    margin, correct = margin[order], np.append(0, np.cumsum(rows.truth[order] == rows.guess[order]))
    found = []
    for answered in dict.fromkeys(round(level * len(order)) for level in COVERAGE_LEVELS):
        if answered:
            least = margin[answered - 1]
            begin, end = np.searchsorted(-margin, -least, "left"), np.searchsorted(-margin, -least, "right")
            tied = (answered - begin) / (end - begin) * (correct[end] - correct[begin])
            accuracy = float(correct[begin] + tied) / answered
            found.append(CoveragePoint(answered / len(order), accuracy, max(float(least), 0.0)))
    return found


def _bound(audit: Audit, fusion: Fusion, rows: SampleRows | None) -> str:
    """Return the number of mistakes and its bound, in a sentence."""
    counts = audit.counts
    mistakes = f"{int(counts.mistakes[0]):,} mistakes on {counts.trials:,} items"
    if fusion.members:
        return f"{mistakes}; no bound is known for an ensemble as a whole"
    return f"{mistakes}; {_bound_of(fusion, counts.trials, rows)}"


def _bound_of(fusion: Fusion, trials: int, rows: SampleRows | None) -> str:
    known = mistake_bound(fusion.learner, Case(n=10, delta=0.1))
    if known.value is None:
        reason = known.reason.partition("; register")[0]
        return reason if reason.startswith("no bound") else f"no bound is known: {reason}"
    if rows is None or trials > MAX_BOUND_ITEMS or len(rows.row) < trials:
        return (
            f"the bound is computed for up to {MAX_BOUND_ITEMS} items"
            " (linmax bounds --panel computes it for more)"
        )
    found = instances(fusion, rows.chunk.votes, decode_labels(fusion, rows.truth), rows.chunk.attributes)
    try:
        u = simplex_comparator(found) if isinstance(fusion.learner.rule, Winnow) else comparator(found)
        value = mistake_bound(fusion.learner, tightest(fusion.learner, u, found)).value
    except ValueError as error:
        return f"no bound was found: {error}"
    if value is None:
        return "its bound says nothing on this panel"
    return f"its bound, for the best weights in hindsight, is {value:,.0f}"


def _notes(audit: Audit, sampled: int, ablation_items: int) -> list[str]:
    notes = []
    if sampled < audit.counts.trials:
        notes.append(
            f"Trust, agreement and coverage are measured on an even sample of {sampled:,} of the"
            f" {audit.counts.trials:,} labelled items."
        )
    if ablation_items:
        which = f"the first {ablation_items:,} of these" if ablation_items < sampled else "the same"
        notes.append(
            f"The accuracy without an expert is measured on {which} labelled items, by a new session that"
            " knows all classes, for one expert at a time."
        )
    return notes


def _fraction(part: Any, whole: Any) -> float:
    return float(part) / float(whole) if whole else float("nan")
