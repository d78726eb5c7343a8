"""A home of its own for every test of the front end, and nothing kept from the test before."""

import pytest

from app import workbench
from app.widgets import published


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """WHICHFLUENCE_HOME, empty; no worker is started unless a test does so itself."""
    folder = tmp_path / "home"
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(folder))
    for module in ("workbench", "widgets.job_panel", "widgets.reproductions"):
        monkeypatch.setattr(f"app.{module}.ensure_worker", lambda root: False)
    for cached in (workbench.score_cache, workbench.trainer, workbench.queue, published._read, published._from_store):
        cached.clear()
    return folder
