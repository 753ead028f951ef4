"""Guesses of the peers, kept on disk: a panel in an order is run once by each peer, setting and version."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.panels.reading import Ints, Panel
from benchmarks.peers.environment import PeersMissingError, python, versions
from benchmarks.peers.settings import ENCODING, LIBRARIES, SETTINGS

ROOT = Path(__file__).parents[2]
PACKAGES = {"VW": "vowpalwabbit", "River": "river"}


@dataclass
class Peers:
    """All peers; `home` holds their environment and what they have guessed."""

    home: Path
    fresh: bool = False  # run everything again
    install: bool = True  # make the environment where there is none
    refused: str = ""  # why there is no environment, so that this is found out once

    def guesses(self, panel: Panel, order: Ints) -> dict[str, Ints]:
        """What each peer guesses, in the order fed."""
        places = {name: self.place(name, panel, order) for name in SETTINGS}
        missing = {name: place for name, place in places.items() if self.fresh or not place.exists()}
        if missing:
            self.run(panel, order, missing)
        return {name: _read(place) for name, place in places.items()}

    def place(self, name: str, panel: Panel, order: Ints) -> Path:
        """The file of one cell, named after a digest of all that its content depends on."""
        (library,) = (library for library, members in LIBRARIES.items() if name in members)
        pins = versions()
        digest = hashlib.sha256()
        for text in (ENCODING, name, SETTINGS[name], pins[PACKAGES[library]], pins["numpy"], str(panel.k)):
            digest.update(text.encode() + b"\0")
        for array in (panel.votes, panel.labels, order):
            digest.update(str(array.shape).encode() + np.ascontiguousarray(array, dtype="<i8").tobytes())
        return self.home / "results" / f"{panel.name}-{digest.hexdigest()[:20]}.npz"

    def interpreter(self) -> Path:
        """The environment's Python."""
        if self.refused:
            raise PeersMissingError(self.refused)
        try:
            return python(self.home, make=self.install)
        except PeersMissingError as why:
            self.refused = str(why)
            raise

    def run(self, panel: Panel, order: Ints, wanted: dict[str, Path]) -> None:
        """Let these peers guess, in their own environment."""
        interpreter = self.interpreter()
        (self.home / "results").mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            stream = Path(folder) / "stream.npz"
            np.savez(stream, votes=panel.votes, y=panel.labels, k=np.int64(panel.k), order=order)
            pairs = [text for name, place in wanted.items() for text in (name, str(place.resolve()))]
            command = [str(interpreter.absolute()), "-m", "benchmarks.peers.worker", str(stream), *pairs]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            why = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
            raise PeersMissingError(f"they failed on {panel.name} ({why})")


def _read(place: Path) -> Ints:
    with np.load(place, allow_pickle=False) as held:
        return np.asarray(held["guesses"], dtype=np.int64)
