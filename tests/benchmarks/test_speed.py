"""The benchmark of speed, one tiny cell of each part; no peers' environment is needed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from benchmarks import committee, latency, sizing, speed, twin
from benchmarks.measuring import Cost, machine
from benchmarks.peers.desk import ROOT, Desk, PeerError
from benchmarks.peers.timed import river, vw
from benchmarks.peers.timed.rows import Rows, one_hot, read, write
from benchmarks.speed import attributes, core, own, votes
from benchmarks.speed.losses import SINGLES, faster
from benchmarks.speed.losses import told as told_losses
from benchmarks.speed.race import asked, race, told
from linmax.problems import majority

PLAN = sizing.Plan(0.001, 1)
RIVER = "River one against the rest"
CHUNKS = "scikit-learn SGDClassifier, chunks"


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    """The clerk runs in this environment, which has River and scikit-learn, but no Vowpal Wabbit."""
    with Desk(interpreter=Path(sys.executable)) as made:
        yield made


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    panel = majority(3000, experts=5, classes=3, relevant=3)
    rows = Rows(panel.votes, None, panel.labels, 3)
    return write(tmp_path_factory.mktemp("rows") / "rows.npz", rows)


def test_a_peer_is_timed_in_a_process_of_its_own_and_guesses_before_it_learns(desk: Desk, file: Path) -> None:
    answer = desk.ask(CHUNKS, file, 2500)
    assert answer.cost.wall > 0
    assert answer.cost.cpu > 0
    assert answer.cost.megabytes > 20
    rows = read(file).first(2500)
    blind = np.count_nonzero(rows.labels[:1000])
    assert blind < answer.mistakes < 2500
    learner, mistakes = SGDClassifier(), blind
    for at in (0, 1000, 2000):
        part = slice(at, at + 1000)
        if at:
            mistakes += np.count_nonzero(learner.predict(rows.matrix()[part]) != rows.labels[part])
        learner.partial_fit(rows.matrix()[part], rows.labels[part], np.arange(3))
    assert abs(answer.mistakes - mistakes) < 400  # it shuffles each chunk at random
    assert desk.ask(RIVER, file, 200).mistakes == desk.ask(RIVER, file, 200).mistakes


def test_a_failing_peer_is_named_and_the_others_go_on(desk: Desk, file: Path) -> None:
    with pytest.raises(PeerError, match=r"VW oaa, file failed: ModuleNotFoundError: .*vowpalwabbit"):
        desk.ask("VW oaa, file", file, 10)
    with pytest.raises(PeerError, match="River softmax failed: ValueError: there are 3000 rows, not 4000"):
        desk.ask("River softmax", file, 4000)
    assert desk.ask("River softmax", file, 10).mistakes <= 10


def test_a_process_that_is_gone_is_told_and_started_again(file: Path) -> None:
    with Desk(interpreter=Path(sys.executable)) as desk:
        desk.ask(RIVER, file, 10)
        assert desk.process is not None
        desk.process.kill()
        desk.process.wait()
        with pytest.raises(PeerError, match="River one against the rest failed: its process ended with -9"):
            desk.ask(RIVER, file, 10)
        assert desk.ask(RIVER, file, 10).mistakes <= 10


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends when its pipe does")
def test_the_clerk_dies_with_who_started_it(file: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
from benchmarks.peers.desk import Desk
desk = Desk(interpreter=Path(sys.executable))
desk.ask({RIVER!r}, Path({str(file)!r}), 10)
print(desk.process.pid, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    clerk = int(parent.stdout.readline())
    os.kill(clerk, 0)
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    for _ in range(100):
        if not alive(clerk):
            return
        time.sleep(0.1)
    pytest.fail("the clerk goes on without anybody to ask it")


def alive(pid: int) -> bool:
    """Is there such a process, and does it run?"""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0]
    except FileNotFoundError:
        return False


def test_without_the_environment_it_says_why(tmp_path: Path) -> None:
    assert "not installed" in Desk(tmp_path, install=False).missing()


def test_one_vote_is_one_feature_for_every_peer() -> None:
    said = np.array([[1, -1, 0], [2, 2, -1]], dtype=np.int32)
    assert one_hot(said, 3).toarray().nonzero()[1].tolist() == [1, 6, 2, 5]
    assert vw.lines_by_class([1, -1, 1], 2, 3) == "1:1 |\n2:1 | 0 2\n3:0 |"
    rows = Rows(said, None, np.array([0, 2]), 3)
    assert list(vw._texts("--oaa 3", rows)) == ["1 | 1 6", "3 | 2 5"]
    assert river.dicts(rows) == [{"0=1": 1, "2=0": 1}, {"0=2": 1, "1=2": 1}]


def test_attributes_come_back_from_a_file_and_reach_peers_without_their_zeros(tmp_path: Path) -> None:
    made = attributes.texts(30, words=500, length=10)
    again = read(write(tmp_path / "texts.npz", made))
    assert (again.attributes != made.attributes).nnz == 0
    assert np.allclose(made.attributes.multiply(made.attributes).sum(axis=1), 1)
    dense = Rows(None, made.attributes.toarray(), made.labels, made.k)
    assert list(vw._texts("--oaa 10", dense)) == list(vw._texts("--oaa 10", made))
    assert river.dicts(dense) == river.dicts(made)


def test_rows_fill_a_time_beyond_the_start() -> None:
    def work(rows: int) -> Cost:
        return Cost(0.0, 0.02 + rows * 1e-4)

    assert sizing.enough(work, 0.1, 20, 10**6) == 1000
    assert sizing.enough(work, 0.1, 20, 300) == 200
    assert sizing.enough(lambda rows: Cost(0.0, float(rows)), 0.1, 20, 10**6) == 20


def test_one_row_more_is_told_without_the_start() -> None:
    found = told([Cost(1.1, 1.2)] * 3, 105, [Cost(0.1, 0.2)] * 3)
    assert found["more"]["wall"] == [1e7] * 3
    assert found["more"]["cpu"] == [1e7] * 3
    assert found["start"]["cpu"] == [2e8] * 3
    assert found["whole"]["wall"][0] == pytest.approx(1.1e9 / 105, rel=1e-3)


def test_everybody_makes_the_mistakes_that_the_session_makes(desk: Desk, file: Path) -> None:
    rows = read(file)
    assert rows.votes is not None
    c = twin.compiled()
    runs = own.runs(rows.votes, rows.labels, 3, c)
    runs = {name: run for name, run in runs.items() if "Winnow" in name}
    runs["VW oaa, file"] = asked(desk, "VW oaa, file", file)
    found = race(runs, dict.fromkeys(runs, 2000), sizing.Plan(0.05, 1))
    assert "vowpalwabbit" in found["VW oaa, file"]["left out"]
    mistakes = {name: one["of the first"] for name, one in found.items() if "of the first" in one}
    assert own.SINGLE in mistakes
    assert len({tuple(counts) for counts in mistakes.values()}) == 1


def test_the_page_has_every_method_and_says_where_a_peer_is_faster(tmp_path: Path) -> None:
    methods: dict[str, Any] = {own.SINGLE: figures(100.0), own.ONE: figures(9000.0)}
    methods |= {RIVER: figures(50_000.0), "VW oaa, file": figures(50.0), CHUNKS: {"left out": "no room"}}
    cells = [{"n": n, "k": k, "methods": methods} for k in (2, 5) for n in (5, 20)]
    linear = {attributes.SINGLE: figures(1000.0), RIVER: figures(5000.0)}
    results = {
        **machine(),
        "rounds": 3,
        "missing": [],
        "votes": cells,
        "attributes": [{"set": "digits", "attributes": 64, "nonzeros": 31.5, "methods": linear}],
        "c": [],
        "one_by_one": core.one_by_one(50, 1),
        "default": [{"part": "learn_one", "us": 37.2}],
        "committee": [],
    }
    assert json.loads(json.dumps(results)) == results
    text = speed.page(results)
    assert "| River one against the rest | 50 (50) x 5.6 | 50 (50) x 5.6 |" in text  # beside learn_one
    assert "| VW oaa, file | 0.05 (0.05) x 0.5 |" in text
    assert "no room" in text
    lost = faster(cells, SINGLES)
    assert list(lost) == [("VW oaa, file", own.SINGLE)]
    assert lost["VW oaa, file", own.SINGLE].startswith("n = 5, k = 2 (2.00 times); n = 20, k = 2")
    assert "| VW oaa, file | linmax Winnow | n = 5, k = 2 (2.00 times);" in text
    assert told_losses({str(at): 2.0 + at for at in range(5)}, 9) == "5 of 9 cells (2.00 to 6.00 times)"
    assert any("River one against the rest takes 5.56 times" in line for line in speed.found(results))
    speed.draw(results, tmp_path / "speed.png")
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".svg"}


def figures(nanoseconds: float) -> dict[str, Any]:
    """A method that always takes this long."""
    costs = [Cost(1e-9 * nanoseconds * 1005, 1e-9 * nanoseconds * 1005)] * 3
    start = [Cost(1e-9 * nanoseconds * 5, 1e-9 * nanoseconds * 5)] * 3
    return {"rows": 1005, "mistakes": 10, **told(costs, 1005, start)}


def test_one_cell_of_the_grid_runs_without_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(votes, "MOST", 200)
    monkeypatch.delitem(own.LEARNERS, "linmax default")
    monkeypatch.delitem(own.SINGLY, "linmax default, one by one")
    said: list[str] = []
    (cell,) = votes.grid([(5, 2)], None, None, PLAN, lambda what, _: said.append(what))
    assert said == ["5 experts, 2 classes"]
    assert set(cell["methods"]) == {*own.LEARNERS, *own.SINGLY}
    assert all(one["rows"] <= 200 for one in cell["methods"].values())


def test_attributes_are_raced_dense_and_sparse_to_the_same_mistakes() -> None:
    (found,) = attributes.everybody(
        {"digits": attributes.digits(1)}, None, sizing.Plan(0.05, 1), lambda *_: None
    )
    first = {name: one["of the first"][0] for name, one in found["methods"].items()}
    assert first["linmax Perceptron"] == first["linmax Perceptron, as CSR"]
    assert first["linmax averaged"] < first["linmax Perceptron"]


def test_the_c_twin_makes_the_very_same_mistakes() -> None:
    c = twin.compiled()
    if c is None:
        pytest.skip("no C compiler here")
    for row in core.against_c(c, 20, 5_000, 1):
        assert row["mistakes"][0] == row["mistakes"][1]
        assert row["ratio"][0] > 0


def test_one_item_at_a_time_is_measured() -> None:
    rows = core.one_by_one(100, 1)
    assert {row["call"] for row in rows} == {"learn_one", "predict_one"}
    assert all(row["cpu_us"][0] > 0 for row in rows)


def test_the_parts_of_the_default_add_up() -> None:
    whole, _, *parts = latency.by_part(100, 1)
    assert whole["us"] == pytest.approx(sum(part["us"] for part in parts))


def test_one_thread_is_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(committee.THREADS, "2")
    with committee.one_thread():
        assert os.environ[committee.THREADS] == "1"
    assert os.environ[committee.THREADS] == "2"
