"""The cluster's executor where there is no cluster; tests/cluster has the rest."""

import sys
from types import SimpleNamespace

import pytest

from engine.basics.errors import InvalidInput
from engine.jobs import JobQueue
from engine.jobs.cluster import Node
from engine.jobs.loop import Worker
from engine.jobs.ray_executor import RayExecutor, _Needs
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
    (RayExecutor(cores=4.0), "4 cores, and no node of the Ray cluster has more than 2"),
    (RayExecutor(gpus=1.0), "has a GPU")])
def test_what_no_node_offers_is_said_before_a_chunk_waits_for_it(tmp_path, asked, words):
    nodes = [Node("one", 1.0, 0.0, 1 << 30), Node("two", 2.0, 0.0, 1 << 30)]
    work = SimpleNamespace(job="0" * 64, kind=None, payload={}, options={})
    with pytest.raises(InvalidInput, match=words):
        _Needs(SimpleNamespace(nodes=lambda job: nodes), asked, work)
