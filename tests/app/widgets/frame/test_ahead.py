"""Tasks ahead: one after the other, each in its turn, and none twice; a fault ends nothing."""

import asyncio
import importlib
import threading

import pytest

from app.widgets.frame import ahead
from app.widgets.frame.turns import turn


@pytest.fixture
def begun(monkeypatch):
    monkeypatch.setattr(ahead, "_tasks", None)
    monkeypatch.setattr(ahead, "_requested", type(ahead._requested)())
    monkeypatch.setattr(ahead, "PAUSE", 0.0)
    ahead.begin()


def test_nothing_is_done_where_no_server_has_begun(monkeypatch):
    """What is asked before a server begins is forgotten: it is not done afterwards, and may be asked for again."""
    monkeypatch.setattr(ahead, "_tasks", None)
    monkeypatch.setattr(ahead, "_requested", type(ahead._requested)())
    monkeypatch.setattr(ahead, "PAUSE", 0.0)
    done, last = [], threading.Event()
    ahead.ask("key", [lambda: done.append("before")])
    ahead.begin()
    ahead.ask("key", [lambda: done.append("after"), last.set])
    assert last.wait(10) and done == ["after"]


def test_a_server_begins_when_it_starts_and_an_import_of_its_file_does_not(monkeypatch):
    monkeypatch.setattr(ahead, "_tasks", None)
    entry = importlib.reload(importlib.import_module("app.main"))
    assert ahead._tasks is None

    async def start():
        async with entry.serving(entry.served):
            assert ahead._tasks is not None

    asyncio.run(start())


def test_in_order_once_and_past_a_fault(begun):
    done, last = [], threading.Event()

    def fail():
        raise ValueError("not now")

    ahead.ask("first", [lambda: done.append(1), fail, lambda: done.append(2)])
    ahead.ask("first", [lambda: done.append(3)])
    ahead.ask("second", [last.set])
    assert last.wait(10) and done == [1, 2]


def test_a_task_waits_while_a_page_is_computed(begun):
    done = threading.Event()
    with turn(ahead.PATIENCE) as mine:  # a page of another test may still be computed
        ahead.ask("key", [done.set])
        assert mine and not done.wait(0.3)
    assert done.wait(10)


def test_what_is_too_much_is_left_out(begun, monkeypatch):
    monkeypatch.setattr(ahead, "REMEMBERED", 2)
    held = threading.Event()
    ahead.ask("many", [held.wait] + [lambda: None] * (2 * ahead.WAITING))
    held.set()
    for key in ("b", "c", "d"):
        ahead.ask(key, [])
    again = threading.Event()
    while not again.wait(0.05):
        ahead.ask("many", [again.set])  # forgotten by now, so that it may be asked for again
        ahead.ask("x", [])
        ahead.ask("y", [])
