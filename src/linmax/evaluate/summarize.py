"""What theory promises, where it promises anything and the promise can be worked out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linmax.bounds import Case, promise, tightest
from linmax.evaluate.audit import Audit
from linmax.evaluate.compare import gain
from linmax.evaluate.counts import EXPERTS, LINMAX, PLURALITY, Counts
from linmax.evaluate.experts import Trust, Without, named, trusted, without_each
from linmax.evaluate.findings import (
    Agreement,
    Confusion,
    Coverage,
    Curves,
    Expert,
    Findings,
    Shares,
    Standing,
    Versus,
)
from linmax.evaluate.progressive import in_hindsight
from linmax.evaluate.sample import Rows
from linmax.fusion import Fusion
from linmax.rules.winnow import Winnow
from linmax.svm import comparator, instances, simplex_comparator

MOST = 2000  # items: the comparator of more takes long to find


def promised(fusion: Fusion, trials: int, rows: Rows | None) -> str:
    """How many mistakes there could have been at most on all trials, or why nobody knows."""
    known = promise(fusion.learner, Case(n=10, delta=0.1))
    if known.value is None:
        reason = known.reason.partition("; register")[0]
        return reason if reason.startswith("no bound") else f"no bound is known: {reason}"
    if rows is None or trials > MOST or len(rows.row) < trials:
        return f"the bound is worked out for up to {MOST} items (linmax bounds --panel does for more)"
    found = instances(fusion, rows.piece.votes, named(fusion, rows.truth), rows.piece.attributes)
    try:
        u = simplex_comparator(found) if isinstance(fusion.learner.rule, Winnow) else comparator(found)
        value = promise(fusion.learner, tightest(fusion.learner, u, found)).value
    except ValueError as error:
        return f"no bound was found: {error}"
    if value is None:
        return "on this panel its bound says nothing"
    return f"its bound, for the best weights in hindsight, is {value:,.0f}"


PAIRS = 40  # experts whose agreement is told: those who speak most
CLASSES = 20  # of a table of confusion
LEVELS = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05)


def sum_up(
    audit: Audit,
    fusion: Fusion,
    *,
    file: str = "",
    source: str = "",
    cost: Mapping[Any, float] | None = None,
    oddities: list[str] | None = None,
    again: bool = False,
    leave_out: bool = True,
    told: Callable[[int, int], None] = lambda done, of: None,
) -> Findings:
    """Everything a report tells of a pass; leaving out each expert in turn takes a while and is `told`.

    >>> import io
    >>> from linmax import Winnow
    >>> from linmax.evaluate.resumable_run import Pass
    >>> from linmax.streams import open_stream
    >>> text = b"ann,bob,eve,truth\\n" + b"a,b,a,b\\nb,a,b,a\\na,a,b,a\\nb,b,a,b\\n" * 30
    >>> done = Pass(Fusion(Winnow(1.5)), open_stream(io.BytesIO(text)))
    >>> for outcome in done:
    ...     pass
    >>> found = sum_up(done.audit, done.fusion)
    >>> [(one.name, one.who, one.mistakes) for one in found.standings]
    [('linmax', 'Winnow(1.5)', 2), ('plurality', '', 60), ('best expert', 'bob', 0), ...]
    >>> found.experts[0].name, found.experts[0].hears
    ('bob', 'as it says')
    """
    audit.settle()
    rows = audit.sample.rows()
    sampled = 0 if rows is None else len(rows.row)
    panel = [] if rows is None else trusted(fusion, rows.said, rows.truth)
    looked, dropped = without_each(fusion, rows, told=told) if rows is not None and leave_out else (0, [])
    experts = _experts(audit, fusion, panel, {one.expert: one for one in dropped}, cost or {})
    order = [fusion.experts.index(one.name) for one in experts]
    half = _half(audit)
    return Findings(
        file=file,
        learner=repr(fusion.learner),
        source=source,
        items=audit.items,
        trials=audit.counts.trials,
        unlabelled=audit.unlabelled,
        novel=audit.novel,
        again=again,
        sampled=sampled,
        classes=fusion.classes,
        standings=_standings(audit, fusion, half, rows),
        versus=[
            one
            for part, counts in (("all", audit.counts), ("last half", half))
            for one in _versus(fusion, part, counts)
        ],
        experts=experts,
        curves=_curves(audit, order),
        shares=_shares(audit, order),
        confusion=_confusion(audit, fusion),
        agreement=_agreement(fusion, rows),
        coverage=_coverage(rows),
        hardest=audit.hardest.items,
        next_labels=audit.doubtful.items,
        milestones=audit.milestones,
        promise=_promise(audit, fusion, rows),
        members=fusion.members,
        oddities=oddities or [],
        remarks=_remarks(audit, sampled, looked),
    )


def _promise(audit: Audit, fusion: Fusion, rows: Rows | None) -> str:
    made = f"{int(audit.counts.mistakes[LINMAX]):,} mistakes on {audit.counts.trials:,} items"
    if fusion.members:
        return f"{made}; no bound is known for this committee as a whole"
    pass  # scipy takes a while to import

    return f"{made}; {promised(fusion, audit.counts.trials, rows)}"


def _half(audit: Audit) -> Counts:
    """What was counted since the moment nearest to the middle of the stream."""
    before = [counts for at, counts in audit.moments if 2 * at <= audit.items]
    return audit.counts.since(before[-1] if before else Counts())


def _standings(audit: Audit, fusion: Fusion, half: Counts, rows: Rows | None) -> list[Standing]:
    counts, leader = audit.counts, audit.counts.leader
    seats = [("linmax", _short(fusion), LINMAX), ("plurality", "", PLURALITY)]
    if not len(counts.spoke):
        seats = seats[:1]
    if leader is not None:
        seats.append(("best expert", str(fusion.experts[leader - EXPERTS]), leader))
    found = [
        Standing(
            name, who, counts.trials, int(counts.mistakes[seat]),
            _part(counts.right[seat], counts.trials), _part(half.right[seat], half.trials),
        )
        for name, who, seat in seats
    ]  # fmt: skip
    if rows is not None and leader is not None and len(fusion.classes) > 1:
        some, wrong = in_hindsight(rows.said, rows.truth, len(fusion.classes))
        who = "fixed weights for what they say, fitted to all labels"
        found.append(Standing("best in hindsight", who, some, wrong, _part(some - wrong, some), None))
    return found


def _versus(fusion: Fusion, part: str, counts: Counts) -> list[Versus]:
    others = [("plurality", "", PLURALITY)] if len(counts.spoke) else []
    if counts.leader is not None:
        others.append(("best expert", str(fusion.experts[counts.leader - EXPERTS]), counts.leader))
    return [
        Versus(
            name, who, part,
            gain(
                counts.trials,
                int(counts.right[LINMAX] - counts.both[seat]),
                int(counts.right[seat] - counts.both[seat]),
            ),
        )
        for name, who, seat in others
    ]  # fmt: skip


def _experts(
    audit: Audit, fusion: Fusion, panel: list[Trust], dropped: dict[Any, Without], cost: Mapping[Any, float]
) -> list[Expert]:
    counts = audit.counts
    counts.widen(len(fusion.experts))
    pull = sum(_positive(one) for one in panel) or 1.0
    by_name = {one.expert: one for one in panel}
    found = []
    for i, name in enumerate(fusion.experts):
        right, spoke = int(counts.right[EXPERTS + i]), int(counts.spoke[i])
        one, absent, losses = by_name.get(name), dropped.get(name), audit.losses.of(i)
        trust = _positive(one) / pull if one else 0.0
        found.append(
            Expert(
                name, _part(right, spoke) if spoke else None, _part(spoke, counts.trials),
                _part(right, counts.trials), trust, _hears(one, trust),
                losses[0] if losses else None, losses[1] if losses else None,
                absent.accuracy if absent else None, absent.costs if absent else None,
                cost.get(name, cost.get(str(name))),
            )
        )  # fmt: skip
    return sorted(found, key=lambda one: (-one.trust, -one.right))


def _positive(one: Trust) -> float:
    return one.pull if 0.0 < one.pull < float("inf") else 0.0


def _hears(one: Trust | None, trust: float) -> str:
    if one is None or trust <= 0.0:
        return "not at all"
    other = sum(says != means for says, means in one.means.items())
    return "as it says" if 2 * other <= len(one.means) else "otherwise"


def _curves(audit: Audit, order: list[int]) -> Curves:
    moments = list(audit.moments)
    if audit.items and (not moments or moments[-1][0] != audit.items):
        moments.append((audit.items, audit.counts.copy()))
    for _, counts in moments:
        counts.widen(len(order))
    missed = [counts.mistakes for _, counts in moments]
    return Curves(
        [at for at, _ in moments],
        [counts.trials for _, counts in moments],
        [int(one[LINMAX]) for one in missed],
        [int(one[PLURALITY]) for one in missed],
        [
            int(one[EXPERTS:].min(initial=counts.trials))
            for one, (_, counts) in zip(missed, moments, strict=True)
        ],
        [[int(one[EXPERTS + i]) for one in missed] for i in order],
    )


def _shares(audit: Audit, order: list[int]) -> Shares:
    table = np.zeros((len(audit.trust), len(order)))
    for row, (_, pull) in zip(table, audit.trust, strict=True):
        row[: len(pull)] = np.maximum(pull, 0.0)[: len(order)]
    table /= np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    return Shares([at for at, _ in audit.trust], [table[:, i].tolist() for i in order])


def _confusion(audit: Audit, fusion: Fusion) -> Confusion:
    weight: dict[int, int] = {}
    for (truth, guess), count in audit.confusion.items():
        for code in (truth, guess):
            weight[code] = weight.get(code, 0) + count
    shown = sorted(sorted(weight, key=lambda code: -weight[code])[:CLASSES])
    place = {code: at for at, code in enumerate(shown)}
    table = [[0] * len(shown) for _ in shown]
    others = 0
    for (truth, guess), count in audit.confusion.items():
        if truth in place and guess in place:
            table[place[truth]][place[guess]] += count
        else:
            others += count
    return Confusion([fusion.classes[code] for code in shown], table, others)


def _agreement(fusion: Fusion, rows: Rows | None) -> Agreement:
    if rows is None or rows.said.shape[1] < 2:
        return Agreement([], [])
    spoke = np.count_nonzero(rows.said >= 0, axis=0)
    shown = np.sort(np.argsort(-spoke, kind="stable")[:PAIRS])
    said = np.ascontiguousarray(rows.said[:, shown].T)
    speaks = said >= 0
    table: list[list[float | None]] = []
    for vote, speak in zip(said, speaks, strict=True):
        same = np.count_nonzero((vote == said) & speak, axis=1)
        times = np.count_nonzero(speak & speaks, axis=1)
        table.append([float(s / t) if t else None for s, t in zip(same, times, strict=True)])
    return Agreement([fusion.experts[i] for i in shown], table)


def _coverage(rows: Rows | None) -> list[Coverage]:
    """Items of the same margin are as likely to be answered: which of them comes first means nothing."""
    if rows is None:
        return []
    margin = np.nan_to_num(rows.margin, nan=-1.0)
    order = np.argsort(-margin, kind="stable")
    margin, right = margin[order], np.append(0, np.cumsum(rows.truth[order] == rows.guess[order]))
    found = []
    for answered in dict.fromkeys(round(level * len(order)) for level in LEVELS):
        if answered:
            least = margin[answered - 1]
            begin, end = np.searchsorted(-margin, -least, "left"), np.searchsorted(-margin, -least, "right")
            tied = (answered - begin) / (end - begin) * (right[end] - right[begin])
            part = answered / len(order)
            found.append(Coverage(part, float(right[begin] + tied) / answered, max(float(least), 0.0)))
    return found


def _remarks(audit: Audit, sampled: int, looked: int) -> list[str]:
    found = []
    if sampled < audit.counts.trials:
        found.append(
            f"Trust, agreement and coverage are those of {sampled} of the {audit.counts.trials} labelled"
            " items, evenly spread."
        )
    if looked:
        which = f"the first {looked:,} of these" if looked < sampled else "the same"
        found.append(
            f"What is lost without an expert was tried on {which} labelled items, by a new session that knows"
            " all classes, one expert at a time."
        )
    return found


def _part(some: Any, whole: Any) -> float:
    return float(some) / float(whole) if whole else float("nan")


def _short(fusion: Fusion) -> str:
    from linmax.techniques import recommended

    return "recommended()" if fusion.learner == recommended() else repr(fusion.learner)
