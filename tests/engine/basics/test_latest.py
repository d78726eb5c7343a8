"""One value is kept, for all threads, and built once."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.basics.latest import Latest


class Thing:
    pass


def test_threads_that_ask_together_get_what_one_of_them_built():
    latest, built, ready = Latest(), [], threading.Barrier(4)

    def build():
        built.append(Thing())
        threading.Event().wait(0.05)  # long enough for the others to ask
        return built[-1]

    def ask(_):
        ready.wait()
        return latest.get("a", build)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert len(built) == 1 and all(thing is built[0] for thing in found)


def test_another_key_lets_go_of_the_last_value_before_it_builds():
    latest = Latest()
    first = weakref.ref(latest.get("a", Thing))

    def build():
        gc.collect()
        assert first() is None
        return Thing()

    second = latest.get("b", build)
    assert latest.get("b", pytest.fail) is second


def test_what_could_not_be_built_is_asked_for_again():
    latest = Latest()
    with pytest.raises(ZeroDivisionError):
        latest.get("a", lambda: 1 / 0)
    assert latest.get("a", lambda: 2) == 2
