"""What a session promises holds for committees: pieces, chunks, threads, predictions, reasons, interrupts."""

import os
import signal
from typing import Any

import pytest

from linmax import Fusion, Voted
from linmax._jit.compilation import interpreted
from tests.helpers.committees import COMMITTEES, STREAM, each, learned, members_of, one_by_one
from tests.helpers.compare_committees import at_once
from tests.helpers.compare_rules import CLASSES
from tests.helpers.examples import EVERYTHING
from tests.helpers.sessions import different, same

# --- the same bits


@each
def test_pieces_of_any_size_are_the_whole(name: str) -> None:
    single, guesses = one_by_one(name)
    for size in (90, 41, 7):
        other = Fusion(COMMITTEES[name], seed=5)
        found = [g for t in range(0, 90, size) for g in at_once(other, STREAM[t : t + size])]
        assert found == guesses
        assert same(single, other), f"pieces of {size}: {different(single, other)}"
        assert (single.trials, single.mistakes, single.novel) == (other.trials, other.mistakes, other.novel)


@each
def test_tickets_answered_at_once_are_learning(name: str) -> None:
    stream = STREAM if EVERYTHING else STREAM[:40]
    whole, fusion = learned(name, stream), Fusion(COMMITTEES[name], seed=5)
    for item, y in stream:
        ticket = fusion.predict_one(item["votes"], ticket=True)
        if y is not None:
            fusion.learn_one(ticket, y)
    assert same(whole, fusion)


