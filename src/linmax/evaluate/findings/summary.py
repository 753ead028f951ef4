"""`summarize`: the `Findings` of an audited run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linmax.bounds import Case, mistake_bound, tightest
from linmax.bounds.certificate import comparator_kind, fit_comparator
from linmax.evaluate import experts as measures
from linmax.evaluate.audit.audit import Audit
from linmax.evaluate.audit.baselines import compared_counts, find_baselines, last_half, plurality_mistakes
from linmax.evaluate.audit.counts import MistakeCounts
from linmax.evaluate.audit.sample import SampleRows
from linmax.evaluate.consultation import replay_sample
from linmax.evaluate.experts import Ablation, Trust
from linmax.evaluate.findings.decisions import summarize_decisions
from linmax.evaluate.findings.findings import (
    Agreement,
    BaselineComparison,
    CalibrationSummary,
    Confusion,
    CoveragePoint,
    Curves,
    ExpertSummary,
    Findings,
    ModelResult,
    TrustHistory,
)
from linmax.evaluate.findings.verdict import (
    DROP_MARGIN,
    MIN_COVERAGE,
    MIN_ITEMS,
    Baseline,
    can_be_dropped,
    judge,
)
from linmax.evaluate.metrics import LINMAX
from linmax.evaluate.progressive import mistakes_in_hindsight
from linmax.fusion import Fusion
from linmax.svm import instances
from linmax.techniques import recommended
from linmax.validation import DataWarning

MAX_BOUND_ITEMS = 2000
"""The comparator of the bound takes long to compute for more items."""
MAX_AGREEMENT_EXPERTS = 40
"""Experts in the table of agreement: those that vote most often."""
MAX_CONFUSION_CLASSES = 20
"""Classes in the confusion table: those with the most items."""
SHOWN_ORDERED = 6
"""Ordered classes that are named."""
COVERAGE_LEVELS = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05)
"""Fractions of the items for which the coverage curve has a point."""


def summarize(
    audit: Audit,
    fusion: Fusion,
    *,
    file: str = "",
    source: str = "",
    prices: Mapping[Any, float] | None = None,
    warnings: Sequence[DataWarning] = (),
    schema: Mapping[str, Any] | None = None,
    repeated: bool = False,
    ablation: bool = True,
    consult: bool = False,
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
    warnings : sequence of DataWarning
        What is wrong or noteworthy about the data. With a grave warning there is no verdict.
    schema : mapping, optional
        The roles of the columns, which the findings pass on.
    repeated : bool, default=False
        Whether the session had learned these items before; this is a grave warning.
    ablation : bool, default=True
        Whether to measure the accuracy without each expert, which takes a while.
    consult : bool, default=False
        Whether to replay consultations, with the weights at the end.
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
    >>> run = ResumableRun(Fusion(Winnow(1.5)), open_stream(io.BytesIO(text), label="truth"))
    >>> for learned in run:
    ...     pass
    >>> found = summarize(run.audit, run.fusion)
    >>> [(result.name, result.detail, result.mistakes) for result in found.results]
    [('linmax', 'Winnow(1.5)', 2), ('plurality', '', 60.0), ('best expert', 'bob', 0), ...]
    >>> found.verdict, found.decision
    ('no significant difference', 'Do not switch yet: linmax makes 2 errors and the best alternative, ...')
    >>> found.experts[0].name, found.experts[0].reading
    ('bob', 'as voted')
    """
    audit.wait()
    rows = audit.sample.rows()
    sampled, ablation_items = 0, 0
    trusts: list[Trust] = []
    ablations: list[Ablation] = []
    if rows is not None:
        sampled, trusts = len(rows.row), measures.trust_of_codes(fusion, rows.votes, rows.truth)
        if ablation and not fusion.decisions.decides:
            ablation_items, ablations = measures.ablate_each(fusion, rows, on_progress=on_progress)
    audit.counts.grow(len(fusion.experts))
    audit.class_counts.grow(len(fusion.experts), fusion.classes)
    experts = _experts(audit, fusion, trusts, ablations, prices or {})
    order = [fusion.experts.index(expert.name) for expert in experts]
    baselines = find_baselines(audit, fusion.experts, compared_counts(audit))
    late = last_half(audit)
    late_baselines = find_baselines(audit, fusion.experts, late)
    labels = [fusion.classes[code] for code in sorted({truth for truth, _ in audit.confusion})]
    found = _warnings(audit, labels, list(warnings), repeated)
    verdict, decision = judge(
        baselines, found, trials=audit.counts.trials, classes=labels, unlabelled=audit.unlabelled,
        by_cost=fusion.decisions.decides,
    )  # fmt: skip
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
        results=_results(audit, fusion, baselines, late, late_baselines, rows),
        comparisons=[
            BaselineComparison(one.name, one.detail, part, one.gain)
            for part, found in (("all", baselines), ("last half", late_baselines))
            for one in found
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
        notes=_notes(audit, fusion, sampled, ablation_items),
        verdict=verdict,
        decision=decision,
        warnings=found,
        accuracy=_fraction(audit.counts.correct[0], audit.counts.trials) if audit.counts.trials else None,
        baselines=baselines,
        metrics=audit.class_counts.metrics(LINMAX),
        calibration=_calibration(audit, fusion),
        decisions=summarize_decisions(fusion, rows, audit.answers),
        consultations=replay_sample(fusion, rows.chunk, prices or {}) if consult and rows else None,
        schema=dict(schema or {}),
    )


