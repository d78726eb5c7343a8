"""One worker for the homes of several people: in turn, each at home, none in sight of another."""

import pytest

from engine.basics.folders import HOME, Asker, at_home, carried, home_folder, shared_by, shared_folder, user_home
from engine.jobs import KINDS, JobKind, JobQueue, Workers, ensure_worker
from engine.jobs import workers as workers_module
from engine.jobs.loop import Worker


@pytest.fixture
def shared(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME, str(tmp_path))
    return tmp_path


@pytest.fixture
def order(monkeypatch):
    """The homes in which chunks of the kind `where` were computed."""
    found = []

    def chunk(payload, key, context):
        found.append((home_folder(), payload["n"]))
        return {}

    KINDS.add("where", JobKind("where", lambda payload: ["0"], chunk, lambda payload, chunks, context: {}))
    yield found
    KINDS.remove("where")


def test_jobs_run_in_turn_and_each_at_home(shared, order):
    ann, bob = user_home("ann"), user_home("bob")
    queues = {home: JobQueue(home) for home in (ann, bob)}
    for n in range(3):
        queues[ann].submit("where", {"n": n})
    queues[bob].submit("where", {"n": 9})
    Worker(shared).serve(once=True)
    assert sorted(order) == sorted([(ann, 0), (ann, 1), (ann, 2), (bob, 9)])
    assert {home for home, _ in order[:2]} == {ann, bob}, "the second does not wait for all of the first"
    assert home_folder() == shared_folder() == shared
    for home, queue in queues.items():
        assert all(job.state == "done" and queue.store.has(job.id) for job in queue.jobs())
        assert not (shared / "results").exists() and (home / "results").is_dir()


def test_the_worker_of_a_home_is_that_of_all_homes(shared, monkeypatch):
    started = []

    class Process:
        def __init__(self, command, **_):
            started.append(command)

        def poll(self):
            return None

    monkeypatch.setattr(workers_module.subprocess, "Popen", Process)
    assert ensure_worker(user_home("ann")) and not ensure_worker(user_home("bob"))
    assert str(shared) in started[0] and len(Workers(user_home("bob")).alive()) == 1
    assert shared_by(user_home("ann")) == shared_by(shared) == shared


def test_who_asks_is_known_in_other_threads_if_it_is_carried_there(shared, monkeypatch):
    monkeypatch.setattr(Asker, "home", staticmethod(lambda: user_home("ann")))
    assert home_folder() == user_home("ann")
    work = carried(home_folder)
    monkeypatch.setattr(Asker, "home", staticmethod(lambda: None))
    assert work() == user_home("ann") and home_folder() == shared
    with at_home(user_home("bob")):
        assert home_folder() == user_home("bob") and work() == user_home("ann")
    assert home_folder() == shared


def test_the_name_of_a_home_tells_nobody(shared):
    name = user_home("https://idp.example\nann@example.org").name
    assert len(name) == 24 and set(name) <= set("0123456789abcdef") and user_home("other") != user_home("ann")
