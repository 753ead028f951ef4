"""Vowpal Wabbit, which reads a file of examples and writes a file of predictions."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.peers.feed import Feed


def predictions(setting: str, feed: Feed) -> list[int]:
    """Return the predictions of one pass with the options of a setting."""
    from vowpalwabbit import Workspace  # type: ignore[import-not-found]  # only the peers' environment has it

    setting, _, thresholds = setting.partition(" # ")
    by_class, k = "_ldf" in setting, feed.k
    with tempfile.TemporaryDirectory() as folder:
        examples, output = Path(folder) / "examples", Path(folder) / "predictions"
        with examples.open("w") as file:
            lines = example_lines(feed, by_class=by_class)
            file.writelines(map(with_thresholds, lines) if thresholds else lines)
        options = f"{setting.format(k=k)} --quiet --no_stdin -d {examples} -p {output}"
        Workspace(options).finish()
        numbers = [int(float(line)) for line in output.read_text().split()]
    if by_class:  # a number per class: the predicted class has its name, the others 0
        numbers = [max(numbers[at : at + k]) for at in range(0, len(numbers), k)]
    return [number - 1 for number in numbers]


def example_lines(feed: Feed, *, by_class: bool) -> Iterator[str]:
    """Yield the items in the format of Vowpal Wabbit."""
    truth = feed.labels.tolist()
    if feed.form == "votes":
        write = lines_by_class if by_class else one_line
        for row, y in zip(feed.votes.tolist(), truth, strict=True):
            yield write(row, y, feed.k)
    else:
        for item, y in zip(feed.as_dicts(), truth, strict=True):
            features = "".join(f" {at}:{value:.6g}" for at, value in item.items())
            yield crossed_lines(features, y, feed.k) if by_class else f"{y + 1} |x{features}\n"


def crossed_lines(features: str, y: int, k: int) -> str:
    """Return the attributes, and a line per class with its cost; `-q cx` crosses both."""
    return f"shared |x{features}\n" + "".join(f"{c + 1}:{int(c != y)} |c {c}\n" for c in range(k)) + "\n"


def lines_by_class(row: list[int], y: int, k: int) -> str:
    """Return a line per class: its cost, and the experts that voted for it."""
    voters = [""] * k
    for expert, said in enumerate(row):
        if said >= 0:
            voters[said] += f" e{expert}"
    return "".join(f"{c + 1}:{int(c != y)} |{voters[c]}\n" for c in range(k)) + "\n"


def with_thresholds(lines: str) -> str:
    """Return the lines of an item with a feature for each class."""
    return "".join(f"{line} c{c}\n" for c, line in enumerate(lines.split("\n")[:-2])) + "\n"


def one_line(row: list[int], y: int, k: int) -> str:
    """Return the label and the votes in one line."""
    return f"{y + 1} |" + "".join(f" e{expert}^{said}" for expert, said in enumerate(row) if said >= 0) + "\n"
