"""The same results from a Ray cluster as from one process, and after a node was lost in the middle of a job."""

import threading
import time
from pathlib import Path

import pytest

from engine.basics.errors import Cancelled, InvalidInput
from engine.jobs import Watch, run_job
from engine.jobs.ray_executor import RayExecutor, connected
from engine.problems import ProblemSource
from engine.runs import scores as score_runs
from engine.scoring.scoring import Scoring
from tests.engine.jobs.kinds import tally

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SOURCE = ProblemSource(dataset="digits", n_train=300, n_test=12, n_queries=5, n_candidates=300, pool=2, l2=1e-2)
SCORINGS = [Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"}),
            Scoring.of("hard_margin", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}, "first_order")]


@pytest.fixture(scope="module")
def cluster():
    """Two nodes on this machine, each with one core; a third is added where one is to be lost."""
    ray = pytest.importorskip("ray", reason="Ray is not installed (requirements-cluster.txt)")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))  # where the nodes find the kinds of these tests
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        made.add_node(num_cpus=1)
        connected(made.address)
        yield made
        ray.shutdown()
        made.shutdown()


def payload(folder, **more):
    return {"chunks": 6, "tally": str(folder / "tally"), "mended": str(folder / "mended"), **more}


def contents(result):
    return {name: entry["sha256"] for name, entry in result.manifest["files"].items()}


def test_scores_are_bit_identical_to_those_of_one_process(cluster, tmp_path):
    data = score_runs.payload(SOURCE, SCORINGS)
    assert len(score_runs.plan(data)) > 3
    local, remote = (run_job(score_runs.KIND, data, tmp_path / name, executor=executor)
                     for name, executor in (("local", None), ("remote", RayExecutor())))
    assert contents(local) == contents(remote) and local.digest == remote.digest


def test_a_node_lost_in_the_middle_costs_its_chunk_alone(cluster, tmp_path):
    third, data = cluster.add_node(num_cpus=1), payload(tmp_path, sleep=2.0)
    expected = run_job("slow", {**data, "sleep": 0.0, "tally": str(tmp_path / "other")}, tmp_path / "local")

    def lose():
        while not tally(data):
            time.sleep(0.05)
        cluster.remove_node(third, allow_graceful=False)

    losing = threading.Thread(target=lose)
    losing.start()
    result = run_job("slow", data, tmp_path / "remote", executor=RayExecutor())
    losing.join()
    assert contents(result) == contents(expected)
    assert sorted({*tally(data)}) == sorted([*"012345", "finish"]) and len(tally(data)) <= 8


def test_a_chunk_that_fails_says_its_own_sentence(cluster, tmp_path):
    with pytest.raises(InvalidInput, match=r"^The chunk is broken; mend it\.$"):
        run_job("slow", payload(tmp_path, fails_at=1), tmp_path / "home", executor=RayExecutor())
    (tmp_path / "mended").touch()
    assert run_job("slow", payload(tmp_path, fails_at=1), tmp_path / "home", executor=RayExecutor()).tables == ["facts"]


def test_a_cancelled_job_stops_its_tasks_and_is_resumed(cluster, tmp_path):
    class Stop(Watch):
        def check(self):
            if tally(data):
                raise Cancelled("Stopped.")

    data = payload(tmp_path, sleep=0.5)
    with pytest.raises(Cancelled):
        run_job("slow", data, tmp_path / "home", executor=RayExecutor(), watch=Stop())
    found = tally(data)
    time.sleep(1.5)
    assert tally(data) == found and "finish" not in found
    run_job("slow", data, tmp_path / "home", executor=RayExecutor())
    assert set(tally(data)) == {*"012345", "finish"}
