"""A home of its own for every page test, and no worker."""

import pytest

from app import workbench
from app.widgets import published


@pytest.fixture
def home(tmp_path, monkeypatch):
    """WHICHFLUENCE_HOME, empty, for tests that look at runs or results."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(published.FOLDER, str(tmp_path / "results"))
    for module in ("workbench", "widgets.job_panel", "widgets.reproductions", "runs.panel"):
        monkeypatch.setattr(f"app.{module}.ensure_worker", lambda root: False)
    workbench.queue.clear()
    for cached in (published._read, published._from_store):
        cached.clear()
    yield tmp_path / "home"
    workbench.queue.clear()
