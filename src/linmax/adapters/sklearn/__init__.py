"""linmax for scikit-learn: classifiers on estimators, attributes, or votes; needs `linmax[sklearn]`."""

from linmax.validation import require_extra

require_extra("sklearn", "sklearn", "linmax.adapters.sklearn")

from linmax.adapters.sklearn.fusion import FusionClassifier  # noqa: E402
from linmax.adapters.sklearn.linear import LinearMaxClassifier  # noqa: E402
from linmax.adapters.sklearn.votes import VoteClassifier  # noqa: E402

__all__ = ["FusionClassifier", "LinearMaxClassifier", "VoteClassifier"]
