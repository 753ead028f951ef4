"""Run all learners on the problems, in all orders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.cached_predictions import CachedPredictions
from benchmarks.peers.environment import PeersMissingError
from benchmarks.peers.feed import Ints
from benchmarks.peers.settings import settings
from benchmarks.quality import batch_baseline, linmax_methods
from benchmarks.quality.problem import AS_FILED, Problem, orders
from linmax.scale import open_engine

PROCESSES = 2  # of peers at the same time; nothing is timed here


class MistakeCounts(NamedTuple):
    """Mistakes by method, then by order.

    Parameters
    ----------
    whole, late : dict
        The mistakes of the pass, and of its second half.
    form : str
        The kind of items.
    missing : str
        Why the peers are left out.
    """

    whole: dict[str, dict[str, int]]
    late: dict[str, dict[str, int]]
    form: str
    missing: str = ""


def run(
    problems: list[Problem],
    peers: CachedPredictions,
    permutations: int,
    report: Callable[[str], None] = lambda what: None,
    where: dict[str, Any] | None = None,
) -> Iterator[tuple[Problem, MistakeCounts]]:
    """Yield the mistakes on every problem; the peers run in separate processes meanwhile.

    `where` is where the learners of linmax run, a task per problem and order: the arguments of
    `linmax.scale.open_engine`. By default, that is this process.
    """
    jobs = [(problem, order) for problem in problems for order in orders(problem, permutations)]
    with ThreadPoolExecutor(PROCESSES) as pool, open_engine(**(where or {"workers": 1})) as engine:
        waiting = {
            (problem.name, order): pool.submit(_asked, peers, problem, order) for problem, order in jobs
        }
        names = [(problem.name, order) for problem, order in jobs]
        tasks = dict(zip(names, engine.map(linmax_methods.learn_problem, jobs), strict=True))

        def learned(problem: Problem, order: str) -> dict[str, Ints]:
            (said,) = engine.gather([tasks.pop((problem.name, order))])
            return dict(said)

        try:
            for problem in problems:
                report(problem.name)
                yield problem, count_problem(problem, permutations, learned, waiting, report)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def count_problem(
    problem: Problem,
    permutations: int,
    learned: Callable[[Problem, str], dict[str, Ints]],
    waiting: dict[tuple[str, str], Future[dict[str, Ints]]],
    report: Callable[[str], None],
) -> MistakeCounts:
    """Return the mistakes on one problem in all its orders."""
    mistakes = MistakeCounts({}, {}, problem.feed("0").form)
    for order in orders(problem, permutations):
        where = f"{problem.name}, {order if order == AS_FILED else f'random order {order}'}"

        def each(method: str, where: str = where) -> None:
            report(f"{where}: {method}")

        each("linmax")
        said = learned(problem, order)
        feed = problem.feed(order)
        half = len(feed.labels) // 2
        each("peers")
        try:
            said |= waiting[problem.name, order].result()
        except PeersMissingError as why:
            mistakes = mistakes._replace(missing=str(why))
        for method, guesses in said.items():
            wrong = guesses != feed.labels
            mistakes.whole.setdefault(method, {})[order] = int(wrong.sum())
            mistakes.late.setdefault(method, {})[order] = int(wrong[half:].sum())
        each("scikit-learn on the first half")
        for method, guesses in batch_baseline.predictions(feed).items():
            mistakes.late.setdefault(method, {})[order] = int(np.sum(guesses != feed.labels[half:]))
    return without_incomplete_peers(mistakes) if mistakes.missing else mistakes


def without_incomplete_peers(mistakes: MistakeCounts) -> MistakeCounts:
    """Remove peers that did not run in all orders."""
    peers = settings(mistakes.form)
    whole, late = (
        {method: found for method, found in by.items() if method not in peers}
        for by in (mistakes.whole, mistakes.late)
    )
    return mistakes._replace(whole=whole, late=late)


def _asked(peers: CachedPredictions, problem: Problem, order: str) -> dict[str, Ints]:
    return peers.predictions(problem.name, problem.feed(order))
