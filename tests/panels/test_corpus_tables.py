"""The files of the corpus of shapes, where it is present."""

from __future__ import annotations

from pathlib import Path

import pytest

from linmax.panels.table import load_table

CORPUS = Path(__file__).parents[3] / "shared" / "data" / "shapes"
SHAPES = {
    "L_train.npy": (600, 5),
    "NA.csv": (600, 7),
    "Y_train.npy": (600, 1),
    "amt_rte.csv.gz": (8000, 10),
    "conf.csv": (600, 14),
    "excel.csv": (600, 17),
    "figure_eight.csv": (150, 21),
    "labelstudio.json.gz": (3000, 4),
    "lm_eval/samples_gpt4.jsonl.gz": (600, 5),
    "snorkel.csv": (600, 7),
    "toloka.tsv.gz": (3000, 9),
}


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of shapes is not present")
@pytest.mark.parametrize("name", SHAPES)
def test_a_file_of_the_corpus_is_read(name: str) -> None:
    table = load_table(CORPUS / name)
    assert table.data.shape == SHAPES[name]
    assert table.complete
