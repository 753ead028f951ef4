"""Predictions of the peers, cached on disk: each peer, setting and version runs once per feed."""

from __future__ import annotations

import hashlib
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.peers.environment import PeersMissingError, python, versions
from benchmarks.peers.feed import Feed, Ints
from benchmarks.peers.peer_client import PeerProcess
from benchmarks.peers.settings import ENCODING, LIBRARIES, settings

PACKAGES = {"VW": "vowpalwabbit", "River": "river"}


@dataclass
class CachedPredictions:
    """The predictions of all peers.

    Parameters
    ----------
    home : Path
        The folder of the peers' environment and of the cached predictions.
    fresh : bool
        Whether to run peers again whose predictions are cached.
    install : bool
        Whether to create the environment if it is missing.
    missing : str
        Why there is no environment, so that this is checked only once.
    idle : list of PeerProcess
        Processes that wait for a request.
    """

    home: Path
    fresh: bool = False
    install: bool = True
    missing: str = ""
    idle: list[PeerProcess] = field(default_factory=list)

    def predictions(self, name: str, feed: Feed) -> dict[str, Ints]:
        """Return the predictions of each peer on the feed of the problem `name`."""
        paths = {peer: self.path(peer, name, feed) for peer in settings(feed.form)}
        wanted = {peer: path for peer, path in paths.items() if self.fresh or not path.exists()}
        if wanted:
            self.run(name, feed, wanted)
        return {peer: _read(path) for peer, path in paths.items()}

    def path(self, peer: str, name: str, feed: Feed) -> Path:
        """Return the file of one peer and feed; its name has a digest of all that the content depends on."""
        members = LIBRARIES[feed.form]
        (library,) = (library for library in members if peer in members[library])
        pins, setting = versions(), members[library][peer]
        texts = (ENCODING, peer, setting, pins[PACKAGES[library]], pins["numpy"], feed.digest)
        digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
        return self.home / "results" / f"{re.sub('[^a-z0-9]+', '_', name.lower())}-{digest[:20]}.npz"

    def interpreter(self) -> Path:
        """Return the environment's Python."""
        if self.missing:
            raise PeersMissingError(self.missing)
        try:
            return python(self.home, make=self.install)
        except PeersMissingError as error:
            self.missing = str(error)
            raise

    def run(self, name: str, feed: Feed, targets: dict[str, Path]) -> None:
        """Let these peers predict, in their own environment, and write their predictions."""
        (self.home / "results").mkdir(parents=True, exist_ok=True)
        server = self.idle.pop() if self.idle else PeerProcess(self.interpreter(), timed=False)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "feed.npz"
            np.savez(file, **feed.arrays)
            paths = {peer: str(path.resolve()) for peer, path in targets.items()}
            answer = server.request("predict", feed=str(file), targets=paths)
        if answer is None:
            raise PeersMissingError(f"they failed on {name} (exit code {server.kill()})")
        self.idle.append(server)
        if "error" in answer:
            raise PeersMissingError(f"they failed on {name} ({answer['error']})")

    def close(self) -> None:
        """End the processes."""
        while self.idle:
            self.idle.pop().close()


def _read(path: Path) -> Ints:
    with np.load(path, allow_pickle=False) as arrays:
        return np.asarray(arrays["guesses"], dtype=np.int64)
