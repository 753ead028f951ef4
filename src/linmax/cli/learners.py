"""What a learner can be built from, as tables."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.report import catalogue, options

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
