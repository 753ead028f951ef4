"""linmax for River: fuse the votes of River models, or learn from feature dicts; needs `linmax[river]`."""

from linmax.validation import require_extra

require_extra("river", "river", "linmax.adapters.river")

from linmax.adapters.river.classifiers import FusionClassifier, LinearMaxClassifier  # noqa: E402

__all__ = ["FusionClassifier", "LinearMaxClassifier"]
