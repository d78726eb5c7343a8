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


def gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    count = torch.cuda.device_count()
    named = os.environ.get(VISIBLE)
    return [str(number) for number in range(count)] if named is None else [
        name.strip() for name in named.split(",")][:count]


def serve_each(arguments: Sequence[str], devices: Sequence[str]) -> int:
    """Start a worker for each of the devices, hand on every request to stop, and wait until all have left.

    arguments: the worker's own, of which the device is replaced. Returns 0, or what the first worker that failed
    returned; the others go on without it. Raises `InvalidInput` where there is no device.
    """
    if not devices:
        raise InvalidInput("No GPU is found here for `each` to mean; start one worker with the device `auto`.")
    command = [sys.executable, "-m", WORKER, *arguments, "--device", "cuda"]
    processes: list[subprocess.Popen] = []

    def hand_on(number: int, _: object) -> None:
        for process in processes:
            if process.poll() is None:
                process.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, hand_on)
    for device in devices:  # in sessions of their own: else Ctrl-C in a terminal would reach them twice
        processes.append(subprocess.Popen(command, env={**os.environ, VISIBLE: device}, start_new_session=True))
    return next((code for code in [process.wait() for process in processes] if code), 0)
