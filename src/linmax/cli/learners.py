"""What a learner can be built from: all of it as tables, or one in full."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import re
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax import Perceptron, Winnow
from linmax import spec as _registry
from linmax.report import Entry, catalogue, options
from linmax.spec import Learner

KINDS = {
    "rule": ("Rules", "how weights move"),
    "technique": ("Techniques", "which hypothesis predicts"),
    "committee": ("Committees", "one guess of many learners"),
    "ready made": ("Ready made", "call them as they are"),
    "source": ("Sources", "what votes; they add up with +"),
}
EXAMPLE = "Averaged(Recycled(Winnow(1.2))).on(Votes() + PerClass() + Thresholds())"


def show(console: Console | None = None) -> None:
    """Print the registry, kind by kind."""
    console = console or Console()
    entries = catalogue()
    for kind, (title, question) in KINDS.items():
        table = Table(title=f"{title}: {question}", title_justify="left", title_style="bold", expand=False)
        table.add_column("name", style="cyan", no_wrap=True)
        table.add_column("parameters")
        table.add_column("what it does")
        for entry in entries:
            if entry.kind == kind:
                table.add_row(entry.name, Text(", ".join(entry.parameters)), Text(entry.summary))
        console.print(table)
        console.print()
    console.print(Text(f"Every rule also takes {', '.join(options())}."))
    console.print(Text(f"Put one into the other and set it on sources:\n  {EXAMPLE}"))


def describe(name: str, console: Console | None = None) -> None:
    """Print one entry: what it is, its parameters with what is said of them, and how it is written."""
    console = console or Console(highlight=False)
    entry = named(name)
    thing = _registry.find(entry.name)
    console.print(Text(f"{entry.name}, {_a(entry.kind)}", style="bold"))
    console.print(Text((inspect.getdoc(thing) or "").strip()), soft_wrap=True)
    said = remarks(thing)
    listed = [*entry.parameters, *(options() if entry.kind == "rule" else ())]
    if listed:
        table = Table.grid(padding=(0, 2))
        for parameter in listed:
            remark = said.get(parameter.partition("=")[0], "")
            table.add_row(Text(f"  {parameter}", style="cyan"), Text(remark))
        console.print("\nParameters")
        console.print(table)
    console.print("\nExample")
    console.print(Text(f"  {example(entry, thing)}"), soft_wrap=True)


def named(name: str) -> Entry:
    """The entry of a name, which may have its brackets still.

    >>> named("Winnow(1.2)").kind
    'rule'
    >>> named("Winow")
    Traceback (most recent call last):
    ValueError: there is no 'Winow'; did you mean 'Winnow'?
    """
    entries = {entry.name: entry for entry in catalogue()}
    bare = name.partition("(")[0].strip()
    if bare in entries:
        return entries[bare]
    lower = {entry.lower(): entry for entry in entries}
    near = difflib.get_close_matches(bare.lower(), lower, n=1, cutoff=0.6)
    hint = f"did you mean {lower[near[0]]!r}?" if near else "linmax learners lists all there are"
    raise ValueError(f"there is no {bare[:60]!r}; {hint}")


def remarks(thing: Any) -> dict[str, str]:
    """What comments say about the fields of a class and its bases.

    >>> remarks(Winnow)["alpha"].startswith("> 1")
    True
    """
    found: dict[str, str] = {}
    for cls in reversed(thing.__mro__ if isinstance(thing, type) else ()):
        with contextlib.suppress(OSError, TypeError):  # made where there is no source to look into
            source = inspect.getsource(cls)
            found |= dict(re.findall(r"^    (\w+): [^#\n]*  # (.+)$", source, re.MULTILINE))
    return found


def example(entry: Entry, thing: Any) -> str:
    """The entry at work, with its parameters as they come.

    >>> example(named("Recycled"), _registry.find("Recycled"))
    "linmax compare votes.csv 'Recycled(Winnow(1.2))'"
    >>> example(named("Pairs"), _registry.find("Pairs"))
    "linmax compare votes.csv 'Perceptron().on(Pairs())' --attributes age,town"
    """
    columns = ""
    term = f"{entry.name}(...)"
    for given in ((), (Winnow(1.2),), ([Winnow(1.2), Perceptron()],)):
        with contextlib.suppress(TypeError, ValueError):
            made = thing(*given)
            term = f"{entry.name}()" if entry.kind == "ready made" else repr(made)
            if entry.kind == "source":
                term = f"Perceptron().on({term})"
                columns = " --attributes age,town" if made.needs in ("rows", "nominal") else ""
            elif not isinstance(made, Learner):
                term = f"Combine({term})"
            break
    quote = '"' if "'" in term else "'"
    return f"linmax compare votes.csv {quote}{term}{quote}{columns}"


def _a(kind: str) -> str:
    return kind if kind == "ready made" else f"a {kind}"
