"""Pages take turns, and none waits for longer than its patience."""

import threading
import time

import pytest

from app.widgets.frame.turns import turn


def test_one_page_after_the_other():
    at_once, most, lock = 0, 0, threading.Lock()

    def page():
        nonlocal at_once, most
        with turn(patience=30.0) as mine:
            assert mine
            with lock:
                at_once += 1
                most = max(most, at_once)
            time.sleep(0.01)
            with lock:
                at_once -= 1

    threads = [threading.Thread(target=page) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == 1


def test_a_page_that_takes_long_holds_nobody_up_for_long():
    held, done = threading.Event(), threading.Event()

    def slow():
        with turn():
            held.set()
            done.wait(30)

    thread = threading.Thread(target=slow)
    thread.start()
    assert held.wait(30)
    started = time.perf_counter()
    with turn(patience=0.1) as mine:
        assert not mine and 0.05 < time.perf_counter() - started < 10
    done.set()
    thread.join(30)
    with turn(patience=10.0) as mine:  # and whoever began anyway has taken nobody's turn away
        assert mine


def test_a_page_that_ends_with_an_error_gives_its_turn_back():
    with pytest.raises(ValueError, match="broken"), turn():
        raise ValueError("broken")
    with turn(patience=10.0) as mine:
        assert mine
