"""The next piece is read while this one is learned."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Generic, Self, TypeVar

Read = TypeVar("Read")

BEHIND = 10  # of priority: reading is ahead of the learning, and does not take its time from it
PATIENCE = 0.1  # seconds after which a full queue is tried again, unless nobody wants more


class Ahead(Generic[Read]):
    """Pieces as they come, the next one read in the background; what reading raises is raised here.

    >>> import io
    >>> from linmax.streams import open_stream
    >>> with Ahead(open_stream(io.BytesIO(b"ann,truth\\na,b\\n"))) as pieces:
    ...     print(list(pieces))
    [Piece(first=0, items=1)]
    """

    def __init__(self, pieces: Iterable[Read]) -> None:
        self.waiting = False  # for the file: nothing else is being done
        self._pieces = pieces
        self._queue: queue.Queue[Read | BaseException | None] = queue.Queue(1)
        self._wanted = True
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._wanted = False

    def __iter__(self) -> Iterator[Read]:
        while True:
            self.waiting = True
            try:
                piece = self._queue.get()
            finally:
                self.waiting = False
            if piece is None:
                return
            if isinstance(piece, BaseException):
                raise piece
            yield piece

    def _read(self) -> None:
        with suppress(
            AttributeError, OSError
        ):  # where threads have priorities, those who wait for it come first
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), BEHIND)
        try:
            for piece in self._pieces:
                if not self._put(piece):
                    return
            self._put(None)
        except BaseException as error:
            self._put(error)

    def _put(self, piece: Read | BaseException | None) -> bool:
        while self._wanted:
            try:
                self._queue.put(piece, timeout=PATIENCE)
                return True
            except queue.Full:
                continue
        return False
