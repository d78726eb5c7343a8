"""The cluster's executor where there is no cluster; tests/cluster has the rest."""

import sys

from engine.jobs import JobQueue
from engine.jobs.loop import Worker
from engine.jobs.ray_executor import RayExecutor
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
