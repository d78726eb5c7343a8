"""The cluster's executor where there is no cluster; tests/cluster has the rest."""

import sys
from types import SimpleNamespace

import pytest

from engine.basics.errors import InvalidInput, StoreError
from engine.jobs import JobQueue
from engine.jobs.cluster import Node
from engine.jobs.loop import Worker
from engine.jobs.ray_cluster import RunningChunk
from engine.jobs.ray_executor import RayExecutor, _Losses, _Needs, _Tasks
from engine.jobs.ray_tasks import FOR_SEVERAL
from tests.engine.jobs.kinds import tally


def test_without_ray_the_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    data = {"chunks": 1, "tally": str(tmp_path / "tally"), "mended": str(tmp_path / "mended")}
    queue = JobQueue(tmp_path)
    job = queue.submit("slow", data)
    Worker(tmp_path, executor=RayExecutor()).serve(once=True)
    found = queue.get(job.id)
    assert found.state == "failed" and "requirements-cluster.txt" in found.error and tally(data) == []


def test_nothing_to_compute_needs_no_cluster(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert list(RayExecutor().run([], None, None)) == []


@pytest.mark.parametrize(("asked", "words"), [
    (RayExecutor(cores=4.0), "4 cores, but no node of the Ray cluster has more than 2"),
    (RayExecutor(gpus=1.0), "has a GPU")])
def test_what_no_node_offers_is_said_before_a_chunk_waits_for_it(tmp_path, asked, words):
    nodes = [Node("one", 1.0, 0.0, 1 << 30), Node("two", 2.0, 0.0, 1 << 30)]
    work = SimpleNamespace(job="0" * 64, kind=None, payload={}, options={})
    with pytest.raises(InvalidInput, match=words):
        _Needs(SimpleNamespace(nodes=lambda: nodes), asked, work)


class Ray:
    """Of the library what tasks are asked for with. asked: (what, the tasks it waits for) by task; made: tasks done."""

    def __init__(self):
        self.asked, self.made, self.cancelled = {}, [], []

    def put(self, value):
        return value

    def remote(self, task):
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=self._ask))

    def _ask(self, held, what, variables, board, *waited):
        self.asked[task := f"task {len(self.asked)}"] = what, waited
        return task

    def wait(self, tasks, num_returns, timeout, fetch_local):
        return [task for task in tasks if task in self.made], [task for task in tasks if task not in self.made]

    def cancel(self, task, force):
        self.cancelled.append(task)


@pytest.fixture
def asked(monkeypatch):
    """Four chunks that begin with the same, the last one after the first, of a cluster that no node was lost of."""
    monkeypatch.setattr("engine.jobs.ray_executor.SEEN", 0.0)
    cluster = SimpleNamespace(ray=Ray(), board=None, gone=set)
    kind = SimpleNamespace(name="any", after=lambda payload, key: ["a"] if key == "d" else [])
    needs = SimpleNamespace(work=None, kind=kind, payload={}, of=lambda key: {})
    tasks = _Tasks(cluster, RayExecutor(), needs, dict.fromkeys("abcd", ("base",)))
    for key in "abcd":
        tasks.chunk(key)
    return cluster, tasks, {task: key for key, task in tasks.chunks.items()}, _Losses(cluster, tasks)


@pytest.mark.parametrize("state", ["made", "running", "lost"])
def test_what_ran_or_queued_on_a_lost_node_is_asked_for_anew(asked, state):
    cluster, tasks, pending, losses = asked
    entries = {"a": RunningChunk("a", "lost"), "b": RunningChunk("b", "here")}
    if state == "made":
        cluster.ray.made.append(tasks.shared["base"])
    else:
        entries[FOR_SEVERAL + "base"] = RunningChunk(FOR_SEVERAL + "base", "here" if state == "running" else "lost")
    assert losses.mended(pending, entries) is pending  # nothing is lost yet
    before, base, cluster.gone = {key: task for task, key in pending.items()}, tasks.shared["base"], lambda: {"lost"}
    mended = losses.mended(pending, entries)
    after = {key: task for task, key in mended.items()}
    assert list(after) == list("abcd") and after["b"] == before["b"]
    assert set(cluster.ray.cancelled) == {before[key] for key in "acd"} | ({base} if state == "lost" else set())
    assert (tasks.shared["base"] == base) == (state != "lost")
    assert cluster.ray.asked[after["d"]] == ("d", (tasks.shared["base"], after["a"]))
    assert losses.mended(mended, entries) is mended  # once


def test_a_chunk_whose_nodes_are_lost_again_and_again_is_given_up(asked):
    cluster, tasks, pending, losses = asked
    lost = set()
    cluster.gone = lambda: set(lost)
    for place in range(RayExecutor().retries):
        lost.add(place)
        pending = losses.mended(pending, {"a": RunningChunk("a", place)})
    lost.add("last")
    with pytest.raises(StoreError, match="`a` could not be computed on any node"):
        losses.mended(pending, {"a": RunningChunk("a", "last")})
