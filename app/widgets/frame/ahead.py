"""What a reader probably asks for next, computed while nobody waits.

One thread of the server takes the tasks one after the other, each in its turn between the pages. Where no server has
begun it, as in a script or a test of a page, nothing is computed ahead.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from queue import Full, Queue

from app.widgets.frame.turns import turn

REMEMBERED, WAITING = 200, 100
"""Keys that are not asked for again, and tasks that may wait: more are left out, and computed when they are wanted."""
PAUSE, PATIENCE = 0.3, 60.0
"""Seconds between two tasks, and those that a task waits for its turn."""
_requested: OrderedDict[Hashable, None] = OrderedDict()
_lock = threading.Lock()
_tasks: Queue[Callable[[], object]] | None = None


def begin() -> None:
    """Start the thread, once a process."""
    global _tasks
    with _lock:
        if _tasks is None:
            _tasks = Queue(WAITING)
            threading.Thread(target=_work, args=(_tasks,), name="ahead", daemon=True).start()


def ask(key: Hashable, tasks: Iterable[Callable[[], object]]) -> None:
    """Do `tasks` when there is time, unless it was asked under this key lately."""
    with _lock:
        if _tasks is None or key in _requested:
            return
        _requested[key] = None
        while len(_requested) > REMEMBERED:
            _requested.popitem(last=False)
        try:
            for task in tasks:
                _tasks.put_nowait(task)
        except Full:
            logging.getLogger(__name__).debug("too many tasks are queued ahead")


def _work(tasks: Queue[Callable[[], object]]) -> None:
    while True:
        task = tasks.get()
        time.sleep(PAUSE)
        with turn(PATIENCE):
            try:
                task()
            except Exception:  # whoever asks for it himself is told
                logging.getLogger(__name__).debug("a task ahead failed", exc_info=True)
