"""The options of decisions: answers, sets of classes, and experts that are asked one by one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

MaxError = Annotated[
    float | None,
    typer.Option(
        "--max-error",
        metavar="SHARE",
        help="Answer only items where at most this share of the answers is wrong, such as 0.02.",
    ),
]
Coverage = Annotated[
    float | None,
    typer.Option(
        "--coverage", metavar="SHARE", help="Give sets with the label in this share of items, such as 0.95."
    ),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        metavar="FILE.csv",
        help="An expert and its price in each line.",
        show_default="1 for each expert",
    ),
]


@dataclass(frozen=True)
class PredictOptions:
    """What `linmax predict` writes."""

    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            help="The file for the predictions: .csv, .tsv, .jsonl or .parquet.",
            show_default="standard output, as CSV",
        ),
    ] = None
    max_error: MaxError = None
    coverage: Coverage = None


@dataclass(frozen=True)
class ConsultOptions:
    """How `linmax consult` asks experts."""

    prices: Prices = None
    risk: Annotated[
        float,
        typer.Option(
            "--risk", min=0, max=0.5, help="The share of predictions that may differ from the full panel's."
        ),
    ] = 0.0
    confidence: Annotated[
        float,
        typer.Option("--confidence", min=0.5, max=0.9999, help="The probability with which that holds."),
    ] = 0.95
    batch: Annotated[int, typer.Option("--batch", min=1, help="How many experts are asked at a time.")] = 1
    subsets: Annotated[
        bool, typer.Option("--subsets", help="Also find the best fixed subset of each size, in hindsight.")
    ] = False
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE.png", help="Draw accuracy against cost."),
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False
