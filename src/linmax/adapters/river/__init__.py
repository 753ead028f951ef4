"""linmax for River: models as experts, and the linear machine on feature dicts; needs `linmax[river]`."""

try:
    import river as _river  # noqa: F401
except ImportError as missing:
    raise ImportError(
        "linmax.adapters.river needs River, which is not installed: pip install linmax[river]"
    ) from missing

from linmax.adapters.river.classifiers import FusionClassifier, LinearMaxClassifier

__all__ = ["FusionClassifier", "LinearMaxClassifier"]
