"""Killed at every event of the file system, a job, `influence` and `bring` leave nothing that is half, and finish when
they are asked again."""

import json
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from engine.cli import main
from engine.jobs import JobQueue
from engine.jobs.loop import Worker
from engine.store.results import Store
from tests.engine.cli.commands import REMOVE, STEP
from tests.engine.jobs import kinds  # noqa: F401 - registers `slow`
from tests.processes import start

pytestmark = pytest.mark.slow

KILLED, FINE = 9, 0
EVENTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "sqlite3.connect"}
MOST = 400
LONGEST = 60  # seconds


def live(act, folder, event):
    left, main_thread = [event], threading.get_ident()

    def count(name, given):
        writes = name == "open" and isinstance(given[1], str) and set(given[1]) & set("wax")
        if (writes or name in EVENTS) and threading.get_ident() == main_thread:
            left[0] -= 1
            if left[0] < 0:
                os._exit(KILLED)

    if event is not None:
        sys.addaudithook(count)
    sys.exit(act(folder))


def in_a_child(act, folder, event=None):
    """How a process ends: with what `act` returns, or killed before its event of that number."""
    child = start(live, act, folder, event)
    child.join(LONGEST)
    return child.exitcode


def job(folder):
    """A queued job of two chunks, until its worker leaves."""
    queue = JobQueue(folder / "home")
    queue.submit("slow", {"chunks": 2, "tally": str(folder / "tally")})
    Worker(queue.root, dead_after=0.0, beat=60.0).serve(once=True)
    return FINE


def job_is_whole(folder, finished):
    store = Store(folder / "home")
    for result in store.entries():
        assert store.read(result.digest).array("scores").shape == (2, 2, 2)
    if finished:
        assert len(store.entries()) == 1 and not list((folder / "home" / "chunks").glob("*/*"))


def influence(folder):
    return main(["influence", "--data", str(folder / "problem.npz"), "--spec", str(folder / "step.json"), "--out",
                 str(folder / "out.npz")])


def bring(folder):
    return main(["bring", "--data", str(folder / "problem.npz"), "--spec", str(folder / "loo.json"), "--scores",
                 str(folder / "theirs.npy"), "--sign", "plus", "--axes", "queries", "--name", "theirs", "--out",
                 str(folder / "out.npz")])


def scores_are_whole(folder, finished):
    """No scores stand beside the manifest of others."""
    scores, manifest = folder / "out.npz", folder / "out.json"
    if manifest.exists():
        written = json.loads(manifest.read_text())["files"]["out.npz"]
        assert scores.stat().st_size == written["size"]
        np.load(scores)["scores"]
    assert manifest.exists() or not finished


def prepare(folder):
    rng = np.random.default_rng(0)
    folder.mkdir()
    np.savez(folder / "problem.npz", x_train=rng.normal(size=(12, 3)), y_train=np.arange(12) % 3,
             x_query=rng.normal(size=(4, 3)), y_query=np.arange(4) % 3)
    np.save(folder / "theirs.npy", rng.normal(size=(4, 12)))
    for name, spec in {"step": STEP, "loo": REMOVE}.items():
        (folder / f"{name}.json").write_text(json.dumps(spec))
    (folder / "out.npz").write_bytes(b"")  # what an earlier run left
    return folder


@pytest.mark.parametrize(("act", "whole"), [(job, job_is_whole), (influence, scores_are_whole),
                                            (bring, scores_are_whole)], ids=["job", "influence", "bring"])
def test_a_kill_at_any_file_event_leaves_nothing_half(tmp_path: Path, act, whole):
    for event in range(MOST):
        folder = prepare(tmp_path / str(event))
        code = in_a_child(act, folder, event)
        assert code in (KILLED, FINE)
        whole(folder, finished=code == FINE)
        if code == FINE:
            break
        assert in_a_child(act, folder) == FINE, f"not finished after a kill at event {event}"
        whole(folder, finished=True)
    assert 3 < event < MOST - 1
