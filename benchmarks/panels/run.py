"""One panel in all its orders: linmax, then the peers, on the same items."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.panels import own
from benchmarks.panels.compare import Accuracies
from benchmarks.panels.reading import Panel
from benchmarks.peers.cells import Peers
from benchmarks.peers.environment import PeersMissingError
from benchmarks.peers.settings import SETTINGS


def run(
    panel: Panel, peers: Peers, permutations: int, tell: Callable[[str, int], None] = lambda what, done: None
) -> tuple[Accuracies, str]:
    """The part of right guesses by method and order, and why the peers are left out ("" if they are not)."""
    accuracy: Accuracies = {}
    silent = ""
    for name, order in panel.orders(permutations).items():
        where = f"{panel.name}, {name if name == 'file order' else f'random order {name}'}"

        def each(method: str, where: str = where) -> None:
            tell(f"{where}: {method}", 0)

        figures = own.accuracies(panel, order, each)
        if not silent:
            each("peers")
            try:
                said = peers.guesses(panel, order)
                figures |= {peer: own.share(said[peer], panel.labels[order]) for peer in said}
            except PeersMissingError as why:
                silent = str(why)
        for method, figure in figures.items():
            accuracy.setdefault(method, {})[name] = figure
        tell(where, 1)
    if silent:  # a peer counts with all orders or not at all
        accuracy = {method: figures for method, figures in accuracy.items() if method not in SETTINGS}
    return accuracy, silent
