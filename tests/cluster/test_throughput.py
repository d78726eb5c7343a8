"""What two nodes of one core on this machine do in the time of one process.

On a quiet machine the clock says it. Where others compute too, it is said by processor seconds, as if every process
had a core of its own: those of one process, over those of the busier node and of the process that hands out chunks.

    make cluster-test    or alone: .venv/bin/python -m pytest -n 0 -s tests/cluster/test_throughput.py    (4 minutes)
"""

import os
import time
from pathlib import Path
from statistics import median

import pytest

from engine.jobs import KINDS, run_job
from engine.jobs.ray_executor import RayExecutor
from engine.problems import ProblemSource
from engine.requests.scores import ScoresRequest
from engine.scoring.scoring import Scoring
from tests.cluster.test_ray import cluster, contents  # noqa: F401
from tests.engine.requests_for_tests import scores_payload
from tests.engine.single_thread import one_thread  # noqa: F401

pytestmark = pytest.mark.slow
PAIRS, WANTED, QUIET = 2, 1.8, 0.15
"""QUIET: the most of the machine's processor time that others may take before it counts as busy."""
SOURCE = ProblemSource(dataset="digits", model="mlp", n_train=600, n_test=12, n_queries=5, n_candidates=200, recipe={
    "epochs": 30, "batch_size": 50, "learning_rate": 0.05})
SMALLER = SOURCE.model_copy(update={"n_train": 120, "n_candidates": 110})
SCORING = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain"})
TICKS = os.sysconf("SC_CLK_TCK")


def used():
    """Process -> its processor seconds so far, of this one and all that descend from it."""
    seconds, parents = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(fields[1])
        seconds[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / TICKS
    own, more = set(), {os.getpid()}
    while more:
        own |= more
        more = {child for child, parent in parents.items() if parent in own} - own
    return {process: seconds[process] for process in own & seconds.keys()}


def busy():
    """Processor seconds that all cores of this machine have worked so far."""
    user, nice, system = map(int, Path("/proc/stat").read_text().split()[1:4])
    return (user + nice + system) / TICKS


def timed(data, folder, executor):
    """What a job gives, its wall seconds, the processor seconds of this process and of the busiest other one, and the
    fraction of the machine that others took meanwhile."""
    before, worked, start = used(), busy(), time.perf_counter()
    result = run_job(ScoresRequest.name, data, folder, executor=executor)
    wall, after = time.perf_counter() - start, used()
    spent = {process: value - before.get(process, 0.0) for process, value in after.items()}
    others = (busy() - worked - sum(spent.values())) / (wall * os.cpu_count())
    here = spent.pop(os.getpid())
    return result, (wall, here, max(spent.values(), default=0.0), others)


@pytest.mark.timeout(3600)
@pytest.mark.skipif(not Path("/proc/stat").is_file(), reason="reads what Linux counts of processes")
def test_two_nodes_beside_one_process(cluster, tmp_path):  # noqa: F811
    """Two chunks of retrainings, in turn, of another draw of the data each time; before that every process imports and
    computes a smaller one."""
    on_clock, by_processor, quiet, on_nodes = [], [], True, RayExecutor()
    for seed in range(1 + PAIRS):
        source = (SOURCE if seed else SMALLER).model_copy(update={"seed": seed})
        data = scores_payload(source, [SCORING])
        assert len(KINDS[ScoresRequest.name].plan(data)) == 2
        first, one = timed(data, tmp_path / f"one{seed}", None)
        second, two = timed(data, tmp_path / f"two{seed}", on_nodes)
        assert contents(first) == contents(second)
        print(f"\nround {seed}: one process {one[0]:.1f} s ({one[1]:.1f} of a processor), two nodes {two[0]:.1f} s "
              f"({two[2]:.1f} of the busier one's, {two[1]:.1f} of this process); others took {one[3]:.0%} and "
              f"{two[3]:.0%} of the machine", flush=True)
        if seed:
            on_clock.append(one[0] / two[0])
            by_processor.append(one[1] / (two[1] + two[2]))
            quiet &= max(one[3], two[3]) <= QUIET
    said = "by the clock" if quiet else "by processor seconds, as the machine was busy"
    ratio = median(on_clock if quiet else by_processor)
    print(f"two nodes do {ratio:.2f} times as much {said} (by the clock {median(on_clock):.2f}, by processor seconds "
          f"{median(by_processor):.2f}; wanted: {WANTED})")
    assert ratio >= WANTED
