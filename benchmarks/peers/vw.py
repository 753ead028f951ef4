"""Vowpal Wabbit reads a file of examples and writes a file of guesses, each made before its label counts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.peers.feed import Feed


def guesses(setting: str, feed: Feed) -> list[int]:
    """One pass with these options over the items in the order given."""
    from vowpalwabbit import Workspace  # type: ignore[import-not-found]  # only the peers' environment has it

    setting, _, told = setting.partition(" # ")
    by_class, k = "_ldf" in setting, feed.k
    with tempfile.TemporaryDirectory() as folder:
        examples, said = Path(folder) / "examples", Path(folder) / "said"
        with examples.open("w") as file:
            lines = written(feed, by_class=by_class)
            file.writelines(map(with_thresholds, lines) if told else lines)
        options = f"{setting.format(k=k)} --quiet --no_stdin -d {examples} -p {said}"
        Workspace(options).finish()
        numbers = [int(float(line)) for line in said.read_text().split()]
    if by_class:  # a number per class: the guessed class's is its name, the others' are 0
        numbers = [max(numbers[at : at + k]) for at in range(0, len(numbers), k)]
    return [number - 1 for number in numbers]


def written(feed: Feed, *, by_class: bool) -> Iterator[str]:
    """The items as Vowpal Wabbit reads them."""
    truth = feed.labels.tolist()
    if feed.form == "votes":
        write = lines_by_class if by_class else one_line
        for row, y in zip(feed.votes.tolist(), truth, strict=True):
            yield write(row, y, feed.k)
    else:
        for item, y in zip(feed.described(), truth, strict=True):
            features = "".join(f" {at}:{value:.6g}" for at, value in item.items())
            yield crossed(features, y, feed.k) if by_class else f"{y + 1} |x{features}\n"


def crossed(features: str, y: int, k: int) -> str:
    """The attributes once, and a line per class with its cost; `-q cx` makes a feature of each pair."""
    return f"shared |x{features}\n" + "".join(f"{c + 1}:{int(c != y)} |c {c}\n" for c in range(k)) + "\n"


def lines_by_class(row: list[int], y: int, k: int) -> str:
    """A line per class: its cost, and who voted for it."""
    voters = [""] * k
    for expert, said in enumerate(row):
        if said >= 0:
            voters[said] += f" e{expert}"
    return "".join(f"{c + 1}:{int(c != y)} |{voters[c]}\n" for c in range(k)) + "\n"


def with_thresholds(lines: str) -> str:
    """The lines of an item, each with a feature for its class."""
    return "".join(f"{line} c{c}\n" for c, line in enumerate(lines.split("\n")[:-2])) + "\n"


def one_line(row: list[int], y: int, k: int) -> str:
    """The label, and who said what."""
    return f"{y + 1} |" + "".join(f" e{expert}^{said}" for expert, said in enumerate(row) if said >= 0) + "\n"
