"""One worker a GPU: processes that see one device each, and serve the same queue side by side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

import torch

from engine.basics.errors import InvalidInput
from engine.jobs.workers import WORKER

EACH = "each"
"""The device that asks for a worker a GPU."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
ATTEMPTS = 3
"""How often a worker that was killed is started again."""
PAUSE = 0.2
"""Seconds between two looks at a worker."""


def gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    count = torch.cuda.device_count()
    named = os.environ.get(VISIBLE)
    return [str(number) for number in range(count)] if named is None else [
        name.strip() for name in named.split(",")][:count]


def serve_each(arguments: Sequence[str], devices: Sequence[str]) -> int:
    """Start a worker for each of the devices, hand on every request to stop, and wait until all have left.

    arguments: the worker's own, of which the device is replaced. A worker that was killed, as one that took too much
    memory is, is started again, up to `ATTEMPTS` times; one that left with a failure is not. Returns 0, or what the
    first worker that failed for good returned; the others go on without it. Raises `InvalidInput` where there is no
    device.
    """
    if not devices:
        raise InvalidInput("No GPU is available for `each`; start one worker with the device `auto`.")
    fleet = _Fleet([sys.executable, "-m", WORKER, *arguments, "--device", "cuda"])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, fleet.stop)
    return fleet.serve(devices)


class _Fleet:
    """The workers, by their devices."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command, self.stopping = list(command), False
        self.workers: dict[str, subprocess.Popen] = {}

    def serve(self, devices: Sequence[str]) -> int:
        left, failed = dict.fromkeys(devices, ATTEMPTS), 0
        for device in devices:
            self._start(device)
        while self.workers:
            for device, worker in list(self.workers.items()):
                try:
                    code = worker.wait(PAUSE)
                except subprocess.TimeoutExpired:
                    continue
                if code < 0 and left[device] and not self.stopping:
                    left[device] -= 1
                    print(f"The worker of GPU {device} was killed by signal {-code}, and is being restarted.",
                          file=sys.stderr, flush=True)
                    self._start(device)
                else:
                    del self.workers[device]
                    failed = failed or code
        return failed

    def stop(self, number: int, _: object) -> None:
        """Hand a request to stop on."""
        self.stopping = True
        for worker in self.workers.values():
            if worker.poll() is None:
                worker.send_signal(number)

    def _start(self, device: str) -> None:
        """In a session of its own: else Ctrl-C in a terminal would reach it twice."""
        worker = subprocess.Popen(self.command, env={**os.environ, VISIBLE: device}, start_new_session=True)
        self.workers[device] = worker
        if self.stopping:  # asked for meanwhile, when it was not yet known
            worker.terminate()
