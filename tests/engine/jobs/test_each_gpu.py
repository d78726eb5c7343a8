"""A worker a GPU, where the GPUs are a number that the library is made to say."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from engine.jobs import JobQueue, Workers
from engine.jobs.each_gpu import gpus
from engine.worker import main
from tests.engine.jobs.kinds import tally

ROOT = Path(__file__).parents[3]
PROGRAM = ("import sys, torch; torch.cuda.device_count = lambda: 2; from engine.worker import main; "
           "sys.exit(main(sys.argv[1:]))")


@pytest.fixture
def queue(tmp_path):
    return JobQueue(tmp_path / "home")


def start(queue, visible, *options):
    command = [sys.executable, "-c", PROGRAM, "--home", str(queue.root), "--kinds", "tests.engine.jobs.kinds",
               "--device", "each", *options]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, env={
        **{name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}, **visible})


@pytest.mark.parametrize(("named", "count", "found"), [
    (None, 0, []), (None, 3, ["0", "1", "2"]), ("2, GPU-5d", 2, ["2", "GPU-5d"]), ("4,9,1", 1, ["4"]), ("", 0, [])])
def test_the_devices_are_those_that_may_be_used(named, count, found, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if named is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    assert gpus() == found


@pytest.mark.slow
def test_each_worker_sees_one_device_and_they_run_side_by_side(queue, tmp_path):
    """Each job waits until the other one has begun, which one worker alone would never see."""
    payloads = [{"number": number, "together": 2, "tally": str(tmp_path / "tally")} for number in range(2)]
    jobs = [queue.submit("which_gpu", payload).id for payload in payloads]
    started = start(queue, {"CUDA_VISIBLE_DEVICES": "3,5"}, "--once")
    said = started.communicate(timeout=90)[1]
    assert (started.returncode, said) == (0, "")
    assert sorted(tally(payloads[0])) == ["3:cuda", "5:cuda"]
    assert [queue.store.read(job).manifest["met"] for job in jobs] == [2, 2]


@pytest.mark.slow
def test_a_request_to_stop_reaches_all_of_them(queue):
    started, workers = start(queue, {}), Workers(queue.root)
    deadline = time.monotonic() + 90
    while len(workers.alive()) < 2:
        assert time.monotonic() < deadline, "two workers never stood on the table"
        time.sleep(0.05)
    started.send_signal(signal.SIGTERM)
    said = started.communicate(timeout=90)[1]
    assert (started.returncode, said, workers.alive()) == (0, "", [])


@pytest.mark.slow
def test_a_worker_that_is_killed_is_started_again(queue):
    started, workers = start(queue, {"CUDA_VISIBLE_DEVICES": "0"}), Workers(queue.root)

    def process(but=0):
        deadline = time.monotonic() + 90
        while not (found := {int(name.partition("-")[0]) for name in workers.alive()} - {but}):
            assert time.monotonic() < deadline, "no worker stood on the table"
            time.sleep(0.05)
        return found.pop()

    first = process()
    os.kill(first, signal.SIGKILL)
    assert process(but=first) != first
    started.send_signal(signal.SIGTERM)
    said = started.communicate(timeout=90)[1]
    assert started.returncode == 0 and said.count("was killed by signal 9, and is started again") == 1


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))  # set by the worker too, and taken back here
    return tmp_path


def test_no_gpu_is_said(home, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert main(["--home", str(home), "--device", "each", "--once"]) == 2
    assert "No GPU is available" in capsys.readouterr().err


def test_a_cluster_has_its_own_way(home, capsys):
    assert main(["--home", str(home), "--device", "each", "--executor", "ray"]) == 2
    assert "`--gpus`" in capsys.readouterr().err


@pytest.mark.slow
def test_a_worker_that_fails_is_told_by_the_code(tmp_path):
    found = start(JobQueue(tmp_path), {}, "--once", "--kinds", "no.such.module")
    said = found.communicate(timeout=90)[1]
    assert found.returncode == 2 and said.count("cannot load the job kinds of `no.such.module`") == 2
