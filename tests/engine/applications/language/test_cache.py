"""Arrays on disk that two processes may ask for at the same time."""

import threading

import numpy as np

from engine.applications.language.cache import Cache

PATIENCE = 5.0


def test_who_comes_second_does_not_empty_what_the_first_fills(tmp_path, monkeypatch):
    arguments = (tmp_path / "cache", {"run": "a"}, 2, {"g": (3,)})
    create, late, filled = np.lib.format.open_memmap, threading.Event(), threading.Event()

    def slow(*given, **named):
        if threading.current_thread().name == "slow":
            late.set()
            filled.wait(PATIENCE / 10)  # who is alone in the folder waits in vain for the other
        return create(*given, **named)

    monkeypatch.setattr(np.lib.format, "open_memmap", slow)
    slow_one = threading.Thread(target=Cache, args=arguments, name="slow", daemon=True)
    slow_one.start()
    assert late.wait(PATIENCE)
    cache = Cache(*arguments)
    cache.put([0], {"g": np.ones((1, 3))})
    filled.set()
    slow_one.join(PATIENCE)
    assert cache.missing == [1] and cache["g"][0].tolist() == [1, 1, 1]
    assert Cache(*arguments).missing == [1]
