"""`linmax follow`: learn from a message log until Ctrl-C, SIGTERM or silence."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from linmax.cli.options.servers import FollowOptions
from linmax.cli.output import check_output, print_json, print_message, stderr_console

if TYPE_CHECKING:
    from linmax.scale.messages import Report
    from linmax.scale.targets import Target

TOKEN_VARIABLE = "LINMAX_TOKEN"
LINE_EVERY = 60.0  # seconds between two lines where there is no terminal


def follow(source: str, options: FollowOptions) -> None:
    """Follow a log, and print what was found.

    Parameters
    ----------
    source
        The address of the log.
    options
        The options.
    """
    from linmax.scale import follow as run

    given = [name for name in ("model", "data", "server") if getattr(options, name) is not None]
    if len(given) != 1:
        raise ValueError("pass one of --model FILE, --data DIR and --server URL, which says what learns")
    if options.model is None:
        for name in ("save_every", "save_seconds"):
            if getattr(options, name) != getattr(FollowOptions, name):
                raise ValueError(
                    f"--{name.replace('_', '-')} is for --model; others save each batch: leave it out"
                )
    target = TARGETS[given[0]](options)
    if options.rejected is not None:
        check_output(options.rejected)
        if options.model is not None and options.rejected.resolve() == options.model.resolve():
            raise ValueError(f"--rejected and --model both name {options.model}; name two files")
    with stopped_by_signals() as stop, StatusLine() as line:
        report = run(
            source, target, from_start=options.from_start, until_idle=options.until_idle,
            batch=options.batch, save_every=options.save_every, save_seconds=options.save_seconds,
            rejected=options.rejected, on_progress=line.show, should_stop=stop.is_set,
        )  # fmt: skip
    if options.json:
        print_json(asdict(report))
    else:
        print(report)


def _model(options: FollowOptions) -> Target:
    from linmax import Fusion, load, parse
    from linmax.scale.targets.model import ModelTarget

    path = options.model
    assert path is not None
    if options.fusion is not None:
        raise ValueError("--fusion is for --data and --server; a model file has one fusion")
    if not path.exists():
        check_output(path)
        return ModelTarget(Fusion(options.learner), path)
    fusion = load(path)
    if options.learner is not None and parse(options.learner) != fusion.learner:
        raise ValueError(f"{path} has the learner {fusion.learner}; leave out --learner, or name a new file")
    return ModelTarget(fusion, path)


def _data(options: FollowOptions) -> Target:
    from linmax.scale.targets.log import LogTarget

    assert options.data is not None
    return LogTarget(options.data, _fusion(options), options.learner)


def _server(options: FollowOptions) -> Target:
    from linmax.scale.targets.server import ServerTarget

    assert options.server is not None
    token = os.environ.get(TOKEN_VARIABLE)
    if not token:
        raise ValueError(f"set {TOKEN_VARIABLE} to a token that the server knows")
    return ServerTarget(options.server, token, _fusion(options), options.learner)


def _fusion(options: FollowOptions) -> str:
    if options.fusion is None:
        raise ValueError("pass --fusion NAME, the fusion that learns")
    return options.fusion


TARGETS = {"model": _model, "data": _data, "server": _server}


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and SIGTERM set, so that a batch is finished and saved."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {one: signal.signal(one, lambda *_: stop.set()) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


class StatusLine:
    """The counts so far: a line that changes on a terminal, and a line per minute elsewhere."""

    def __init__(self) -> None:
        console = stderr_console()
        self._status: Any = console.status("connecting") if console.is_terminal else None
        self._next = time.monotonic() + LINE_EVERY

    def __enter__(self) -> StatusLine:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, report: Report) -> None:
        """Show the counts."""
        if self._status is not None:
            self._status.update(str(report))
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + LINE_EVERY
            print_message(str(report))
