"""`linmax serve`: start the server, and look after its data folder."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from linmax.cli.options.servers import ServeOptions
from linmax.cli.output import print_message, print_table, stdout_console

ACTIONS = ("verify", "backup", "restore", "export", "token")
MOST_NAMED = 50  # columns in a command that is printed


def serve(action: str | None, words: list[str], options: ServeOptions) -> None:
    """Start the server, or do something with its data folder.

    Parameters
    ----------
    action
        One of `ACTIONS`; None starts the server.
    words
        What follows the action.
    options
        The options.
    """
    import linmax.service  # noqa: F401  (a missing extra is one sentence)

    if action is not None and action not in ACTIONS:
        raise ValueError(f"linmax serve has no action {action!r}; it has {', '.join(ACTIONS)}")
    if options.demo:
        if action is not None or options.data is not None:
            raise ValueError("--demo has its own data; leave out --data and the action")
        _serve_demo(options)
        return
    if options.data is None:
        raise ValueError("pass --data DIR, the folder for the log of the server, or --demo")
    if action is None:
        _serve(options, options.data)
        return
    RUN[action](words, options, options.data)


def _serve(options: ServeOptions, folder: Path) -> None:
    from linmax.service.server import serve as run

    hosts = frozenset(options.allow_host or ())
    keep = None if options.keep_days is None else options.keep_days * 86400.0
    run(
        folder, host=options.host, port=options.port, hosts=hosts, rate=options.rate, keep=keep,
        memory=options.memory << 20, label_wait=options.label_wait, log_format=options.log_format,
        log_level=options.log_level, announce=_announce, link=sys.stdout.isatty(),
    )  # fmt: skip


def _serve_demo(options: ServeOptions) -> None:
    from linmax.cli.servers.demo import Traffic
    from linmax.service.local import LocalServer

    with (
        tempfile.TemporaryDirectory(prefix="linmax-demo-") as folder,
        LocalServer(Path(folder) / "data", options.port) as server,
    ):
        Traffic(server.url, server.token, link=server.link()).run(_announce)


def _announce(line: str) -> None:
    print(line, flush=True)


def _one_file(action: str, words: list[str]) -> Path:
    if len(words) != 1:
        given = f"got {' '.join(words)}" if words else "none was given"
        raise ValueError(f"linmax serve {action} needs one file ({given})")
    return Path(words[0])


def _verify(words: list[str], options: ServeOptions, folder: Path) -> None:
    from linmax.service.administration import verify

    if words:
        raise ValueError(f"linmax serve verify needs no argument (got {' '.join(words)})")
    rows: list[list[str]] = []

    def report(name: str, events: int, snapshots: int, digest: str) -> None:
        rows.append([name, str(events), str(snapshots), digest[:16]])

    problems = verify(folder, report)
    if rows:
        print_table(
            stdout_console(), ["fusion", "events", "snapshots", "digest"], rows, left=["fusion", "digest"]
        )
    for problem in problems[1:]:
        print_message(problem)
    if problems:
        raise ValueError(problems[0])
    print_message(f"{folder}: every state is what the log gives")


def _backup(words: list[str], options: ServeOptions, folder: Path) -> None:
    from linmax.service.administration import backup

    target = _one_file("backup", words)
    print_message(f"{target}: {backup(folder, target):,} bytes")


def _restore(words: list[str], options: ServeOptions, folder: Path) -> None:
    from linmax.service.administration import restore

    source = _one_file("restore", words)
    restore(folder, source)
    print_message(f"{folder} has the log of {source}")


def _export(words: list[str], options: ServeOptions, folder: Path) -> None:
    from linmax.service.administration import reading
    from linmax.service.export import export

    target = _one_file("export", words)
    with reading(folder) as database:
        done = export(database, options.fusion, target)
    print_message(f"{target}: {done.rows} items, {done.labelled} of them with a label")
    named = "".join(
        f" {option} {shlex.quote(','.join(columns))}"
        for option, columns in (("--experts", done.votes), ("--attributes", done.attributes))
        if columns and len(columns) <= MOST_NAMED and not set("".join(columns)) & set(",*?[")
    )
    if done.abstain is not None:
        named += f" --abstain {shlex.quote(done.abstain)}"
    print_message(
        f"linmax fuse {shlex.quote(str(target))} --label label --id id --ignore time,prediction{named}"
    )


def _token(words: list[str], options: ServeOptions, folder: Path) -> None:
    from linmax.service import administration

    if not words:
        tokens = administration.list_tokens(folder)
        rows = [
            [str(one.number), one.name, ",".join(sorted(one.scopes)), one.fusions, _day(one.ends)]
            for one in tokens
        ]
        headings = ["token", "name", "scopes", "fusions", "ends"]
        print_table(stdout_console(), headings, rows, left=headings[1:])
    elif words == ["create"]:
        if not options.name:
            raise ValueError("pass --name, who has the token: the log names it with every event")
        scopes = [scope.strip() for scope in options.scopes.split(",") if scope.strip()]
        text = administration.create_token(folder, options.name, scopes, options.fusions, options.days)
        print_message("the token is shown only now")
        sys.stdout.write(text + "\n")
    elif len(words) == 2 and words[0] == "revoke" and words[1].isdigit():
        administration.revoke_token(folder, int(words[1]))
        print_message(f"token {words[1]} is revoked")
    else:
        raise ValueError(
            f"linmax serve token {' '.join(words)} is not known; linmax serve token lists the tokens, and"
            " 'create' and 'revoke NUMBER' may follow"
        )


def _day(ends: float | None) -> str:
    return "never" if ends is None else datetime.fromtimestamp(ends, UTC).date().isoformat()


RUN: dict[str, Callable[[list[str], ServeOptions, Path], None]] = {
    "verify": _verify,
    "backup": _backup,
    "restore": _restore,
    "export": _export,
    "token": _token,
}
