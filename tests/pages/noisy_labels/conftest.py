"""A finished search, and what the browser was sent last for the review desk."""

import shutil

import pytest

from app.widgets.jobs import review_screen as screens
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.jobs import run_job
from tests.engine.requests_for_tests import suspicion_payload
from tests.pages.noisy_labels.small import chosen


@pytest.fixture
def empty(home):
    return home


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A home folder in which the search is finished."""
    folder = tmp_path_factory.mktemp("searched")
    run_job(SuspicionRequest.name, suspicion_payload(chosen()), folder)
    return folder


@pytest.fixture
def finished(empty, searched):
    shutil.copytree(searched, empty, dirs_exist_ok=True)
    return chosen().draw()


@pytest.fixture
def screen(monkeypatch):
    """What the browser was sent last for the review desk."""
    sent = {}

    def desk(data, **_):
        sent.update(data, pages={})

    monkeypatch.setattr(screens, "_screen", desk)
    monkeypatch.setattr(screens, "_pages", lambda data, **_: sent["pages"].update(data["pages"]))
    return sent