def _warnings(audit: Audit, labels: list[Any], given: list[DataWarning], repeated: bool) -> list[DataWarning]:
    """Return the warnings, the grave ones first, with those that the counts themselves give rise to."""
    trials, found = audit.counts.trials, list(given)
    codes = {one.code for one in given}
    if repeated and "learned-before" not in codes:
        text = "the model has learned these items before, so its accuracy says nothing about new ones"
        found.append(DataWarning("learned-before", "grave", text))
    if len(labels) == 1 and "single-class" not in codes:
        found.append(DataWarning("single-class", "note", f"all labels are {labels[0]!r}"))
    if 0 < trials < MIN_ITEMS and "few-items" not in codes:
        text = f"there are only {trials} labelled items, and at least {MIN_ITEMS} are needed for a verdict"
        found.append(DataWarning("few-items", "note", text))
    return sorted(found, key=lambda one: one.severity != "grave")


def _results(
    audit: Audit,
    fusion: Fusion,
    baselines: list[Baseline],
    late: MistakeCounts,
    late_baselines: list[Baseline],
    rows: SampleRows | None,
) -> list[ModelResult]:
    counts = audit.counts
    learner = "recommended()" if fusion.learner == recommended() else repr(fusion.learner)
    results = [
        ModelResult(
            "linmax", learner, counts.trials, int(counts.mistakes[0]),
            _fraction(counts.correct[0], counts.trials), _fraction(late.correct[0], late.trials),
        )
    ]  # fmt: skip
    late_accuracy = {one.name: one.accuracy for one in late_baselines}
    results += [
        ModelResult(one.name, one.detail, one.trials, one.mistakes, one.accuracy, late_accuracy.get(one.name))
        for one in baselines
    ]
    if rows is not None and counts.best_expert is not None and len(fusion.classes) > 1:
        trials, mistakes = mistakes_in_hindsight(rows.votes, rows.truth, len(fusion.classes))
        detail = "one per expert, fitted to all labels"
        accuracy = _fraction(trials - mistakes, trials)
        results.append(ModelResult("best fixed weights", detail, trials, mistakes, accuracy, None))
    return results


def _calibration(audit: Audit, fusion: Fusion) -> CalibrationSummary | None:
    linmax = audit.calibration.result(0)
    if linmax is None:
        return None
    return CalibrationSummary(linmax, audit.calibration.result(1) if fusion.experts else None)


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
                loss=ablation.loss if ablation else None,
                can_be_dropped=can_be_dropped(ablation.loss if ablation else None),
                price=prices.get(name, prices.get(str(name))),
            )
        )
    return sorted(found, key=lambda one: (-one.trust, -one.accuracy_all))


