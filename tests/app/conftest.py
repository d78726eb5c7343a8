"""A home of its own for every test of the front end, and nothing kept from the test before."""

import pytest

from app.widgets.jobs.desk import desk
from engine.desk import published


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch, installed_components):
    """WHICHFLUENCE_HOME, empty; no worker is started unless a test does so itself."""
    folder = tmp_path / "home"
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(folder))
    monkeypatch.setattr("engine.desk.jobs.ensure_worker", lambda root: False)
    desk.clear()
    for cached in (published._read, published._from_store):
        cached.cache_clear()
    return folder
