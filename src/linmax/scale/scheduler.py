"""Connect to a Dask scheduler that is running, or start one on this machine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Any

from linmax.validation import require_extra

CONNECT = 8
"""Seconds in which a scheduler must answer a new client."""
HANDSHAKE = 2
"""Seconds more for what is said after the connection is made, which distributed waits for without end."""
RARELY_OBSERVED = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
}
"""Settings of a local cluster: by default, Dask samples each process up to 100 times a second."""


def connect(address: str) -> Any:
    """Return a client of a scheduler.

    What answers at an address may be no scheduler, and then says nothing, or what cannot be understood: the
    first bytes of an HTTP server would be a length of exabytes.

    Parameters
    ----------
    address
        The address, such as "tcp://host:8786".

    Raises
    ------
    ConnectionError
        If no scheduler answers; one sentence.
    """
    distributed = require_extra("distributed", "dask", "a cluster")
    found: Future[Any] = Future()

    def make_client() -> None:
        try:
            found.set_result(distributed.Client(address, timeout=CONNECT, set_as_default=False))
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=make_client, daemon=True).start()
    try:
        client = found.result(timeout=CONNECT + HANDSHAKE)
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0].strip() or "it says nothing"
    except Exception:
        reason = "what answers is no scheduler"
    else:
        return client
    raise ConnectionError(f"no scheduler answers at {address} ({reason}); check the address")


@contextlib.contextmanager
def local_client(workers: int, environment: Mapping[str, str], patience: float) -> Iterator[Any]:
    """Start a scheduler and workers that only this machine can reach, and provide a client.

    Parameters
    ----------
    workers
        The number of worker processes.
    environment
        Environment variables of a worker.
    patience
        Seconds in which a worker that has died must be back: on a busy machine, that takes long.
    """
    distributed = require_extra("distributed", "dask", "a cluster")
    import dask

    with (
        dask.config.set({**RARELY_OBSERVED, "distributed.deploy.lost-worker-timeout": f"{patience}s"}),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",  # a scheduler runs whatever it is sent
            dashboard_address="127.0.0.1:0",  # any free port; None would be 8787, which may be in use
            env=dict(environment),
            silence_logs=50,
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        yield client
