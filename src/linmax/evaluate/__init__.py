"""Evaluation: progressive validation, audits of streams, and comparisons of learners."""

from linmax.evaluate.audit.audit import Audit
from linmax.evaluate.audit.resumable_run import ResumableRun
from linmax.evaluate.comparison import LearnerComparison
from linmax.evaluate.experts import Trust, trust
from linmax.evaluate.findings.findings import Findings
from linmax.evaluate.findings.summary import summarize
from linmax.evaluate.findings.verdict import Verdict, judge
from linmax.evaluate.progressive import Progress, progressive, voted_classes
from linmax.evaluate.significance import Gain, gain
from linmax.inputs.batch import plurality
from linmax.inputs.label_order import LabelOrder, label_order

__all__ = [
    "Audit",
    "Findings",
    "Gain",
    "LabelOrder",
    "LearnerComparison",
    "Progress",
    "ResumableRun",
    "Trust",
    "Verdict",
    "gain",
    "judge",
    "label_order",
    "plurality",
    "progressive",
    "summarize",
    "trust",
    "voted_classes",
]
