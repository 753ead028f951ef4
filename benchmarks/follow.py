"""`python -m benchmarks.follow`: messages per second from each kind of log into each kind of target.

Half of the messages are votes of items, half are their labels, 200 messages later. Times are CPU times of
this process without the start, the shortest of several runs: other load on the machine hardly changes them. A
server over HTTP runs in a thread of this process, so its time is included. The time of the brokers is not,
except for Kafka, whose mock runs in a thread.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from linmax import Fusion
from linmax.problems import majority
from linmax.scale import follow
from linmax.scale.messages import ItemMessage, Message, Position, read_message
from linmax.scale.targets import Context, Target
from linmax.scale.targets.log import LogTarget
from linmax.scale.targets.model import ModelTarget
from linmax.scale.targets.server import ServerTarget
from linmax.service.local import LocalServer
from tests.scale.brokers import KINDS, make_broker

FIRST = 2000  # messages that are not counted: before the first label, predictions take long
DELAY = 200  # messages between votes and their label
LEARNERS = {"Fusion()": None, "Averaged(Winnow(1.2))": "Averaged(Winnow(1.2))"}


class NoTarget(Target):
    """Learns nothing: what remains is reading."""

    async def open(self, context: Context) -> Position | None:
        """Nothing was saved."""
        return None

    async def process(self, items: list[ItemMessage], position: Position) -> None:
        """Do nothing."""


def make_messages(items: int) -> list[bytes]:
    """Votes of 20 experts on 5 classes, and labels that come later."""
    votes, labels = majority(items, relevant=3, experts=20, noise=0.05)
    placed: list[tuple[int, dict[str, Any]]] = []
    for number, (row, label) in enumerate(zip(votes.tolist(), labels.tolist(), strict=True)):
        given = {f"expert {i}": f"class {vote}" for i, vote in enumerate(row) if vote >= 0}
        placed.append((2 * number, {"id": f"item {number}", "votes": given}))
        placed.append((2 * number + DELAY + 1, {"id": f"item {number}", "label": f"class {label}"}))
    return [json.dumps(message).encode() for _, message in sorted(placed, key=lambda pair: pair[0])]


def shortest(repeats: int, call: Callable[[], Any]) -> float:
    """The CPU seconds of the fastest of several calls."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def main(
    items: Annotated[int, typer.Option(help="Items; each gives two messages.")] = 10_000,
    repeats: Annotated[int, typer.Option(help="Runs, of which the fastest counts.")] = 3,
    only: Annotated[str, typer.Option(help="Kinds of logs, with commas.")] = ",".join(KINDS),
) -> None:
    """Measure, and print microseconds of CPU time per message and messages per second."""
    messages = make_messages(items)
    read = [Message("votes", str(n), n, n + 1, one) for n, one in enumerate(messages)]
    console = Console()
    table = Table("log", "target", "learner", "us of CPU per message", "messages/s")

    def add(log: str, target: str, learner: str, seconds: float, count: int) -> None:
        each = seconds / count
        table.add_row(log, target, learner, f"{each * 1e6:.1f}", f"{1 / each:,.0f}")

    parsed = shortest(repeats, lambda: [read_message(one) for one in read])
    add("", "parse the JSON", "", parsed, len(messages))
    with tempfile.TemporaryDirectory() as name, LocalServer(Path(name) / "server") as server:
        folder = Path(name)
        number = 0
        for kind in only.split(","):
            broker = make_broker(kind, folder)
            try:
                logs = {count: broker.new_log() for count in (FIRST, len(messages))}
                for count, log in logs.items():
                    broker.send(log, messages[:count])

                def run(make: Callable[[], Target], count: int, logs: dict[int, str] = logs) -> None:
                    nonlocal number
                    number += 1
                    mark = "&" if "?" in logs[count] else "?"
                    address = f"{logs[count]}{mark}group=run{number}"
                    report = follow(address, make(), from_start=True, until_idle=0.01)
                    assert (report.messages, report.rejected) == (count, 0)

                def measure(target: str, learner: str, make: Callable[[], Target], kind: str = kind) -> None:
                    run(make, FIRST)  # compiles
                    least = [
                        shortest(repeats, lambda count=count: run(make, count))
                        for count in sorted(logs)  # noqa: B023
                    ]
                    add(kind, target, learner, least[1] - least[0], len(messages) - FIRST)

                measure("none", "", lambda: NoTarget(1))
                for shown, learner in LEARNERS.items():
                    targets: dict[str, Callable[[], Target]] = {
                        "model file": lambda: ModelTarget(Fusion(learner), folder / "panel.linmax"),  # noqa: B023
                        "log": lambda: LogTarget(folder / f"data{number}", "spam", learner),  # noqa: B023
                        "server": lambda: ServerTarget(server.url, server.token, f"spam{number}", learner),  # noqa: B023
                    }
                    for target, make in targets.items():
                        measure(target, shown, make)
            finally:
                broker.stop()
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
