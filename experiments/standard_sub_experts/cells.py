"""Mistakes in one pass over streams with attributes, calendars and texts, with and without sub-experts."""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.problem import Stream
from benchmarks.quality.streams import OTHERS, UCI, plain, stream
from experiments.interface import Cell
from experiments.standard_sub_experts.generators import TRIED, votes, votes_on_words
from linmax import Averaged, Fusion, Logistic, Winnow, recommended
from linmax.experts import (
    Neighbours,
    Pairs,
    ScaledAttributes,
    Thresholds,
    ValueTables,
    Votes,
    standard,
    text_ngrams,
)
from linmax.problems import calendar
from linmax.problems.calendar import TARGETS

FILES = {f"uci_streams/{name}.npz": plain for name in UCI} | OTHERS
TEXTS = "trec_rules_votes/trec_text.csv.gz"
QUESTIONS = 2000  # of each order
RULE = Logistic(1.0, decay="adagrad", initial=0.01)
LINEAR = ScaledAttributes(unit=True)
DEFAULT, BOTH, ONE, PLAIN, WINNOW = (
    "the default", "the default with standard()", "one rule on standard()", "one rule on attributes",
    "averaged Winnow on Neighbours()",
)  # fmt: skip
TABLES: dict[str, Any] = {
    "Pairs()": Pairs(),
    **{repr(source): source for source in (ValueTables(1), ValueTables(2), ValueTables(3, tables=8000))},
    "ValueTables(1) + ValueTables(2)": ValueTables(1) + ValueTables(2),
}
RUNS_OF_WORDS: dict[str, dict[str, Any]] = {
    "words": {"words": (1,), "characters": ()},
    "words and pairs": {"words": (1, 2), "characters": ()},
    "and 3 to 5 characters": {},
    "the same, 2^18 columns": {"columns": 1 << 18},
}
ALPHAS = (1.2, 1.5, 3.0)
FIRST_SEED = 100  # the sources were chosen on the seeds 0 to 4


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per stream and order, calendar, and order of texts; in quick mode narrow calendars."""
    seeds = range(FIRST_SEED, FIRST_SEED + runs)
    sizes = {"meetings": 100, "columns": 5} if quick else {"meetings": 553, "columns": 37}
    made: list[Cell] = [
        {"calendar": target, "seed": seed, **sizes} for target in TARGETS[-quick:] for seed in seeds
    ]
    if quick:
        return made
    orders = (*range(runs), *seeds)  # those of the other libraries' figures, and new ones
    streams = [{"stream": file, "order": order} for file in FILES for order in orders]
    return streams + made + [{"texts": TEXTS, "seed": seed} for seed in seeds]


def run(cell: Cell, data: Path) -> dict[str, Any]:
    """Return mistakes and microseconds by method; empty if a file is missing."""
    if "calendar" in cell:
        return _on_calendar(cell)
    if not (data / cell.get("stream", TEXTS)).is_file():
        return {}
    return _on_texts(data / TEXTS, cell["seed"]) if "texts" in cell else _on_stream(cell, data)


@lru_cache(maxsize=1)
def _stream(path: Path, file: str) -> Stream:
    return stream(path / file, FILES[file])


def _on_stream(cell: Cell, data: Path) -> dict[str, Any]:
    feed = _stream(data, cell["stream"]).feed(str(cell["order"]))
    text = feed.form == "words"
    source = standard({"all": "text" if text else "number"})
    learners = {
        DEFAULT: recommended(votes=False, attributes=True),
        BOTH: recommended(votes=False, attributes=True, experts=source),
        ONE: RULE.on(source),
        PLAIN: RULE.on(LINEAR),
        WINNOW: Averaged(Winnow(1.2)).on(Neighbours(unit=text) + Thresholds()),
    }
    found: dict[str, Any] = {"mistakes": {}, "microseconds": {}, "tried": {}}
    for name, learner in learners.items():
        Fusion(learner, classes=range(feed.k)).learn(attributes=feed.raw[:50], labels=feed.labels[:50])
        fusion, before = Fusion(learner, classes=range(feed.k)), time.process_time()
        found["mistakes"][name] = fusion.learn(attributes=feed.raw, labels=feed.labels).mistakes
        found["microseconds"][name] = (time.process_time() - before) / len(feed.labels) * 1e6
    if cell["order"] >= FIRST_SEED:
        labels = feed.labels.astype(np.int64)
        for name, panel in (_panels_of_words if text else _panels)(feed.raw, labels, feed.k):
            fusion = Fusion(RULE.on(Votes() + LINEAR), classes=range(feed.k))
            found["tried"][name] = fusion.learn(panel, feed.labels, attributes=feed.raw).mistakes
    return found


def _panels(rows: np.ndarray, labels: np.ndarray, k: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the votes of each generator that was tried."""
    scaled = _standardised(rows)
    for name in list(TRIED)[1:]:
        yield name, votes(name, scaled, labels, k)


def _panels_of_words(rows: Any, labels: np.ndarray, k: int) -> Iterator[tuple[str, np.ndarray]]:
    yield "naive Bayes", votes_on_words(rows.tocsr(), labels, k)


def _standardised(rows: np.ndarray) -> np.ndarray:
    """Return rows with the mean and deviation of all rows up to themselves."""
    count = np.arange(1, len(rows) + 1)[:, None]
    mean = rows.cumsum(axis=0) / count
    variance = np.maximum((rows**2).cumsum(axis=0) / count - mean**2, 0.0)
    return np.where(variance > 1e-12, (rows - mean) / np.sqrt(np.maximum(variance, 1e-12)), 0.0)


def _on_calendar(cell: Cell) -> dict[str, Any]:
    attributes, labels = calendar(cell["meetings"], seed=cell["seed"]).task(cell["calendar"])
    attributes = attributes[:, : cell["columns"]]
    return {
        f"{name}, {alpha:g}": Fusion(Winnow(alpha).on(source + Thresholds()))
        .learn(attributes=attributes, labels=labels)
        .mistakes
        for name, source in TABLES.items()
        for alpha in ALPHAS
    }


def _on_texts(path: Path, seed: int) -> dict[str, Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    order = np.random.default_rng(seed).permutation(len(rows))[:QUESTIONS]
    texts, labels = [rows[i]["question"] for i in order], [int(rows[i]["label"]) for i in order]
    found = {}
    for name, options in RUNS_OF_WORDS.items():
        attributes = text_ngrams(texts, **options)
        fusion = Fusion(RULE.on(LINEAR), classes=range(6))
        found[name] = fusion.learn(attributes=attributes, labels=labels).mistakes
    return found
