"""A bar for what is computed at once, where stderr is a terminal; for a job a bar, or in a log a line a minute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from engine.cli.setting import Machine
from engine.jobs import Bar, run_job
from engine.store.results import Result
from engine.worker import load_kinds


@contextmanager
def progress(title: str) -> Iterator[Callable[[float], None]]:
    """A function that takes the share done, in [0, 1], and moves a bar on stderr."""
    with tqdm(total=1.0, disable=None, bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}", desc=title) as bar:
        def move(done: float) -> None:
            bar.n = min(done, 1.0)
            bar.refresh()

        yield move


def run_shown(title: str, kind: str, payload: Mapping[str, Any], machine: Machine) -> Result:
    """The result of a job, run here from wherever it stands, with a bar that counts its chunks."""
    load_kinds()
    options = machine.options()
    with Bar(title) as bar:
        return run_job(kind, payload, options=options, watch=bar)
