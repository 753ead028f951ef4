"""linmax for scikit-learn: classifiers that fuse estimators, read attributes, or read a matrix of votes."""

from linmax.adapters.sklearn.fusion import FusionClassifier
from linmax.adapters.sklearn.linear import LinearMaxClassifier
from linmax.adapters.sklearn.votes import VoteClassifier

__all__ = ["FusionClassifier", "LinearMaxClassifier", "VoteClassifier"]
