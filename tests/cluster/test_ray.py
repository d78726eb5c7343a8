"""The same results from a Ray cluster as from one process, and after a node was lost in the middle of a job."""

import json
import os
import secrets
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from engine.applications.language import shards
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.run import AttributionRequest
from engine.basics.errors import Cancelled, InvalidInput
from engine.jobs import KINDS, JobQueue, Watch, run_job
from engine.jobs.cluster import nodes_seen
from engine.jobs.ray_cluster import connected
from engine.jobs.ray_executor import RayExecutor
from engine.problems import ProblemSource
from engine.requests.scores import ScoresRequest
from engine.scoring.scoring import Scoring
from tests.engine import tiny
from tests.engine.jobs.counted import Counted
from tests.engine.jobs.kinds import tally
from tests.engine.requests_for_tests import attribution_payload, scores_payload

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SOURCE = ProblemSource(dataset="digits", n_train=300, n_test=12, n_queries=5, n_candidates=300, pool=2, l2=1e-2)
SCORINGS = [Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"}),
            Scoring.of("hard_margin", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}, "first_order")]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two nodes on this machine, each with one core; a third is added where one is to be lost."""
    token = tmp_path_factory.mktemp("ray") / "token"
    token.write_text(secrets.token_hex(32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")  # read where the library is imported
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(token))
        ray = pytest.importorskip("ray", reason="Ray is not installed (requirements-cluster.txt)")
        from ray.cluster_utils import Cluster

        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)  # where the nodes find the kinds of these tests
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
    data = scores_payload(SOURCE, SCORINGS)
    assert len(KINDS[ScoresRequest.name].plan(data)) > 3
    local, remote = (run_job(ScoresRequest.name, data, tmp_path / name, executor=executor)
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


def test_what_several_chunks_begin_with_is_made_once(cluster, tmp_path):
    data, other = payload(tmp_path), payload(tmp_path, tally=str(tmp_path / "other"))
    local, remote = run_job("begun", other, tmp_path / "local"), run_job("begun", data, tmp_path / "remote",
                                                                          executor=RayExecutor())
    assert contents(local) == contents(remote) and "make-base" not in tally(other)
    assert sorted(name for name in tally(data) if "make" in name) == ["make-base", "make-even", "make-odd"]
    assert remote.manifest["handed"] == [True] * 6 and local.manifest["handed"] == [False] * 6


def test_what_was_lost_with_its_node_is_made_again(cluster, tmp_path):
    """Two cores a chunk: only the nodes that are added here have them, one after the other."""
    first, data, results = cluster.add_node(num_cpus=2), payload(tmp_path, sleep=1.0), []
    running = threading.Thread(target=lambda: results.append(
        run_job("begun", data, tmp_path / "remote", executor=RayExecutor(cores=2.0))))
    running.start()
    while "0" not in tally(data):
        time.sleep(0.05)
    cluster.remove_node(first, allow_graceful=False)
    second = cluster.add_node(num_cpus=2)  # of this thread only: Ray sets handlers of signals
    running.join(120)
    cluster.remove_node(second, allow_graceful=False)
    assert contents(results[0]) == contents(run_job(
        "begun", payload(tmp_path, tally=str(tmp_path / "other")), tmp_path / "local"))
    assert results[0].manifest["handed"] == [True] * 6
    assert tally(data).count("make-base") == 2 and set("012345") <= set(tally(data))


def test_what_several_chunks_begin_with_may_fail(cluster, tmp_path):
    with pytest.raises(InvalidInput, match=r"^The chunk is broken; mend it\.$"):
        run_job("begun", payload(tmp_path, makes_fail=True), tmp_path / "home", executor=RayExecutor())
    assert not set("012345") & set(tally(payload(tmp_path)))


def test_a_factorised_hessian_is_handed_to_all_chunks_of_its_group(cluster, tmp_path):
    """Chunks of a problem that no other test asks for: what they know at their beginning is what was handed over."""
    source = SOURCE.model_copy(update={"seed": 1})
    scorings = [Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"})]
    data, lines = scores_payload(source, scorings), tmp_path / "lines"
    names = [ScoresRequest.name, "counted"]
    KINDS.add("counted", replace(KINDS[ScoresRequest.name], name="counted", run_chunk=Counted(lines)), replace=True)
    local, remote = (run_job(name, data, tmp_path / name, executor=executor)
                     for name, executor in zip(names, (None, RayExecutor()), strict=True))
    assert contents(local) == contents(remote)
    known = ["asked/cholesky", "asked/query_logits", "model/fit", "model/hessian", "model/probabilities"]
    assert lines.read_text().split() == [",".join(known)] * 3


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


def test_caches_filled_by_shards_on_nodes_are_those_of_one_process_in_one_go(cluster, tmp_path, monkeypatch):
    """1,024 records are two shards: each is computed after the training, and merged before anything is read."""
    records = tmp_path / "own.jsonl"
    records.write_text("".join(json.dumps({"prompt": f"{n}?", "response": f"{n * n % 97}"}) + "\n"
                               for n in range(1024)))
    data = attribution_payload(Setting.parse({
        "model": str(tiny.save(tmp_path / "tiny")), "task": {"name": "own", "train": str(records), "held": 4},
        "recipe": {"epochs": 1, "checkpoints": 1, "batch": 32, "context": 64, "rank": 2},
        "projection": {"dimension": 64}}))
    plan = ["train", "records/0/0", "records/0/1", "records/0", "queries/0", "tokens", "scores"]
    assert KINDS[AttributionRequest.name].plan(data) == plan

    def caches(name, executor=None):
        home = tmp_path / name
        monkeypatch.setenv("WHICHFLUENCE_HOME", str(home))
        result = run_job(AttributionRequest.name, data, home, executor=executor)
        found = {path.parent.name: json.loads(path.read_bytes()) for path in home.glob("language/gradients/*/*.json")}
        return contents(result), {folder: manifest["sha256"] for folder, manifest in found.items()}

    remote = caches("remote", RayExecutor())
    monkeypatch.setattr(shards, "SIZE", 10_000)
    assert "records/0/0" not in KINDS[AttributionRequest.name].plan(data)
    assert caches("local") == remote


def worker(home, address, *more):
    return subprocess.run([sys.executable, "-m", "engine.worker", "--home", str(home), "--executor", "ray", "--once",
                           "--address", address, *more], cwd=ROOT, capture_output=True, text=True, timeout=200)


def test_a_worker_started_from_the_command_line_completes_a_job(cluster, tmp_path):
    data = scores_payload(SOURCE, SCORINGS)
    queue = JobQueue(tmp_path / "queued")
    job = queue.submit(ScoresRequest.name, data)
    found = worker(queue.root, cluster.address)
    assert (found.returncode, found.stderr) == (0, "") and queue.get(job.id).state == "done"
    assert contents(queue.store.read(job.id)) == contents(run_job(ScoresRequest.name, data, tmp_path / "local"))


def test_a_worker_without_a_cluster_claims_no_job(cluster, tmp_path):
    queue = JobQueue(tmp_path)
    job = queue.submit("scores", scores_payload(SOURCE, SCORINGS))
    found = worker(tmp_path, "127.0.0.1:1")
    assert found.returncode == 2 and "No Ray cluster answers at `127.0.0.1:1`" in found.stderr
    assert "Traceback" not in found.stderr and queue.get(job.id).state == "queued"


def test_what_runs_where_and_how_far_is_seen_meanwhile(cluster, tmp_path):
    class Look(Watch):
        def report(self, progress):
            told.append((progress.message, progress.share))
            seen.extend(nodes_seen(home))

        def check(self):
            if any(message == "stuck" and share > 0 for message, share in told) and running():
                raise Cancelled("Seen.")

    def running():
        seen.extend(nodes_seen(home))
        return [one for node in seen for one in node.running if one.share == 0.5]

    home, told, seen, data = tmp_path / "home", [], [], payload(tmp_path, chunks=2, stops_at=1)
    with pytest.raises(Cancelled):
        run_job("slow", data, home, executor=RayExecutor(), watch=Look())
    assert {node.cores for node in seen} == {1.0} and len({node.name for node in seen}) >= 2
    assert {one.chunk for one in running()} == {"seed=1/α"} and nodes_seen(home) == []


def test_a_chunk_reserves_what_it_is_expected_to_hold(cluster, tmp_path):
    """Half a core a chunk lets two stand on a node, its memory only one; more than any node has is no obstacle."""
    kind, most = KINDS["slow"], [0]

    class Look(Watch):
        def report(self, progress):
            most.append(max((len(node.running) for node in nodes_seen(tmp_path / "home")), default=0))

    KINDS.add("slow", replace(kind, memory=lambda data, key: 1 << 50), replace=True)
    try:
        run_job("slow", payload(tmp_path, chunks=4, sleep=1.0), tmp_path / "home", executor=RayExecutor(cores=0.5),
                watch=Look())
    finally:
        KINDS.add("slow", kind, replace=True)
    assert most.count(2) < most.count(1)  # a look may find one that has just ended beside the next


def test_a_gpu_that_no_node_has_is_said(cluster, tmp_path):
    with pytest.raises(InvalidInput, match="No node of the Ray cluster has a GPU"):
        run_job("slow", payload(tmp_path), tmp_path / "home", executor=RayExecutor(gpus=1.0))


def test_more_cores_than_any_node_has_are_said(cluster, tmp_path):
    with pytest.raises(InvalidInput, match="no node of the Ray cluster has more than"):
        run_job("slow", payload(tmp_path), tmp_path / "home", executor=RayExecutor(cores=64.0))
