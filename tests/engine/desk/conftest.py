"""A desk with a home of its own for every test, and no worker."""

import pytest

import engine.experiments  # noqa: F401 - knows every kind of job
from engine.desk import Desk


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("engine.desk.jobs.ensure_worker", lambda root: False)
    return Desk()


@pytest.fixture(autouse=True)
def time_to_train(monkeypatch):
    """On a busy machine, too, a small model is there when a test asks for it."""
    monkeypatch.setattr("engine.desk.desk.PATIENCE_SECONDS", 60.0)
