"""A watch for what is inside a `with`."""

from __future__ import annotations

import time


class Watch:
    """Wall and CPU seconds, of all threads of this process."""

    wall = 0.0
    cpu = 0.0

    def __enter__(self) -> None:
        """Start."""
        self.wall, self.cpu = -time.perf_counter(), -time.process_time()

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.wall += time.perf_counter()
        self.cpu += time.process_time()
