"""`linmax learners`: the parts that a learner is built from, as tables, or one part in full."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import re
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax import Fusion, Perceptron, Winnow, spec
from linmax.cli.output import stdout_console
from linmax.report import Entry, catalogue, options
from linmax.spec import Learner

KINDS = {
    "rule": ("Rules", "how weights are updated"),
    "technique": ("Techniques", "which hypothesis predicts"),
    "ensemble": ("Ensembles", "one prediction from many learners"),
    "preset": ("Presets", "complete learners"),
    "source": ("Sources", "what votes; sources add with +"),
}
EXAMPLE = "Averaged(Recycled(Winnow(1.2))).on(Votes() + PerClass() + Thresholds())"
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def list_entries(console: Console | None = None) -> None:
    """Print all parts, a table per kind."""
    console = console or stdout_console()
    entries = catalogue()
    for kind in dict.fromkeys([*KINDS, *(entry.kind for entry in entries)]):
        some = [entry for entry in entries if entry.kind == kind]
        if not some:
            continue
        title, subtitle = KINDS.get(kind, (f"{kind.capitalize()}s", "learners are built from them"))
        table = Table(title=f"{title}: {subtitle}", title_justify="left", title_style="bold", expand=False)
        table.add_column("name", style="cyan", no_wrap=True)
        table.add_column("parameters")
        table.add_column("what it does")
        for entry in some:
            table.add_row(entry.name, Text(", ".join(entry.parameters)), Text(entry.summary))
        console.print(table)
        console.print()
    console.print(Text(f"Every rule also takes {', '.join(options())}."))
    console.print(Text(f"Wrap one in another and choose its sources:\n  {EXAMPLE}"))


def describe_entry(name: str, console: Console | None = None) -> None:
    """Print one part: its description, its parameters and an example."""
    console = console or stdout_console()
    entry = find_entry(name)
    thing = spec.find(entry.name)
    text, _ = split_docstring(thing)
    console.print(Text(f"{entry.name} ({entry.kind})", style="bold"))
    console.print(Text(text), soft_wrap=True)
    described = parameter_descriptions(thing)
    parameters = [*entry.parameters, *(options() if entry.kind == "rule" else ())]
    if parameters:
        table = Table.grid(padding=(0, 2))
        for parameter in parameters:
            description = described.get(parameter.partition("=")[0], "")
            table.add_row(Text(f"  {parameter}", style="cyan"), Text(description))
        console.print("\nParameters")
        console.print(table)
    console.print("\nExample")
    console.print(Text(f"  {example(entry, thing)}"), soft_wrap=True)


def find_entry(name: str) -> Entry:
    """The entry with a name, which may be followed by parameters.

    >>> find_entry("Winnow(1.2)").kind
    'rule'
    >>> find_entry("Winow")
    Traceback (most recent call last):
    ValueError: there is no 'Winow'; did you mean 'Winnow'?
    """
    entries = {entry.name: entry for entry in catalogue()}
    bare = name.partition("(")[0].strip()
    if bare in entries:
        return entries[bare]
    lower = {entry.lower(): entry for entry in entries}
    close = difflib.get_close_matches(bare.lower(), lower, n=1, cutoff=0.6)
    hint = f"did you mean {lower[close[0]]!r}?" if close else "linmax learners lists all names"
    raise ValueError(f"there is no {bare[:60]!r}; {hint}")


def split_docstring(thing: Any) -> tuple[str, dict[str, str]]:
    """The description in a numpydoc docstring, and its sections by title.

    The description includes the references, without their heading, and leaves out the examples.

    >>> def area(width):
    ...     '''Multiply.
    ...
    ...     Parameters
    ...     ----------
    ...     width : float
    ...         In metres.
    ...     '''
    >>> split_docstring(area)
    ('Multiply.', {'Parameters': 'width : float\\n    In metres.'})
    """
    document = inspect.getdoc(thing) or ""
    parts = SECTION.split(document)
    sections = {title: body.strip("\n") for title, body in zip(parts[1::2], parts[2::2], strict=True)}
    text = parts[0].partition("\n>>> ")[0].strip()
    if "References" in sections:
        text += "\n\n" + sections["References"]
    return text, sections


def parameter_descriptions(thing: Any) -> dict[str, str]:
    """The descriptions of parameters in the docstrings of a class and its bases.

    >>> parameter_descriptions(split_docstring)
    {}
    """
    found: dict[str, str] = {}
    for owner in reversed(thing.__mro__) if isinstance(thing, type) else (thing,):
        if "__doc__" not in vars(owner) and isinstance(owner, type):
            continue
        _, sections = split_docstring(owner)
        for block in re.split(r"\n(?=\S)", sections.get("Parameters", "")):
            heading, _, body = block.partition("\n")
            for name in heading.partition(" : ")[0].split(","):
                found[name.strip()] = " ".join(body.split())
    found.pop("", None)
    return found


def example(entry: Entry, thing: Any) -> str:
    """A command that uses the entry with its default parameters.

    >>> example(find_entry("Recycled"), spec.find("Recycled"))
    "linmax compare votes.csv 'Recycled(Winnow(1.2))'"
    >>> example(find_entry("Pairs"), spec.find("Pairs"))
    "linmax compare votes.csv 'Perceptron().on(Pairs())' --attributes age,town"
    >>> example(find_entry("SquaredHinge"), spec.find("SquaredHinge"))
    "linmax compare votes.csv 'SquaredHinge(0.5)' --attributes age,town"
    """
    columns = ""
    term = f"{entry.name}(...)"
    for arguments in ((), (Winnow(1.2),), ([Winnow(1.2), Perceptron()],)):
        with contextlib.suppress(TypeError, ValueError):
            made = thing(*arguments)
            term = repr(made) if isinstance(thing, type) else f"{entry.name}()"
            if entry.kind == "source":
                term = f"Perceptron().on({term})"
                columns = " --attributes age,town" if made.needs in ("rows", "nominal") else ""
            elif not isinstance(made, Learner):
                term = f"Combine({term})"
            elif Fusion(made).needs - {"votes"}:
                columns = " --attributes age,town"
            break
    quote = '"' if "'" in term else "'"
    return f"linmax compare votes.csv {quote}{term}{quote}{columns}"
