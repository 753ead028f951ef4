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

from benchmarks import c_reference, latency, row_counts, speed, vr_combine
from benchmarks.peers.peer_client import ROOT, PeerError, PeerTimer
from benchmarks.peers.timed import river, vw
from benchmarks.peers.timed.rows import Rows, one_hot, read, write
from benchmarks.speed import attributes, core, linmax_methods, votes
from benchmarks.speed.faster_peers import SINGLES, describe_cells, faster
from benchmarks.speed.time_methods import peer_run, summarize_times, time_methods
from benchmarks.timing import Cost, machine
from linmax.problems import majority

PLAN = row_counts.Plan(0.001, 1)
RIVER = "River one against the rest"
CHUNKS = "scikit-learn SGDClassifier, chunks"


@pytest.fixture(scope="module")
def timer() -> Iterator[PeerTimer]:
    """The server runs in this environment, which has River and scikit-learn, but not Vowpal Wabbit."""
    with PeerTimer(interpreter=Path(sys.executable)) as made:
        yield made


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    panel = majority(3000, experts=5, classes=3, relevant=3)
    rows = Rows(panel.votes, None, panel.labels, 3)
    return write(tmp_path_factory.mktemp("rows") / "rows.npz", rows)


def test_a_peer_is_timed_in_its_own_process_and_predicts_before_it_learns(
    timer: PeerTimer, file: Path
) -> None:
    answer = timer.run(CHUNKS, file, 2500)
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
    assert timer.run(RIVER, file, 200).mistakes == timer.run(RIVER, file, 200).mistakes


def test_a_failing_peer_is_named_and_the_others_continue(timer: PeerTimer, file: Path) -> None:
    with pytest.raises(PeerError, match=r"VW oaa, file failed: ModuleNotFoundError: .*vowpalwabbit"):
        timer.run("VW oaa, file", file, 10)
    with pytest.raises(PeerError, match="River softmax failed: ValueError: there are 3000 rows, not 4000"):
        timer.run("River softmax", file, 4000)
    assert timer.run("River softmax", file, 10).mistakes <= 10


