"""A job's progress on stderr: a bar in a terminal, now and then a line in a log."""

from __future__ import annotations

import sys
import time

from tqdm import tqdm

from engine.jobs.kinds import Progress, Watch

APART = 60.0
"""Seconds between two lines of a log, and before the first: what is done sooner leaves none."""


class Bar(Watch):
    """A tqdm bar, counted in chunks, or lines that say the same; use it as a context manager and pass it to `run_job`.

    terminal: whether stderr is one (default: as it says itself).
    """

    def __init__(self, title: str, *, terminal: bool | None = None) -> None:
        self.title, self.terminal = title, sys.stderr.isatty() if terminal is None else terminal
        self._bar = tqdm(desc=title, total=1, unit="chunk", disable=not self.terminal, dynamic_ncols=True,
                         bar_format="{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]")
        self._begin = self._said = time.monotonic()

    def report(self, progress: Progress) -> None:
        """Move the bar, or write a line where the last one is a minute old."""
        left = f"{tqdm.format_interval(progress.seconds_left)} left, " if progress.seconds_left is not None else ""
        self._bar.total, self._bar.n = progress.total, progress.done
        self._bar.set_postfix_str(left + progress.message)
        if not self.terminal and (now := time.monotonic()) - self._said >= APART:
            self._said = now
            print(f"{self.title} {progress.share:4.0%}, {progress.done}/{progress.total} "
                  f"[{tqdm.format_interval(now - self._begin)}, {left}{progress.message}]", file=sys.stderr, flush=True)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
