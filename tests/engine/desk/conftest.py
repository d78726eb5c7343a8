"""A desk with a home of its own for every test, and no worker."""

import pytest

import engine.experiments  # noqa: F401 - knows every kind of job
from engine.desk import Desk


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("engine.desk.jobs.ensure_worker", lambda root: False)
    return Desk()
