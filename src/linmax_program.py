"""The program `linmax`.

It is not part of the package, because importing the package takes half a second, and Ctrl-C must exit without
a traceback then, too. Nothing is written before the imports are done, so that the process can exit at once.
"""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Import linmax and run the command in `sys.argv`."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # a process in the background ignores Ctrl-C
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from linmax.cli import load_app, run_app

    app = load_app()
    signal.signal(signal.SIGINT, before)
    run_app(app)
