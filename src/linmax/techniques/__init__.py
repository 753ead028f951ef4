"""Which hypothesis predicts: techniques around a rule, freely nested."""

from linmax.techniques.averaged import Averaged
from linmax.techniques.base import Technique, layers
from linmax.techniques.recycled import Recycled

__all__ = ["Averaged", "Recycled", "Technique", "layers"]
