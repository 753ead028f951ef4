"""Kills workers of a cluster, 100 times, while keys learn: the states must be those of a plain loop.

`python -m tests.slow.cluster_soak [KILLS]` is run by `make soak`. The cluster has 8 workers of little memory.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from linmax.scale import keyed
from linmax.scale.engine import ALONE, ONE_THREAD, DaskCluster, WorkerError
from tests.helpers.datasets import write
from tests.scale.test_keyed import W, plain_loop, states_of, table_of

WORKERS, STAY, MEMORY = 8, 2, "800MB"  # a worker that has imported everything takes 360 MB
SETTINGS = {
    "distributed.scheduler.allowed-failures": 20,
    "distributed.deploy.lost-worker-timeout": f"{ALONE}s",  # as `open_engine("local")` has it
}


class Killer(threading.Thread):
    """Kills a worker at random times; some stay, or a slow machine would only ever start workers."""

    def __init__(self, client: Any, limit: int) -> None:
        super().__init__(daemon=True)
        self.client, self.limit, self.kills, self.stopped = client, limit, 0, False

    def run(self) -> None:
        while not self.stopped and self.kills < self.limit:
            time.sleep(random.uniform(0.2, 1.5))
            with suppress(Exception):
                pids = list(self.client.run(os.getpid, on_error="ignore").values())
                if len(pids) > STAY:
                    os.kill(random.choice(pids), signal.SIGKILL)
                    self.kills += 1


@contextmanager
def new_cluster() -> Iterator[Any]:
    """A cluster of its own for each run, so that one that has lost all its workers is replaced."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
            memory_limit=MEMORY, env=dict(ONE_THREAD), silence_logs=50,
        ) as local,
        Client(local, set_as_default=False) as client,
    ):  # fmt: skip
        yield client


def main(kills: int) -> int:
    import dask

    done = runs = problems = lost = 0
    with (
        tempfile.TemporaryDirectory() as home,
        dask.config.set(SETTINGS),
    ):
        data = write(Path(home) / "data", parts=12, count=2000, keys=60)
        expected = plain_loop(table_of(data), W, time=True)
        while done < kills:
            store = Path(home) / f"models {runs}"
            options: Any = {"by": "customer", "store": store, "learner": W, "time": "when", "label": "truth"}
            options |= {"buckets": 40, "resume": True}
            finished = False
            while not finished:
                with new_cluster() as client:
                    killer = Killer(client, kills - done)
                    killer.start()
                    try:
                        found = keyed(data, cluster=DaskCluster(client), **options).problems
                        problems, finished = problems + len(found), not found  # a task may meet many deaths
                    except WorkerError as error:
                        lost += 1
                        print(f"run {runs + 1}: {error}", flush=True)
                    killer.stopped = True
                    killer.join()
                done += killer.kills
            runs += 1
            if states_of(store) != expected:
                print(f"run {runs}: the states differ from those of a plain loop")
                return 1
            counts = f"{done} kills, {problems} tasks and {lost} clusters resumed"
            print(f"run {runs}: {counts}, all states equal", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
