"""What can be said without labels: agreement, an estimate of accuracies, and which items to label next."""

from linmax.evaluate.without_labels.agreement import Alpha, krippendorff_alpha
from linmax.evaluate.without_labels.dawid_skene_em import DawidSkene, dawid_skene
from linmax.evaluate.without_labels.next_items import NextItem, next_to_label
from linmax.evaluate.without_labels.unlabelled_estimate import UnlabelledEstimate, estimate
from linmax.evaluate.without_labels.vote_table import VoteTable, vote_table

__all__ = [
    "Alpha",
    "DawidSkene",
    "NextItem",
    "UnlabelledEstimate",
    "VoteTable",
    "dawid_skene",
    "estimate",
    "krippendorff_alpha",
    "next_to_label",
    "vote_table",
]
