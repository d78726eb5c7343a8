"""What is noted of trainings: heard by all who note around them, and by nobody else."""

import doctest
import threading

from engine.basics import noted
from engine.basics.noted import manifest_part, note, noting


def test_the_example():
    assert doctest.testmod(noted).failed == 0


def test_nobody_has_to_listen():
    note("float32")
    with noting() as told:
        pass
    assert told == set() and manifest_part(told) == {}


def test_what_is_noted_before_an_error_is_heard_outside():
    with noting() as outer:
        try:
            with noting():
                note("float32")
                raise ValueError
        except ValueError:
            note("bfloat16", "float32")
    assert manifest_part(outer) == {"passes": ["bfloat16", "float32"]}


def test_threads_are_apart():
    with noting() as told:
        thread = threading.Thread(target=note, args=("float64",))
        thread.start()
        thread.join()
    assert told == set()
