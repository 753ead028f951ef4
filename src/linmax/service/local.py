"""A server in a thread of this program, for notebooks, examples and tests."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, Self

from linmax.service.server import dashboard_link, listen, make_server, start_service
from linmax.service.tokens import SCOPES, new_token


class LocalServer:
    """A server on a free port of this machine, in a thread of this program.

    It runs within a ``with`` block, or from `start` to `stop`. Its data stay in the folder.

    Parameters
    ----------
    folder
        The data folder; it is created if it does not exist.
    port
        The port; 0 is a free one.

    Attributes
    ----------
    url : str
        Where it listens.
    token : str
        An admin token that was made for this run, and ends after a day.

    Examples
    --------
    >>> import tempfile
    >>> from linmax.client import Client
    >>> from linmax.service.local import LocalServer
    >>> with tempfile.TemporaryDirectory() as folder, LocalServer(folder) as server:
    ...     with Client(server.url, server.token) as client:
    ...         info = client.create("spam", learner="Averaged(Winnow(1.2))")
    ...         client.learn("spam", {"ann": "ham", "bob": "spam"}, "spam")["prediction"]
    'ham'
    """

    def __init__(self, folder: str | Path, port: int = 0) -> None:
        self.folder = Path(folder)
        self.port = port
        self.url = self.token = ""
        self.service: Any = None

    def start(self) -> Self:
        """Start the server; `stop` ends it."""
        self._socket = listen("127.0.0.1", self.port)
        try:
            self.service, _ = start_service(self.folder)
        except BaseException:
            self._socket.close()
            raise
        self.token, statement = new_token("local", SCOPES, days=1.0)
        self.service.database.write([statement])
        self.service.tokens.reload()
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server = make_server(self.service)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="linmax-server", daemon=True
        )
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)
        return self

    def link(self) -> str:
        """Return a link to the dashboard that signs in once, within ten minutes."""
        return dashboard_link(self.service, self.url)

    def stop(self) -> None:
        """Store the states and stop the server."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()
