"""The peers' environment, created from pinned versions when it is first needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements.txt")


PEERS = ("vowpalwabbit", "river", "scikit-learn")


class PeersMissingError(Exception):
    """The peers cannot run; the message says why."""


def versions() -> dict[str, str]:
    """Return the pinned versions."""
    lines = REQUIREMENTS.read_text().splitlines()
    pins = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {name: version for name, version in pins}


def named() -> dict[str, str]:
    """Return the versions of the peers without their dependencies."""
    return {name: version for name, version in versions().items() if name in PEERS}


def python(home: Path, *, make: bool, requirements: Path = REQUIREMENTS) -> Path:
    """Return the environment's Python; with `make` it is created, also after a change of versions."""
    folder = home / "env"
    found, stamp = folder / "bin" / "python", folder / "versions"
    if stamp.exists() and stamp.read_text() == requirements.read_text():
        return found
    if not make:
        raise PeersMissingError("they are not installed yet")
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(found), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "-r", str(requirements)],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            why = (done.stderr.strip() or "no reason given").splitlines()[-1]
            raise PeersMissingError(f"their environment could not be made ({why})")
    stamp.write_text(requirements.read_text())
    return found
