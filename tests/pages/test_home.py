from urllib.parse import parse_qs

import pytest

from app.home import first_look
from app.widgets.pickers import specification_list
from engine.basics.errors import MissingData
from engine.desk import Waiting
from tests.pages.support import open, says, sound

pytestmark = pytest.mark.core


def test_home_says_what_this_is_and_shows_a_real_disagreement():
    at = sound(open("home"))
    assert at.title[0].value == "Which influence do you mean?"
    assert says(at, "the intervention and training process differ")
    assert says(at, "data:image/png;base64,") and says(at, "Rank 1 of 1,000 here") and says(at, "in the other answer")


def test_one_click_starts_a_comparison():
    link = sound(open("home", settle=False)).get("page_link")[0].proto
    assert (link.page, link.label) == ("compare", "Start a first comparison")
    assert parse_qs(link.query_string)["s"] == specification_list.address("first")["s"]


def test_every_page_is_linked():
    at = sound(open("home", settle=False))
    links = {link.proto.page for link in at.get("page_link")}
    assert {"compare", "approximation_error", "examples", "map", "noisy_labels", "language_models", "learn", "paper",
            "library", "runs", "guide"} <= links


def test_home_stands_while_the_model_trains(monkeypatch):
    monkeypatch.setattr(first_look, "first_look", lambda: Waiting("Training the model"))
    monkeypatch.setattr("app.widgets.jobs.job_panel.watch", lambda waiting: None)
    at = sound(open("home", settle=False))
    assert says(at, "What you can do here")


def test_home_stands_without_data(monkeypatch):
    def missing():
        raise MissingData("The digits are not on this machine; install scikit-learn.")

    monkeypatch.setattr(first_look, "first_look", missing)
    at = sound(open("home", settle=False))
    assert at.error[0].value.startswith("The digits are not") and says(at, "What you can do here")
