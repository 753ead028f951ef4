"""A table over the corpus of shapes: options needed, outcome, accuracy beside plurality and stacking.

``python -m tests.slow.shapes_table ../shared/data/shapes`` runs ``linmax fuse`` on every file, and fits
scikit-learn's logistic regression to one-hot votes of the same items, in the same order, in ten blocks: each
is predicted by a model of all items before it, and the first by the plurality.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import time_process

CORPUS: list[tuple[str, list[str]]] = [
    *((f"{name}.csv", []) for name in ("lab", "conf", "kaggle", "excel", "float", "boolint", "NA", "refuse")),
    *((f"{name}.csv", []) for name in ("sorted", "nearly", "messy", "sparse", "rating", "snorkel")),
    ("sorted_votes.csv sorted_truth.csv", []),
    ("gold_both.csv", ["--label", "truth"]),
    ("gold2.csv", ["--label", "label_final"]),
    ("attr.csv", []),
    ("attr.csv", ["--attributes", "hint"]),
    ("L_train.npy Y_train.npy", []),
    ("ck.csv ck_gt.csv", []),
    ("toloka.tsv.gz", []),
    ("labelstudio.json.gz", []),
    ("lm_eval/samples_*.jsonl.gz", []),
    ("amt_rte.csv.gz", []),
    ("answer.csv truth.csv", []),
    ("figure_eight.csv", []),
    ("enh_crowd.csv enh_gt.csv", ["--label", "melanoma"]),
]
BLOCKS = 10


def files_of(folder: Path, names: str) -> list[str]:
    """The files that names with wildcards stand for."""
    return [str(path) for name in names.split() for path in sorted(folder.glob(name))]


def fuse(files: list[str], options: list[str]) -> tuple[dict[str, Any], float, float]:
    """The findings, the seconds and the peak memory in megabytes of `linmax fuse`."""
    program = [sys.executable, "-c", "from linmax_program import main; main()", "fuse", *files, *options]
    cost, output = time_process([*program, "--json"])
    return json.loads(output), cost.wall, cost.megabytes


def stacking(files: list[str], options: list[str]) -> float | None:
    """The accuracy of logistic regression on one-hot votes or scores, block by block; None without labels."""
    from sklearn.linear_model import LogisticRegression

    from linmax import Fusion
    from linmax.cli.inputs import choose_order
    from linmax.panels.panel import read_panel
    from linmax.panels.roles.column_role import PanelOptions

    given = dict(zip([name.removeprefix("--") for name in options[::2]], options[1::2], strict=True))
    label, attributes = given.get("label"), tuple(given.get("attributes", "").split())
    panel = read_panel(files, PanelOptions(label=label, attributes=attributes))
    chunk = panel.chunk
    if chunk is None or chunk.raw_labels is None:
        return None
    seed = choose_order(panel, None, False).seed
    if seed is not None:
        chunk = chunk.take(np.random.default_rng(seed).permutation(chunk.items))
    names = {name: i for i, name in enumerate(panel.classes.names)}
    y = np.array([names.get(name, -1) for name in chunk.labels.tolist()])
    session = Fusion(classes=panel.classes.names, abstain=None)
    batch = session.read(chunk.votes, chunk.raw_labels)
    votes = x = one_hot(batch, len(names))
    if chunk.attributes is not None:
        texts = [[str(value) for value in row.values()] for row in chunk.attribute_dicts()]
        columns = [np.unique(column, return_inverse=True)[1] for column in np.array(texts).T]
        x = np.hstack([x, *(np.eye(column.max() + 1)[column] for column in columns)])
    rows = np.flatnonzero(y >= 0)
    x, y, votes = x[rows], y[rows], votes[rows].reshape(len(rows), -1, len(names)).sum(axis=1)
    right, cuts = 0, np.linspace(0, len(y), BLOCKS + 1).astype(int)
    for begin, end in pairwise(cuts.tolist()):
        if len(set(y[:begin])) > 1:
            found = LogisticRegression(max_iter=500).fit(x[:begin], y[:begin]).predict(x[begin:end])
        else:
            found = votes[begin:end].argmax(axis=1)
        right += int((found == y[begin:end]).sum())
    return right / len(y)


def one_hot(batch: Any, classes: int) -> np.ndarray:
    """Votes or scores as a matrix with a column per expert and class."""
    votes, experts = batch.votes, batch.experts_seen
    found = np.zeros((batch.trials, experts, classes))
    if hasattr(votes, "codes"):
        t, i = np.nonzero((votes.codes >= 0) & (votes.codes < classes))
        found[t, i, votes.codes[t, i]] = 1.0
    elif hasattr(votes, "values"):
        found = votes.values[:, :, :classes]
    else:
        t = np.repeat(np.arange(batch.trials), np.diff(votes.indptr))
        keep = votes.label < classes
        found[t[keep], votes.expert[keep], votes.label[keep]] = votes.value[keep]
    return found.reshape(batch.trials, -1)


def main() -> None:
    """Print the table as Markdown."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/shapes")
    print("| file | options | verdict | items | linmax | plurality | stacking | seconds | MB | warnings |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for names, options in CORPUS:
        files = files_of(folder, names)
        found, seconds, peak = fuse(files, options)
        plurality = next((one["accuracy"] for one in found["baselines"] if one["name"] == "plurality"), None)
        stacked = stacking(files, options)
        cells = [names, " ".join(options) or "none", found["verdict"], found["items"]]
        cells += ["" if one is None else f"{one:.3f}" for one in (found["accuracy"], plurality, stacked)]
        cells += [f"{seconds:.1f}", f"{peak:.0f}", ", ".join(one["code"] for one in found["warnings"])]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
