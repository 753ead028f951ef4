"""Checkpoints of earlier versions resume."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from linmax import Fusion, Winnow, load
from linmax.evaluate import ResumableRun, summarize
from linmax.evaluate.audit.audit import MODELS
from linmax.evaluate.audit.checkpoint import LearnedPrefix, RestoredAudit, audit_state, matches_head
from linmax.streams import open_stream

FOLDER = Path(__file__).parent / "checkpoints"  # written by linmax 0.1.0 after 137 of 300 rows


def test_a_run_that_an_earlier_version_has_stopped_resumes_to_the_same_findings() -> None:
    uninterrupted = ResumableRun(
        Fusion(Winnow(1.3)), open_stream(FOLDER / "panel.csv", label="truth", id="id")
    )
    for _ in uninterrupted:
        pass
    fusion = load(FOLDER / "stopped_at_137.linmax")
    saved = fusion.notes.pop("fuse")
    stream = open_stream(FOLDER / "panel.csv", label="truth", id="id")
    assert matches_head([saved["head"]], stream.peek())
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
    states, names = [audit_state(one.audit) for one in (run, uninterrupted)], set(saved["audit"])
    for name in names - {"counts", "moments", "milestones"}:
        assert states[0][name] == states[1][name], name
    # the baselines that version 0.1 did not know are counted since
    resumed, whole = run.audit.counts, uninterrupted.audit.counts
    assert resumed.trials == whole.trials
    assert resumed.voted.tolist() == whole.voted.tolist()
    first = [0, MODELS, *range(MODELS + 1, len(whole.correct))]
    for name in ("correct", "both_correct"):
        assert getattr(resumed, name)[first].tolist() == getattr(whole, name)[first].tolist()
    since = resumed.since(run.audit.compared_from)
    later = whole.since(
        next(counts for items, counts in uninterrupted.audit.history.snapshots if items == 137)
    )
    assert since.trials == later.trials
    assert since.heard.tolist() == later.heard.tolist()
    assert np.allclose(since.shared, later.shared)
    findings = [summarize(one.audit, one.fusion) for one in (run, uninterrupted)]
    for name in ("experts", "confusion", "agreement", "coverage", "hardest", "next_labels", "trust_history"):
        assert getattr(findings[0], name) == getattr(findings[1], name), name
    assert findings[0].trials == findings[1].trials
    assert any("baselines" in note for note in findings[0].notes)
    assert not any("baselines" in note for note in findings[1].notes)
    again = RestoredAudit(json.loads(json.dumps(audit_state(run.audit))))
    assert again.audit.compared_from.state() == run.audit.compared_from.state()
    sessions = run.fusion.state(), uninterrupted.fusion.state()
    learned = {name for name in sessions[1] if not name.startswith("decisions.")}  # that version had none
    assert all(np.array_equal(sessions[0][name], sessions[1][name]) for name in learned)
