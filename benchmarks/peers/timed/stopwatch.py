"""A stopwatch for a `with` block."""

from __future__ import annotations

import time


class Stopwatch:
    """Measures wall and CPU seconds of all threads of this process."""

    wall = 0.0
    cpu = 0.0

    def __enter__(self) -> None:
        """Start the stopwatch."""
        self.wall, self.cpu = -time.perf_counter(), -time.process_time()

    def __exit__(self, *_: object) -> None:
        """Stop the stopwatch."""
        self.wall += time.perf_counter()
        self.cpu += time.process_time()
