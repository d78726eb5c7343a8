"""Many visitors of one server: how long a rerun takes, how much processor it costs, and what the memory does.

`make load` runs them; another number of sessions, seconds or page loads comes by environment variables. On a machine
that does something else, wall times say little: the processor seconds are printed beside them.
"""

import asyncio
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import urlencode

import pytest

from app.widgets.pickers import specification_list
from engine.data import DATASETS
from engine.jobs import JobQueue
from tests.benchmarks.visitors import Visitor

ROOT = Path(__file__).parents[2]
SESSIONS, SECONDS, THINK, LOADS = (int(os.environ.get(f"WHICHFLUENCE_LOAD_{name}", default)) for name, default in (
    ("SESSIONS", 50), ("SECONDS", 60), ("THINK", 10), ("PAGES", 1_000)))
ARRIVAL = 20.0  # seconds in which the sessions come
LARGEST = 2_000_000_000  # bytes of a process that has shown all shipped and common data
GROWTH = 0.1  # of the memory, from a fifth of the page loads to their end
FIRST = urlencode(specification_list.address("first"), doseq=True)
ACTS = [("compare", f"{FIRST}&metric={metric}") for metric in ("kendall_tau", "sign", "top5")] + [
    ("examples", "query=3"), ("examples", "query=4"), ("map", ""), ("guide", ""), ("runs", "")]
PAGES = [("", ""), ("compare", FIRST), ("examples", ""), ("map", ""), ("noisy_labels", ""), ("language_models", ""),
         ("paper", ""), ("runs", ""), ("guide", "")]


class Server:
    """A server of the workbench with a home of its own, and what the system says of it."""

    def __init__(self, home: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app/main.py", "--server.port", str(self.port),
             "--server.headless", "true", "--server.fileWatcherType", "none"], cwd=ROOT, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "WHICHFLUENCE_HOME": str(home)})
        for _ in range(600):
            with suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/_stcore/health", timeout=10).close()
                return
            time.sleep(0.2)
        raise TimeoutError("the server does not answer")

    @property
    def memory(self) -> int:
        """Resident bytes."""
        return int(self._said("statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")

    @property
    def peak(self) -> int:
        """Resident bytes, the most there were so far."""
        return 1024 * int(self._said("status").split("VmHWM:")[1].split()[0])

    @property
    def processor(self) -> float:
        """Seconds of processor time so far."""
        fields = self._said("stat").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _said(self, name: str) -> str:
        return Path(f"/proc/{self.process.pid}/{name}").read_text()

    def end(self) -> None:
        """Stop it; a worker that it started leaves by itself when it has nothing to do."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


@pytest.fixture
def server(tmp_path):
    if not Path("/proc/self/statm").exists():
        pytest.skip("memory and processor time are read from /proc, which this system does not have")
    found = Server(tmp_path)
    yield found
    found.end()


async def opened(server, pages):
    """Each page in a session of its own; elements shown."""
    for page, query in pages:
        async with Visitor(server.port) as visitor:
            await visitor.go(page, query)
            assert visitor.elements > 10, page


async def at_work(server, seed, begun, times):
    """A session that comes at some time, opens Compare, and then acts, looks, and acts again; counted are acts once all
    have come."""
    chance = random.Random(seed)
    await asyncio.sleep(chance.uniform(0, ARRIVAL))
    async with Visitor(server.port) as visitor:
        await visitor.go("compare", FIRST)
        while (wait := chance.expovariate(1 / THINK)) + time.monotonic() < begun + ARRIVAL + SECONDS:
            await asyncio.sleep(wait)
            since = time.monotonic() - begun
            taken = await visitor.go(*chance.choice(ACTS))
            if since > ARRIVAL:
                times.append(taken)


def test_fifty_sessions_at_once(server):
    asyncio.run(opened(server, [PAGES[1], *dict.fromkeys(ACTS)]))  # what the first visitor waits for is another figure

    async def everybody():
        times, begun = [], time.monotonic()
        await asyncio.gather(*(at_work(server, seed, begun, times) for seed in range(SESSIONS)))
        return times

    started = time.perf_counter()
    times = asyncio.run(everybody())
    wall = time.perf_counter() - started - ARRIVAL
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"\n{SESSIONS} sessions, one act every {THINK} s each: {len(times)} reruns in {wall:.0f} s; median {p50:.2f} "
          f"s, p95 {p95:.2f} s; memory "
          f"{server.memory / 1e6:.0f} MB; load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    assert p95 < 1.0 or os.getloadavg()[0] > os.cpu_count()


def test_a_run_of_a_page_takes_little_of_the_processor(server):
    """One visitor after the other, so that nothing but the runs is counted."""
    async def visit():
        async with Visitor(server.port) as visitor:
            for act in dict.fromkeys(ACTS):
                await visitor.go(*act)
            found = {}
            for act in dict.fromkeys(ACTS):
                before = server.processor
                for _ in range(5):
                    await visitor.go(*act)
                found.setdefault(act[0], []).append((server.processor - before) / 5)
            return {page: statistics.mean(seconds) for page, seconds in found.items()}

    found = asyncio.run(visit())
    print("\nseconds of processor a run: " + ", ".join(f"{page} {seconds:.3f}" for page, seconds in found.items()))
    assert max(found.values()) < 0.5


def test_memory_is_flat_over_page_loads(server):
    asyncio.run(opened(server, PAGES))
    found, spent = [(0, server.memory)], server.processor
    step = max(LOADS // 10, 1)
    for count in range(step, LOADS + 1, step):
        asyncio.run(opened(server, islice(cycle(PAGES), step)))
        found.append((count, server.memory))
    print("\nMB after page loads: " + ", ".join(f"{count}: {memory / 1e6:.0f}" for count, memory in found)
          + f"; {(server.processor - spent) / LOADS:.3f} s of processor each")
    assert found[-1][1] < (1 + GROWTH) * found[2][1]


def test_a_process_that_has_shown_everything_stays_small(server, tmp_path):
    here = [name for name in ("fashion_small", "fashion_mnist", "cifar10") if DATASETS[name].available()[0]]
    found = []
    for name in here:
        for page in ("compare", "examples"):
            asyncio.run(opened(server, [(page, f"data={name}&{FIRST}")]))
        found.append((name, server.memory))
    network = "compare", f"data=digits&model=mlp&{FIRST}"
    asyncio.run(opened(server, [network]))
    while any(job.active for job in JobQueue(tmp_path).jobs()):
        time.sleep(1.0)
    asyncio.run(opened(server, [network, ("noisy_labels", ""), ("language_models", ""), ("learn", "")]))
    found.append(("a network", server.memory))
    print("\nMB after showing: " + ", ".join(f"{name} {memory / 1e6:.0f}" for name, memory in found)
          + f"; at most {server.peak / 1e6:.0f}")
    assert found[-1][1] < LARGEST
