"""Small cells of the experiments on hypothesis sharing, on made-up data where the papers' are needed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import data as files
from experiments import sharing_figures, sharing_learned_sets, sharing_table_1
from experiments.interface import Experiment, Found
from experiments.sharing_figures.cells import SETS
from experiments.sharing_learned_sets.cells import groups, tree_of
from experiments.sharing_table_1.streams import COEFFICIENTS, IMAGES, PEOPLE, faces
from linmax._jit.compilation import interpreted
from tests.experiments.test_experiments import complete
from tests.helpers.examples import EVERYTHING

TRIALS = 15


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Letters, faces, words and small streams that nobody has seen."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    for name in ("letter", "isolet", "enron", "yaleb", "uci_streams"):
        (folder / name).mkdir()
    labels = rng.integers(0, 4, 80)
    np.savez(folder / files.LETTER, X=rng.integers(0, 16, (80, 3)).astype(np.uint8), y=labels)
    isolet = rng.integers(-(10**4), 10**4, (80, 4)).astype(np.int16)
    np.savez(folder / files.ISOLET, X_times_10000=isolet, y=labels, subset=rng.integers(1, 6, 80))
    words = np.sort(rng.permuted(np.tile(np.arange(30), (80, 1)), axis=1)[:, :5], axis=1)
    for name in (files.KAMINSKI, files.BECK):
        indptr = np.arange(0, 401, 5)
        np.savez(folder / name, indices=words.ravel(), indptr=indptr, shape=(80, 30), y=labels)
    people = np.repeat(np.arange(PEOPLE + 1), IMAGES)
    pixels = rng.integers(0, 256, (len(people), COEFFICIENTS + 4)).astype(np.uint8)
    np.savez(folder / files.YALEB, X=pixels, y=people)
    for name in files.KEEL:
        np.savez(folder / f"uci_streams/{name}.npz", X=rng.normal(size=(80, 3)), y=labels)
    return folder


def run_small(one: Experiment, data: Path, trials: int = TRIALS) -> dict[str, Any]:
    cells = [cell | {"trials": min(cell["trials"], trials)} for cell in one.cells(2, True)]
    with interpreted():
        return one.gather([Found(cell, one.run(cell, data)) for cell in cells])


@pytest.mark.parametrize(
    ("one", "trials"),
    [(sharing_figures, TRIALS), (sharing_table_1, 8 if EVERYTHING else 5), (sharing_learned_sets, TRIALS)],
)
def test_a_small_cell_of_each_gives_tables_verdicts_and_a_picture(one: Any, trials: int, data: Path) -> None:
    complete(one.EXPERIMENT, run_small(one.EXPERIMENT, data, trials))


def test_the_figures_of_2006_are_judged_by_who_is_ahead_and_when() -> None:
    """Straight lines to the reference's levels, but for penguin, where one vector is ahead at first."""
    points = np.linspace(0, 1, 251)[1:]
    found = []
    for one in SETS:
        levels = sharing_figures.EXPECTED["reference"][one]
        value: dict[str, Any] = {method: (level[0] * points).tolist() for method, level in levels.items()}
        if one == "penguin":
            value["multi"] = (levels["multi"][0] * points**0.2).tolist()
        found.append(Found({"set": one, "seed": 0, "trials": 8000}, value | {"ahead": 0}))
    judged = [outcome.judgement for outcome in sharing_figures.judge(sharing_figures.gather(found))]
    assert judged == ["reproduced"] * 6 + ["not reproduced"]


def test_classes_that_are_taken_for_each_other_come_together_first() -> None:
    labels = np.repeat(np.arange(4), 50)
    guesses = labels.copy()
    guesses[:20], guesses[50:70], guesses[100:105] = 1, 0, 3
    assert sorted(map(sorted, tree_of(guesses, labels).values())) == [[0, 1], [2, 3]]


def test_in_the_groups_five_attributes_tell_the_class() -> None:
    attributes, labels = groups(0, 500)
    assert labels.max() == 31
    codes = {tuple(row[:2]) for row in attributes[labels < 8]}
    assert codes == {(-1.0, -1.0)}


def test_faces_are_sixty_coefficients_of_standard_deviation_one(data: Path) -> None:
    found = faces(data / files.YALEB)
    assert found.attributes.shape == (PEOPLE * IMAGES, COEFFICIENTS)
    assert found.attributes.std(axis=0) == pytest.approx(1.0)
