"""Progressive validation: every guess is made before its label is seen, and set beside what others say."""

from linmax.evaluate.audit import Audit
from linmax.evaluate.compare import Gain, gain
from linmax.evaluate.experts import Trust, trust
from linmax.evaluate.findings import Findings
from linmax.evaluate.progressive import Progress, picks, plurality, progressive
from linmax.evaluate.resumable_run import Pass
from linmax.evaluate.summarize import sum_up

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