@each
@pytest.mark.parametrize("chunk", [1, pytest.param(2, marks=pytest.mark.slow), 13])
def test_any_size_of_chunks_gives_the_same_bits(
    name: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = STREAM if EVERYTHING or chunk > 1 else STREAM[:40]
    whole = learned(name, stream)
    monkeypatch.setattr(
        "linmax.runtime.chunks._by_memory",
        lambda runner, batch: [slice(t, min(t + chunk, batch.trials)) for t in range(0, batch.trials, chunk)],
    )
    other = learned(name, stream)
    assert same(whole, other), different(whole, other)


def test_the_limits_of_a_chunk_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = learned("vr", STREAM * 2)
    monkeypatch.setattr("linmax.runtime.chunks.ENSEMBLE_CHUNK", 10)
    assert same(whole, learned("vr", STREAM * 2))
    monkeypatch.setattr("linmax.runtime.chunks.ENSEMBLE_CHUNK", 1000)
    monkeypatch.setattr("linmax.runtime.chunks.MAX_SCORES", 1)
    assert same(whole, learned("vr", STREAM * 2))


@pytest.mark.parametrize("name", ["vr", "mixture", "nested"])
def test_any_number_of_threads_gives_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [learned(name)]
    monkeypatch.setattr("linmax.runtime.runner.MANY_RUNS", 1)
    monkeypatch.setattr("linmax.runtime.concurrency.MIN_TRIALS", 2)
    for count in ("1", "2", "5"):
        monkeypatch.setenv("LINMAX_THREADS", count)
        found += [learned(name), learned(name)]
    assert all(same(found[0], other) for other in found)
    for bad in ("0", "-1", "many", "1.5"):
        monkeypatch.setenv("LINMAX_THREADS", bad)
        with pytest.raises(ValueError, match="LINMAX_THREADS must be a whole number"):
            learned(name)


@each
def test_interpreted_is_compiled(name: str) -> None:
    long, short = (STREAM, STREAM[:40]) if EVERYTHING else (STREAM[:60], STREAM[:20])
    compiled, learned_early = learned(name, long), learned(name, short)
    with interpreted():
        assert same(compiled, learned(name, long))
        assert same(learned_early, one_by_one(name, short)[0])


@each
def test_all_classes_known_from_the_start_or_met_on_the_way_is_one_state_of_weights(name: str) -> None:
    """Room grows in mid-stream: as if it had been there, but for the classes that are known too early."""
    stream = [(item, y) for item, y in STREAM if y is None or not y.startswith("novel")]
    experts = sorted({e for item, _ in stream for e in item["votes"]})
    late, early = (Fusion(COMMITTEES[name], classes=CLASSES, experts=given) for given in (None, experts))
    assert at_once(late, stream) == at_once(early, stream)
    ours, theirs = late.weights, early.weights
    assert {key: ours[key] for key in ours} == {key: theirs[key] for key in ours}


# --- predictions and reasons


@each
def test_predictions_leave_no_trace(name: str) -> None:
    fusion, other = Fusion(COMMITTEES[name], seed=5), Fusion(COMMITTEES[name], seed=5)
    for t, (item, y) in enumerate(STREAM[:50]):
        guess = other.learn_one(item["votes"], y)
        if t % (3 if EVERYTHING else 7) == 0:
            fusion.predict([item["votes"], {"e5": "a", "stranger": "unheard"}], new_experts="vote")
            fusion.scores([item["votes"]])
            fusion.explain_one({"e5": "a", "stranger": "unheard"}, new_experts="vote")
            assert fusion.predict_one(item["votes"], new_experts="vote") == guess
        fusion.learn_one(item["votes"], y)
    assert same(fusion, other), different(fusion, other)


@each
def test_a_reason_adds_up_to_the_scores_that_decide(name: str) -> None:
    fusion = learned(name, STREAM[:60])
    strange = {"e0": {"a": 0.5, "b": -0.25}, "stranger": {"b": 2.0}}
    items = STREAM[60 :: 1 if EVERYTHING else 3]
    for votes in [*(item["votes"] for item, _ in items), strange, {}]:
        why = fusion.explain_one(votes, new_experts="vote")
        (scores,) = fusion.scores([votes], new_experts="vote")
        assert list(why.scores) == fusion.classes
        assert list(why.scores.values()) == pytest.approx(scores.tolist())
        assert why.guess == fusion.predict_one(votes, new_experts="vote")
        for c in fusion.classes:
            total = sum(row.get(c, 0.0) for row in why.contributions.values())
            assert total == pytest.approx(why.scores[c], abs=1e-12)
        shares = [share for share, _ in why.members.values()]
        assert (sum(shares) >= 1 - 1e-9) if members_of(name) else (not shares)


@each
def test_members_are_listed_with_the_guesses_they_make_alone(name: str) -> None:
    fusion = learned(name)
    alone = {repr(member): learned_alone(member) for member in below(COMMITTEES[name])}
    for item, _ in STREAM[:20]:
        for member, (_, guess) in fusion.explain_one(item["votes"]).members.items():
            if name != "search" or member in alone:  # its copies cannot run alone
                assert guess == alone[member].predict_one(item["votes"])


def below(learner: Any) -> list[Any]:
    """All members, and the members of members."""
    members = [learner.inner] if isinstance(learner, Voted) else getattr(learner, "members", None) or ()
    return [it for member in members for it in (member, *below(member))]


def learned_alone(member: Any) -> Fusion:
    fusion = Fusion(member, seed=5)
    at_once(fusion, STREAM)
    return fusion


@each
def test_weights_have_absolute_values_that_add_up_to_one(name: str) -> None:
    for stream in (STREAM[:30], STREAM):
        weights = learned(name, stream).weights
        assert sum(map(abs, weights.values())) == pytest.approx(1) or name in ("members", "mixture", "nested")
        assert 0 < sum(map(abs, weights.values())) <= 1 + 1e-9  # a mean of several may cancel out
        assert {e for e in weights if isinstance(e, str)} == set(learned(name, stream).experts)


# --- interrupts


@pytest.mark.usefixtures("interruptible")
@each
def test_an_interrupt_leaves_a_session_that_can_go_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = [(item, y) for item, y in STREAM if y in CLASSES]
    whole = Fusion(COMMITTEES[name], classes=CLASSES, seed=5)
    at_once(whole, stream[:1])
    at_once(whole, stream)
    monkeypatch.setattr("linmax.runtime.chunks.ENSEMBLE_CHUNK", 20)
    fusion = Fusion(COMMITTEES[name], classes=CLASSES, seed=5)
    at_once(fusion, stream[:1])
    execute = fusion.runner._execute
    calls = []

    def interrupted(chunk: Any, scores: bool) -> Any:
        calls.append(chunk.length)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)  # in the middle of a chunk, which is finished first
        return execute(chunk, scores)

    fusion.runner._execute = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        at_once(fusion, stream)
    assert fusion.trials == 1 + sum(calls) == (21 if name == "search" else 41)  # which has shorter chunks
    fusion.runner._execute = execute  # type: ignore[method-assign]
    at_once(fusion, stream[sum(calls) :])
    assert same(fusion, whole), different(fusion, whole)
