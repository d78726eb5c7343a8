"""What pages open with before anything is chosen: a finished example, marked as such, one click from own data."""

import pytest

from app.widgets.jobs.desk import desk
from tests.pages.support import open, says, sound

pytestmark = pytest.mark.core

OWN = "My own data"


def labels(at):
    return [button.label for button in at.button]


@pytest.mark.parametrize(("page", "shown"), [
    ("noisy_labels", "360 of 1,800 labels are wrong"),
    ("scorecard", "Dashed: 1.00, because training ends at one optimum"),
    ("approximation_error", "Move the slider to any η")])
def test_it_opens_on_a_run_that_came_with_the_program(home, page, shown):
    at = sound(open(page, settle=False))
    assert says(at, shown) and says(at, "Example</span>") and says(at, "Computed beforehand, in ")
    assert OWN in labels(at) and "Find suspicious labels" not in labels(at) and "Run the scorecard" not in labels(at)
    if page != "approximation_error":  # which trains its model for the chosen point
        assert not desk().jobs.queue.jobs()


@pytest.mark.parametrize("data", [{}, {"data": "fashion_backdoor"}, {"data": "world_planted"}])
def test_poison_opens_on_a_model_that_came_with_the_program(home, data):
    at = sound(open("poison", **data))
    assert says(at, "Example</span>") and says(at, "Trained beforehand, in ") and OWN in labels(at)
    assert says(at, "held-out examples are misclassified") and says(at, "The model says")
    assert not desk().jobs.queue.jobs()
    if data:
        rest, planted = ("other records", 100) if data["data"] == "world_planted" else ("rest of the class", 40)
        assert says(at, f"training examples stand apart from the {rest}")
        assert says(at, f"The data say which examples are planted: {planted} of these")


def test_other_choices_are_no_example(home):
    at = sound(open("noisy_labels", noise=0.3))
    assert "Find suspicious labels" in labels(at) and not says(at, "Computed beforehand")
    at = sound(open("noisy_labels", data="digits", noise=0.3))
    assert not says(at, "Example</span>") and OWN not in labels(at)


def test_what_the_example_lacks_is_said_and_run_at_a_click(home, monkeypatch):
    started = []
    monkeypatch.setattr(type(desk()), "start", lambda self, request: started.append(request))
    at = sound(open("scorecard"))
    assert says(at, f"The example has 6 of {len(_asked(at, started).benchmarks)} benchmarks and ")


def _asked(at, started):
    next(button for button in at.button if button.label == "Run the whole scorecard").click().run()
    return started[0]


def test_language_models_open_on_published_results_and_lead_to_own_records(home):
    at = sound(open("language_models"))
    assert says(at, "Published results, part of the program.")
    at = sound(at.button(key="language:own").click().run())
    assert at.query_params["show"] in ("records", ["records"]) and at.query_params["task"] in ("own", ["own"])
    assert at.file_uploader


def test_own_data_are_one_click_away(home):
    at = sound(open("scorecard"))
    at = sound(at.button(key="example:own").click().run())
    assert any(box.key == "own" for box in at.file_uploader) and at.button(key="own:sample").label
