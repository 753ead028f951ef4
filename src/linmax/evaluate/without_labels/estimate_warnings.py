"""What stands against an estimate without labels, or limits it."""

from __future__ import annotations

import numpy as np

from linmax.evaluate.without_labels.agreement import Alpha
from linmax.evaluate.without_labels.vote_table import Codes, VoteTable
from linmax.validation import DataWarning, count_noun

FEWEST_EXPERTS = 3
"""With fewer experts, agreement cannot be told from accuracy."""
FEWEST_ITEMS = 20
"""With fewer items with two votes, no accuracy is estimated."""
FEW_ITEMS = 100
"""With fewer items with two votes, intervals are wide and optimistic."""
FEWEST_VOTES = 10
"""With fewer votes, an expert has no estimate of its own."""
WEAK_ALPHA = 0.2
"""With a smaller alpha, the experts hardly agree more than by chance."""
ONE_CLASS_VOTES = 0.5
"""The largest share of the votes that may come from experts that vote for one class only."""
SHOWN_NAMES = 6
"""Names of experts in a warning."""

DEPENDENT = DataWarning(
    "dependent-errors",
    "note",
    "Experts err on the same items much more often than independent errors would, so the true accuracies are"
    " probably well below these estimates: read each one as an upper limit",
)


def warnings_before(table: VoteTable, counted: VoteTable, alpha: Alpha, original: Codes) -> list[DataWarning]:
    """Return what stands against an estimate, or limits it, before it is made.

    Parameters
    ----------
    table : VoteTable
        All votes.
    counted : VoteTable
        The votes without those of copies.
    alpha : Alpha
        The agreement.
    original : ndarray of int64, shape (experts,)
        The expert that is counted instead of each one, as `copied_experts` returns it.

    Returns
    -------
    warnings : list of DataWarning
        The grave one, if there is one, comes first.
    """
    found: list[DataWarning] = []
    speaking = int((counted.votes_per_expert > 0).sum())
    copies = np.flatnonzero(original != np.arange(len(original)))
    if len(copies):
        found.append(DataWarning("copied-votes", "note", _describe_copies(table, original, copies)))
    grave: tuple[str, str] | None = None
    if not table.votes:
        grave = "no-votes", "There are no votes, so nothing can be estimated"
    elif len(np.unique(table.label)) == 1:
        name = table.classes[int(table.label[0])]
        grave = "single-class", f"All votes are for {name!r}, so nothing can be estimated"
    elif speaking < FEWEST_EXPERTS:
        left = f"{count_noun(speaking, 'expert')} with votes of {'their' if speaking > 1 else 'its'} own"
        grave = (
            "few-experts",
            f"There {'are' if speaking > 1 else 'is'} only {left}: with fewer than {FEWEST_EXPERTS}, nothing"
            " can be said about accuracy without labels",
        )
    elif not alpha.items:
        grave = "no-overlap", "No item has votes of two experts, so nothing can be estimated without labels"
    elif _one_class_votes(counted) > ONE_CLASS_VOTES:
        grave = (
            "one-class-experts",
            f"{_one_class_votes(counted):.0%} of the votes come from experts that vote for one class only,"
            " such as rules: the model, which does not use abstentions, learns nothing from them",
        )
    elif alpha.alpha < 0.0:
        grave = (
            "no-agreement",
            f"The experts agree less than by chance (alpha {alpha.alpha:.2f}): no accuracy can be estimated"
            " from such votes; label some items, or check that all experts name classes alike",
        )
    if grave is not None:
        return [DataWarning(grave[0], "grave", grave[1]), *found]
    if alpha.alpha < WEAK_ALPHA:
        text = (
            f"The experts hardly agree more than by chance (alpha {alpha.alpha:.2f}), so estimates are weak"
        )
        found.append(DataWarning("weak-agreement", "note", text))
    if alpha.items < FEW_ITEMS:
        result = "no accuracy is estimated" if alpha.items < FEWEST_ITEMS else "estimates are imprecise"
        text = f"Only {alpha.items} items have two or more votes, so {result}"
        found.append(DataWarning("few-items", "note", text))
    return found


def _one_class_votes(table: VoteTable) -> float:
    """Return the share of the votes that come from experts with several votes, all for one class."""
    k, votes = len(table.classes), table.votes_per_expert
    cells = np.unique(table.expert * k + table.label)
    constant = (np.bincount(cells // k, minlength=len(votes)) == 1) & (votes >= FEWEST_VOTES)
    return float(votes[constant].sum()) / max(table.votes, 1)


def _describe_copies(table: VoteTable, original: Codes, copies: Codes) -> str:
    pairs = [f"{table.experts[i]!r} like {table.experts[original[i]]!r}" for i in copies[:SHOWN_NAMES]]
    more = f" and {len(copies) - SHOWN_NAMES} more" if len(copies) > SHOWN_NAMES else ""
    return (
        f"Some experts vote nearly alike ({', '.join(pairs)}{more}): they may copy each other, so each such"
        " group is counted as one expert in the estimate"
    )
