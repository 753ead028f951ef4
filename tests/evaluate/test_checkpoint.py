"""Checkpoints of earlier versions resume."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from linmax import Fusion, Winnow, load
from linmax.evaluate import ResumableRun, summarize
from linmax.evaluate.checkpoint import LearnedPrefix, RestoredAudit, audit_state, matches_head
from linmax.streams import open_stream

FOLDER = Path(__file__).parent / "checkpoints"  # written by linmax 0.1.0 after 137 of 300 rows


def test_a_run_that_an_earlier_version_has_stopped_resumes_to_the_same_findings() -> None:
    uninterrupted = ResumableRun(Fusion(Winnow(1.3)), open_stream(FOLDER / "panel.csv"))
    for _ in uninterrupted:
        pass
    fusion = load(FOLDER / "stopped_at_137.linmax")
    saved = fusion.notes.pop("fuse")
    stream = open_stream(FOLDER / "panel.csv")
    assert matches_head(saved["head"], stream.peek())
    run = ResumableRun(
        fusion,
        stream,
        prefix=LearnedPrefix(saved["rows"], saved["digest"]),
        restored=RestoredAudit(saved["audit"], saved["base"]),
    )
    assert run.audit.items == 137
    for _ in run:
        pass
    assert run.audit.items == 300
    assert audit_state(run.audit) == audit_state(uninterrupted.audit)
    findings = [summarize(one.audit, one.fusion).as_json() for one in (run, uninterrupted)]
    assert findings[0] == findings[1]
    states = run.fusion.state(), uninterrupted.fusion.state()
    assert all(np.array_equal(states[0][name], array) for name, array in states[1].items())
