"""The bound on what one home may hold, at each door that something comes in by."""

import io

import numpy as np
import pytest

from engine.basics.errors import InvalidInput, StoreError
from engine.basics.folders import HOME, at_home, user_home
from engine.basics.quota import VARIABLE, quota, require_room, used
from engine.data import record_files, uploads
from engine.external import saved_tables
from engine.external.table import Table
from engine.jobs import JobQueue


@pytest.fixture
def full(tmp_path, monkeypatch):
    """A home of at most 1 kB in which 900 bytes lie; another has room."""
    monkeypatch.setenv(HOME, str(tmp_path))
    monkeypatch.setenv(VARIABLE, "0.000001")
    home = user_home("ann")
    home.mkdir(parents=True)
    (home / "results").mkdir()
    (home / "results" / "file").write_bytes(bytes(900))
    return home


def arrays():
    held = io.BytesIO()
    np.savez(held, x_train=np.zeros((4, 2)), y_train=np.arange(4) % 2, x_query=np.zeros((1, 2)), y_query=[0])
    return held.getvalue()


DOORS = {
    "upload": lambda: uploads.keep(io.BytesIO(arrays()), "mine.npz"),
    "records": lambda: record_files.keep(b'{"prompt": "a", "response": "b"}\n' * 20),
    "brought": lambda: saved_tables.keep(Table(np.zeros((20, 20)), "scores"), "scores.npy"),
}


@pytest.mark.parametrize("door", DOORS)
def test_what_does_not_fit_is_refused_and_leaves_nothing(door, full):
    with at_home(full), pytest.raises(StoreError, match="folder on this server is full .* delete results"):
        DOORS[door]()
    assert used(full) == 900


def test_a_full_home_takes_no_new_run_and_another_does(full):
    (full / "results" / "file").write_bytes(bytes(1_100))
    with pytest.raises(StoreError, match="full"):
        JobQueue(full).submit("slow", {})
    with pytest.raises(StoreError, match="full"):
        require_room(1, full)
    require_room(900, user_home("bob"))


@pytest.mark.parametrize("text", ["0", "-1", "much", "nan"])
def test_a_quota_is_a_positive_number(text, monkeypatch):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InvalidInput, match=VARIABLE):
        quota()


def test_without_one_there_is_no_bound(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert quota() == float("inf")
