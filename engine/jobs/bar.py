"""A job's progress as a bar in the terminal."""

from __future__ import annotations

from tqdm import tqdm

from engine.jobs.kinds import Progress, Watch


class Bar(Watch):
    """A tqdm bar on stderr, counted in chunks; use it as a context manager and pass it to `run_job`."""

    def __init__(self, title: str, *, hidden: bool | None = None) -> None:
        # hidden=None: only a terminal gets a bar
        self._bar = tqdm(desc=title, total=1, unit="chunk", disable=hidden, dynamic_ncols=True,
                         bar_format="{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]")

    def report(self, progress: Progress) -> None:
        """Move the bar."""
        self._bar.total, self._bar.n = progress.total, progress.done
        left = f"{tqdm.format_interval(progress.seconds_left)} left, " if progress.seconds_left is not None else ""
        self._bar.set_postfix_str(left + progress.message)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