@pytest.mark.slow
def test_a_process_that_has_ended_is_reported_and_restarted(file: Path) -> None:
    with PeerTimer(interpreter=Path(sys.executable)) as timer:
        timer.run(RIVER, file, 10)
        assert timer.server is not None
        timer.server.process.kill()
        timer.server.process.wait()
        with pytest.raises(PeerError, match="River one against the rest failed: its process ended with -9"):
            timer.run(RIVER, file, 10)
        assert timer.run(RIVER, file, 10).mistakes <= 10


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends with its input")
def test_the_server_ends_with_its_parent(file: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
from benchmarks.peers.peer_client import PeerTimer
timer = PeerTimer(interpreter=Path(sys.executable))
timer.run({RIVER!r}, Path({str(file)!r}), 10)
print(timer.server.process.pid, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    server = int(parent.stdout.readline())
    os.kill(server, 0)
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    for _ in range(100):
        if not alive(server):
            return
        time.sleep(0.1)
    pytest.fail("the server continues without its parent")


def alive(pid: int) -> bool:
    """Whether the process exists and runs."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0]
    except FileNotFoundError:
        return False


def test_a_missing_environment_has_a_reason(tmp_path: Path) -> None:
    assert "not installed" in PeerTimer(tmp_path, install=False).missing()


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


def test_row_counts_take_a_time_beyond_the_start_up() -> None:
    def work(rows: int) -> Cost:
        return Cost(0.0, 0.02 + rows * 1e-4)

    assert row_counts.choose_row_count(work, 0.1, 20, 10**6) == 1000
    assert row_counts.choose_row_count(work, 0.1, 20, 300) == 200
    assert row_counts.choose_row_count(lambda rows: Cost(0.0, float(rows)), 0.1, 20, 10**6) == 20


def test_time_per_additional_row_excludes_the_start_up() -> None:
    found = summarize_times([Cost(1.1, 1.2)] * 3, 105, [Cost(0.1, 0.2)] * 3)
    assert found["more"]["wall"] == [1e7] * 3
    assert found["more"]["cpu"] == [1e7] * 3
    assert found["start"]["cpu"] == [2e8] * 3
    assert found["whole"]["wall"][0] == pytest.approx(1.1e9 / 105, rel=1e-3)


def test_all_methods_of_linmax_make_the_same_mistakes(timer: PeerTimer, file: Path) -> None:
    rows = read(file)
    assert rows.votes is not None
    c = c_reference.compile_reference()
    runs = linmax_methods.runs(rows.votes, rows.labels, 3, c)
    runs = {name: run for name, run in runs.items() if "Winnow" in name}
    runs["VW oaa, file"] = peer_run(timer, "VW oaa, file", file)
    found = time_methods(runs, dict.fromkeys(runs, 2000), row_counts.Plan(0.05, 1))
    assert "vowpalwabbit" in found["VW oaa, file"]["left out"]
    mistakes = {name: one["of the first"] for name, one in found.items() if "of the first" in one}
    assert linmax_methods.SINGLE in mistakes
    assert len({tuple(counts) for counts in mistakes.values()}) == 1


def test_the_page_has_every_method_and_says_where_a_peer_is_faster(tmp_path: Path) -> None:
    methods: dict[str, Any] = {linmax_methods.SINGLE: figures(100.0), linmax_methods.ONE: figures(9000.0)}
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
    assert list(lost) == [("VW oaa, file", linmax_methods.SINGLE)]
    assert lost["VW oaa, file", linmax_methods.SINGLE].startswith("n = 5, k = 2 (2.00 times); n = 20, k = 2")
    assert "| VW oaa, file | linmax Winnow | n = 5, k = 2 (2.00 times);" in text
    assert describe_cells({str(at): 2.0 + at for at in range(5)}, 9) == "5 of 9 cells (2.00 to 6.00 times)"
    assert any("River one against the rest takes 5.56 times" in line for line in speed.highlights(results))
    speed.draw(results, tmp_path / "speed.png")
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".svg"}


def figures(nanoseconds: float) -> dict[str, Any]:
    """A method that always takes this long."""
    costs = [Cost(1e-9 * nanoseconds * 1005, 1e-9 * nanoseconds * 1005)] * 3
    start = [Cost(1e-9 * nanoseconds * 5, 1e-9 * nanoseconds * 5)] * 3
    return {"rows": 1005, "mistakes": 10, **summarize_times(costs, 1005, start)}


def test_one_cell_of_the_grid_runs_without_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(votes, "MOST", 200)
    monkeypatch.delitem(linmax_methods.LEARNERS, "linmax default")
    monkeypatch.delitem(linmax_methods.ONE_BY_ONE, "linmax default, one by one")
    reported: list[str] = []
    (cell,) = votes.grid([(5, 2)], None, None, PLAN, lambda what, _: reported.append(what))
    assert reported == ["5 experts, 2 classes"]
    assert set(cell["methods"]) == {*linmax_methods.LEARNERS, *linmax_methods.ONE_BY_ONE}
    assert all(one["rows"] <= 200 for one in cell["methods"].values())


def test_dense_and_sparse_attributes_give_the_same_mistakes() -> None:
    (found,) = attributes.time_all(
        {"digits": attributes.digits(1)}, None, row_counts.Plan(0.05, 1), lambda *_: None
    )
    first = {name: one["of the first"][0] for name, one in found["methods"].items()}
    assert first["linmax Perceptron"] == first["linmax Perceptron, as CSR"]
    assert first["linmax averaged"] < first["linmax Perceptron"]


def test_the_c_reference_makes_the_same_mistakes() -> None:
    c = c_reference.compile_reference()
    if c is None:
        pytest.skip("no C compiler here")
    for row in core.compare_with_c(c, 20, 5_000, 1):
        assert row["mistakes"][0] == row["mistakes"][1]
        assert row["int8_ratio"][0] > 0
        assert row["int32_ratio"][0] > 0


def test_one_item_at_a_time_is_measured() -> None:
    rows = core.one_by_one(100, 1)
    assert {row["call"] for row in rows} == {"learn_one", "predict_one"}
    assert all(row["cpu_us"][0] > 0 for row in rows)


def test_the_parts_of_the_default_add_up() -> None:
    whole, _, *parts = latency.by_part(100, 1)
    assert whole["us"] == pytest.approx(sum(part["us"] for part in parts))


def test_one_thread_is_temporary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(vr_combine.THREADS, "2")
    with vr_combine.one_thread():
        assert os.environ[vr_combine.THREADS] == "1"
    assert os.environ[vr_combine.THREADS] == "2"


def test_a_start_that_varies_by_more_than_the_rows_take_gives_no_time_per_row() -> None:
    whole, start = [Cost(2.0, 2.0), Cost(2.1, 2.1)], [Cost(1.0, 1.0), Cost(1.1, 1.1)]
    assert summarize_times(whole, 1000, start)["more"]["cpu"][0] > 0
    assert "more" not in summarize_times(start, 1000, whole)
    assert "the start varies" in summarize_times(start, 1000, whole)["left out"]
