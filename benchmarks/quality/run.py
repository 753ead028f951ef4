"""One problem in one order: everybody's mistakes, on the same items."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from benchmarks.peers.cells import Peers
from benchmarks.peers.environment import PeersMissingError
from benchmarks.peers.feed import Ints
from benchmarks.peers.settings import settings
from benchmarks.quality import halves, own
from benchmarks.quality.problem import AS_FILED, Problem, orders

SIDE_BY_SIDE = 2  # processes of peers; no time is measured here


class Tally(NamedTuple):
    """Mistakes by method, then by order."""

    whole: dict[str, dict[str, int]]  # of the pass
    late: dict[str, dict[str, int]]  # of its second half
    form: str  # of what was fed
    missing: str = ""  # why the peers are left out


def run(
    problems: list[Problem], peers: Peers, permutations: int, tell: Callable[[str], None] = lambda what: None
) -> Iterator[tuple[Problem, Tally]]:
    """Every problem in all its orders; the peers run in processes of their own meanwhile."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        waiting = {
            (problem.name, order): pool.submit(_asked, peers, problem, order)
            for problem in problems
            for order in orders(problem, permutations)
        }
        try:
            for problem in problems:
                tell(problem.name)
                yield problem, tallied(problem, permutations, waiting, tell)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def tallied(
    problem: Problem,
    permutations: int,
    waiting: dict[tuple[str, str], Future[dict[str, Ints]]],
    tell: Callable[[str], None],
) -> Tally:
    """One problem in all its orders."""
    tally = Tally({}, {}, problem.feed("0").form)
    for order in orders(problem, permutations):
        where = f"{problem.name}, {order if order == AS_FILED else f'random order {order}'}"

        def each(method: str, where: str = where) -> None:
            tell(f"{where}: {method}")

        feed = problem.feed(order)
        half = len(feed.labels) // 2
        said = own.guesses(feed, order, each)
        each("peers")
        try:
            said |= waiting[problem.name, order].result()
        except PeersMissingError as why:
            tally = tally._replace(missing=str(why))
        for method, guesses in said.items():
            wrong = guesses != feed.labels
            tally.whole.setdefault(method, {})[order] = int(wrong.sum())
            tally.late.setdefault(method, {})[order] = int(wrong[half:].sum())
        each("scikit-learn on the first half")
        for method, guesses in halves.guesses(feed).items():
            tally.late.setdefault(method, {})[order] = int(np.sum(guesses != feed.labels[half:]))
    return complete(tally) if tally.missing else tally


def complete(tally: Tally) -> Tally:
    """Without the peers where they did not run in all orders: they count with all orders or not at all."""
    peers = settings(tally.form)
    whole, late = (
        {method: found for method, found in by.items() if method not in peers}
        for by in (tally.whole, tally.late)
    )
    return tally._replace(whole=whole, late=late)


def _asked(peers: Peers, problem: Problem, order: str) -> dict[str, Ints]:
    return peers.guesses(problem.name, problem.feed(order))
