"""Connect to a Dask scheduler that is running, or say in one sentence why that is not possible."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

from linmax.validation import require_extra

CONNECT = 8
"""Seconds in which a scheduler must answer a new client."""
HANDSHAKE = 2
"""Seconds more for what is said after the connection is made, which distributed waits for without end."""


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

    def try_to() -> None:
        try:
            found.set_result(distributed.Client(address, timeout=CONNECT, set_as_default=False))
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=try_to, daemon=True).start()
    try:
        client = found.result(timeout=CONNECT + HANDSHAKE)
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0].strip() or "it says nothing"
    except Exception:
        reason = "what answers is no scheduler"
    else:
        return client
    raise ConnectionError(f"no scheduler answers at {address} ({reason}); check the address")
