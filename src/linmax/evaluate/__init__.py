"""Progressive validation: every guess is made before its label is seen, and set beside what others say."""

from linmax.evaluate.audit import Audit
from linmax.evaluate.findings import Findings
from linmax.evaluate.onepass import Pass
from linmax.evaluate.paired import Gain, gain
from linmax.evaluate.progress import Progress, picks, plurality, progressive
from linmax.evaluate.summing import sum_up
from linmax.evaluate.trust import Trust, trust

__all__ = [
    "Audit",
    "Findings",
    "Gain",
    "Pass",
    "Progress",
    "Trust",
    "gain",
    "picks",
    "plurality",
    "progressive",
    "sum_up",
    "trust",
]
