"""Use one session from many threads, then repeat what it learned in one thread and compare: `make soak`."""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from typing import Any, NamedTuple

import numpy as np

from linmax import Fusion, parse
from linmax.problems import majority

LEARNERS = ("Averaged(Winnow(1.2))", "recommended()", "Averaged(Recycled(Perceptron(), size=20))")
CLASSES, EXPERTS = range(4), range(6)


class Outcome(NamedTuple):
    """What was done, how often it went wrong, and whether the states agree bit for bit."""

    calls: int
    learned: int
    errors: list[str]
    same_state: bool


def stress(
    learner: str, *, seconds: float = 60.0, most: int = 2**62, threads: int = 8, seed: int = 0
) -> Outcome:
    """Let threads predict, explain and learn at random for some seconds, or some calls each."""
    votes, labels = majority(2000, relevant=3, experts=6, classes=4, noise=0.1, seed=seed)
    items = [dict(enumerate(row)) for row in votes.tolist()]
    fusion = Fusion(parse(learner), classes=CLASSES, experts=EXPERTS)
    log: list[tuple[int, int]] = []  # rows in the order in which they were learned
    execute, bind = fusion.runner._execute, fusion._single._bind  # what they run is run with the lock held
    run_rows = fusion._single.run_rows
    slices = threading.local()

    def logged_execute(chunk: Any, scores: bool) -> Any:
        if chunk.learns and not (log and log[-1] is slices.rows):  # a call may be run in several chunks
            log.append(slices.rows)
        return execute(chunk, scores)

    def logged_bind(votes: Any) -> Any:
        run_item = bind(votes)

        def run(label: int) -> int:
            if label >= 0:
                log.append(slices.rows)
            return run_item(label)

        return run

    def logged_rows(batch: Any) -> Any:
        found = run_rows(batch)
        if found is not None and (batch.labels >= 0).any():
            log.append(slices.rows)
        return found

    fusion.runner._execute = logged_execute  # type: ignore[method-assign]
    fusion._single.run_rows = logged_rows  # type: ignore[method-assign]
    fusion._single._bind = logged_bind  # type: ignore[method-assign]
    errors: list[str] = []
    calls = [0] * threads
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        chance = random.Random(f"{seed} {number}")
        try:
            while time.monotonic() < end and calls[number] < most and not errors:
                row = chance.randrange(len(items) - 20)
                slices.rows = (row, row + 1)
                match chance.randrange(12):
                    case 0:
                        slices.rows = (row, row + 20)
                        fusion.learn(votes[row : row + 20], labels[row : row + 20])
                    case 1:
                        scores = fusion.scores(votes[row : row + 5])
                        if not np.isfinite(scores).all():
                            raise AssertionError("a score is not finite")
                    case 2:
                        fusion.explain_one(items[row])
                    case 3:
                        state = fusion.state()
                        if not all(np.isfinite(state[name]).all() for name in state if name.endswith("w")):
                            raise AssertionError("a weight is not finite")
                    case 4 | 5 | 6 | 7:
                        fusion.learn_one(items[row], int(labels[row]))
                    case _:
                        if fusion.predict_one(items[row]) not in CLASSES:
                            raise AssertionError("a prediction is no class")
                calls[number] += 1
        except BaseException as error:
            errors.append(f"{type(error).__name__}: {error}")

    workers = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(seconds + 60)
        if worker.is_alive():
            errors.append("a thread hangs")
            return Outcome(sum(calls), len(log), errors, False)
    alone = Fusion(parse(learner), classes=CLASSES, experts=EXPERTS)
    for begin, stop in log:
        alone.learn(votes[begin:stop], labels[begin:stop])
    mine, theirs = fusion.state(), alone.state()
    same = all(mine[name].tobytes() == theirs[name].tobytes() for name in theirs)
    return Outcome(sum(calls), len(log), errors, same)


def main() -> int:
    """Stress every learner, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args()
    wrong = 0
    for learner in LEARNERS:
        found = stress(learner, seconds=options.seconds, threads=options.threads)
        print(
            f"{learner}: {found.calls} calls of {options.threads} threads, {found.learned} of them learned;"
            f" {len(found.errors)} errors {found.errors[:1]};"
            f" the state {'is' if found.same_state else 'IS NOT'} that of one thread"
        )
        wrong += bool(found.errors) or not found.same_state
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
