"""What the page asks of the desk: runs and results of the desk's own folder."""

import pytest

from app.noisy_labels import data
from engine.applications.noisy_labels.source import NoisySource
from engine.desk import Desk
from engine.jobs import job_digest
from engine.runs import noisy_labels as runs

SOURCE = NoisySource(dataset="digits", n_train=40, n_test=20)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A desk whose folder is not that of the environment."""
    found = Desk(root=tmp_path / "elsewhere")
    monkeypatch.setattr(data, "desk", lambda: found)
    return found


def test_a_run_is_looked_for_where_the_desk_keeps_it(own):
    assert data.scored(SOURCE) is None and data.scoring(SOURCE) is None
    data.start_scoring(SOURCE)
    assert data.scoring(SOURCE).job == job_digest(runs.KIND, runs.payload(SOURCE)) and data.scored(SOURCE) is None


def test_a_stopped_run_is_still_one_to_wait_for_until_it_is_taken_up(own):
    data.start_scoring(SOURCE)
    job = data.scoring(SOURCE).job
    own.jobs.queue.request_cancel(job)
    assert data.scoring(SOURCE).job == job and not own.jobs.queue.get(job).active
    data.start_scoring(SOURCE)
    assert own.jobs.queue.get(job).active
