"""Guesses of the peers, kept on disk: a feed is run once by each peer, setting and version."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.peers.environment import PeersMissingError, python, versions
from benchmarks.peers.feed import Feed, Ints
from benchmarks.peers.settings import ENCODING, LIBRARIES, settings

ROOT = Path(__file__).parents[2]
PACKAGES = {"VW": "vowpalwabbit", "River": "river"}


@dataclass
class Peers:
    """All peers; `home` holds their environment and what they have guessed."""

    home: Path
    fresh: bool = False  # run everything again
    install: bool = True  # make the environment where there is none
    refused: str = ""  # why there is no environment, so that this is found out once
    idle: list[subprocess.Popen[str]] = field(default_factory=list)  # processes that wait for a cell

    def guesses(self, name: str, feed: Feed) -> dict[str, Ints]:
        """What each peer guesses, in the order fed; `name` is the problem's."""
        places = {peer: self.place(peer, name, feed) for peer in settings(feed.form)}
        missing = {peer: place for peer, place in places.items() if self.fresh or not place.exists()}
        if missing:
            self.run(name, feed, missing)
        return {peer: _read(place) for peer, place in places.items()}

    def place(self, peer: str, name: str, feed: Feed) -> Path:
        """The file of one cell, named after a digest of all that its content depends on."""
        members = LIBRARIES[feed.form]
        (library,) = (library for library in members if peer in members[library])
        pins, setting = versions(), members[library][peer]
        texts = (ENCODING, peer, setting, pins[PACKAGES[library]], pins["numpy"], feed.digest)
        digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
        return self.home / "results" / f"{re.sub('[^a-z0-9]+', '_', name.lower())}-{digest[:20]}.npz"

    def interpreter(self) -> Path:
        """The environment's Python."""
        if self.refused:
            raise PeersMissingError(self.refused)
        try:
            return python(self.home, make=self.install)
        except PeersMissingError as why:
            self.refused = str(why)
            raise

    def run(self, name: str, feed: Feed, wanted: dict[str, Path]) -> None:
        """Let these peers guess, in their own environment."""
        (self.home / "results").mkdir(parents=True, exist_ok=True)
        worker = self.idle.pop() if self.idle else self.hired()
        assert worker.stdin is not None
        assert worker.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "feed.npz"
            np.savez(file, **feed.arrays)
            targets = {peer: str(place.resolve()) for peer, place in wanted.items()}
            worker.stdin.write(json.dumps({"feed": str(file), "targets": targets}) + "\n")
            worker.stdin.flush()
            said = worker.stdout.readline()
        if not said:
            raise PeersMissingError(f"they failed on {name} (exit code {worker.wait()})")
        self.idle.append(worker)
        why = json.loads(said)
        if why:
            raise PeersMissingError(f"they failed on {name} ({why})")

    def hired(self) -> subprocess.Popen[str]:
        """One more process of the environment, which runs cell after cell until its input ends."""
        command = [str(self.interpreter().absolute()), "-m", "benchmarks.peers.worker"]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def close(self) -> None:
        """Let the processes end."""
        while self.idle:
            self.idle.pop().communicate()


def _read(place: Path) -> Ints:
    with np.load(place, allow_pickle=False) as held:
        return np.asarray(held["guesses"], dtype=np.int64)
