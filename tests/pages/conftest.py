"""A home of its own for every page test, and no worker."""

from pathlib import Path

import pytest

from engine.desk import published


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.page)


@pytest.fixture(autouse=True)
def no_worker(monkeypatch, installed_components):
    """Jobs stay queued unless a test runs them."""
    monkeypatch.setattr("engine.desk.jobs.ensure_worker", lambda root: False)
    monkeypatch.setenv("WHICHFLUENCE_DEBUG", "1")  # a fault of ours is no sentence on the page here


@pytest.fixture
def home(tmp_path, monkeypatch):
    """WHICHFLUENCE_HOME, empty, for tests that look at runs or results."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(published.FOLDER, str(tmp_path / "results"))
    for cached in (published._read, published._from_store):
        cached.cache_clear()
    return tmp_path / "home"
