"""Jobs of a worker whose Ray cluster has several machines, and one of them lost: the same bytes as in one process."""

import os
import secrets
import sys
import threading

import pytest

from engine.jobs import JobQueue, run_job
from engine.jobs.cluster import nodes_seen
from engine.requests.scores import ScoresRequest
from tests.cluster.machines import ROOT, Machine, Network, unfit, until
from tests.cluster.test_ray import SCORINGS, SOURCE, contents, payload
from tests.engine.jobs.kinds import tally
from tests.engine.requests_for_tests import scores_payload

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """The head of a cluster, on a machine of its own with one core."""
    pytest.importorskip("ray", reason="Ray is not installed (requirements-cluster.txt)")
    if why := unfit():
        pytest.skip(why)
    token = tmp_path_factory.mktemp("ray") / "token"
    token.write_text(secrets.token_hex(32))
    made = Network({**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token),
                    "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])})
    try:
        made.start()
        yield made
    finally:
        made.close()


class Worker(threading.Thread):
    """Serves a queue from the head's machine, until it is empty. nodes: which ones were seen to compute meanwhile."""

    def __init__(self, network, home, *more):
        super().__init__()
        self.network, self.home, self.more, self.nodes, self.said = network, home, more, {}, None
        self.start()

    def run(self):
        self.said = self.network.head.run(
            sys.executable, "-m", "engine.worker", "--home", str(self.home), "--executor", "ray", "--once", "--address",
            self.network.address, *self.more)

    def computing(self):
        """Names of the machines that compute chunks now."""
        found = {node.name.split()[0] for node in nodes_seen(self.home) if node.running}
        self.nodes.update(dict.fromkeys(found))
        return found

    def seen_on(self, machine):
        """Wait until a machine computes."""
        until(lambda: machine.name in self.computing() or not self.is_alive())
        assert machine.name in self.nodes, self.said

    def ended(self):
        """Wait for its end, which has to be a good one."""
        until(lambda: self.computing() is None or not self.is_alive(), 240)
        self.join()
        assert (self.said.returncode, self.said.stderr) == (0, "")


def queued(home, kind, data):
    queue = JobQueue(home)
    return queue, queue.submit(kind, data)


def result_of(queue, job):
    assert queue.get(job.id).state == "done"
    return contents(queue.store.read(job.id))


KINDS = ("--kinds", "tests.engine.jobs.kinds")


def test_scores_of_two_machines_are_those_of_one_process(network, tmp_path):
    other, data = network.add("other"), scores_payload(SOURCE, SCORINGS)
    queue, job = queued(tmp_path / "home", ScoresRequest.name, data)
    Worker(network, queue.root).ended()
    assert result_of(queue, job) == contents(run_job(ScoresRequest.name, data, tmp_path / "local"))
    other.kill()


@pytest.mark.parametrize("lose", [Machine.kill, Machine.unplug])
def test_a_machine_lost_in_the_middle_costs_what_it_had_begun(network, tmp_path, lose):
    """Nothing takes leave of anything: Ray finds out by itself that no answer comes. A machine that is unplugged closes
    no connection either, and computes on."""
    lost, data = network.add(lose.__name__), payload(tmp_path, sleep=2.0)
    queue, job = queued(tmp_path / "home", "slow", data)
    worker = Worker(network, queue.root, *KINDS)
    worker.seen_on(lost)
    lose(lost)
    worker.ended()
    lost.kill()
    assert set(worker.nodes) == {"head", lost.name}
    assert result_of(queue, job) == contents(run_job(
        "slow", payload(tmp_path, sleep=0.0, tally=str(tmp_path / "other")), tmp_path / "local"))
    assert {*tally(data)} == {*"012345", "finish"} and len(tally(data)) <= 8