def _positive(one: Trust) -> float:
    """Return the contribution, or 0 if it is negative or not finite."""
    return one.contribution if 0.0 < one.contribution < float("inf") else 0.0


def _reading(one: Trust | None, trust: float) -> str:
    if one is None or (trust <= 0.0 and not one.mapping):
        return "not measured"
    if trust <= 0.0:
        return "ignored"
    remapped = sum(vote != label for vote, label in one.mapping.items())
    return "as voted" if 2 * remapped <= len(one.mapping) else "remapped"


def _curves(audit: Audit, order: list[int]) -> Curves:
    snapshots = audit.history.with_end()
    wrong = [np.zeros(len(audit.counts.voted), np.int64) for _ in snapshots]
    for row, (_, counts) in zip(wrong, snapshots, strict=True):  # experts come later, too
        row[: len(counts.voted)] = counts.expert_mistakes
    best = compared_counts(audit).best_where_it_votes(MIN_COVERAGE)
    return Curves(
        items=[items for items, _ in snapshots],
        trials=[counts.trials for _, counts in snapshots],
        linmax=[int(counts.mistakes[0]) for _, counts in snapshots],
        plurality=[round(plurality_mistakes(audit, counts), 6) for _, counts in snapshots],
        best=[
            counts.trials if best is None else int(one[best])
            for one, (_, counts) in zip(wrong, snapshots, strict=True)
        ],
        experts=[[int(one[i]) for one in wrong] for i in order],
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
    shown, table = measures.agreement_table(rows.votes, MAX_AGREEMENT_EXPERTS)
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
    if fusion.decisions.decides:
        return f"{mistakes}; no bound holds for predictions of least expected cost"
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
    truth = measures.decode_labels(fusion, rows.truth)
    found = instances(fusion, rows.chunk.votes, truth, rows.chunk.attributes)
    try:
        u = fit_comparator(comparator_kind(fusion.learner.rule), found, 1.0)
        value = mistake_bound(fusion.learner, tightest(fusion.learner, u, found)).value
    except ValueError as error:
        return f"no bound was found: {error}"
    if value is None:
        return "its bound says nothing on this panel"
    return f"its bound, for the best weights in hindsight, is {value:,.0f}"


def _notes(audit: Audit, fusion: Fusion, sampled: int, ablation_items: int) -> list[str]:
    notes = []
    if fusion.decisions.decides:
        notes.append(
            "Predictions have the least expected cost, so that others may be right more often and cost more."
            " No expert was left out to see what it contributes, because that is measured in errors."
        )
    if audit.compared_from.trials:
        notes.append(
            f"The run was resumed from a checkpoint of an earlier version: the baselines are compared on the"
            f" {audit.counts.trials - audit.compared_from.trials:,} labelled items since."
        )
    ordered = [str(fusion.classes[code]) for code in audit.class_counts.ordered]
    if ordered:
        names = ordered if len(ordered) <= SHOWN_ORDERED else [*ordered[: SHOWN_ORDERED - 1], ordered[-1]]
        shown = " < ".join(names[:-1]) + (" < ... < " if names != ordered else " < ") + names[-1]
        notes.append(
            f"The mean absolute error takes the classes as ordered, because all are numbers: {shown}."
        )
    if sampled < audit.counts.trials:
        notes.append(
            f"Trust, agreement and coverage are measured on an even sample of {sampled:,} of the"
            f" {audit.counts.trials:,} labelled items."
        )
    if ablation_items:
        which = f"the first {ablation_items:,} of these" if ablation_items < sampled else "the same"
        notes.append(
            f"The accuracy without an expert is measured on {which} labelled items, by a new session that"
            " knows all classes, for one expert at a time. An expert can be dropped if the 95 % interval of"
            f" the loss is below {100 * DROP_MARGIN:g} percentage point."
        )
    return notes


def _fraction(part: Any, whole: Any) -> float:
    return float(part) / float(whole) if whole else float("nan")
