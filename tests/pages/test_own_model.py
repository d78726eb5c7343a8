"""A model that the program was started with stands first on the pages, with its data and its weights."""

import pytest

from app.widgets.pickers import pickers, weights_picker
from engine.models.own_architecture import declared
from engine.problems.own_model import declare
from engine.scoring import codes
from engine.scoring.scoring import Scoring
from tests.engine.models.test_own_architecture import folder  # noqa: F401
from tests.engine.problems.test_own_model import files  # noqa: F401
from tests.pages.support import open, says, scored, sound, texts


@pytest.fixture
def own(home, files):  # noqa: F811
    list(declare(model=f"{files}/stranger.py:bare", whole=True, checkpoint=files / "w.pt", data=files / "data.npz",
                 name="tokens"))
    return declared()


def chosen(at, key):
    return next(box for box in at.selectbox if box.label == key)


def test_every_page_begins_with_it(own):
    at = sound(open("compare"))
    assert chosen(at, "Model").value == "tokens" and chosen(at, "Dataset").value == own.data
    assert says(at, "It is unknown how they were trained")


def test_its_weights_can_be_left_for_a_training_here(own):
    at = sound(open("compare"))
    at.button(key="weights:forget").click().run()
    assert weights_picker.TRAINED in at.query_params[weights_picker.NAME]
    assert not says(at, "It is unknown how they were trained")


def test_other_data_offer_the_models_of_the_program(own):
    at = sound(open("compare", data="digits"))
    assert chosen(at, "Model").value == "softmax" and "Tokens" not in chosen(at, "Model").options[:1]
    assert pickers.SOFTMAX in [box.value for box in at.selectbox]


def test_a_trajectory_without_checkpoints_is_greyed_and_leaves_the_others_of_a_link(own):
    """A link names three specifications, one of them at checkpoints that these weights came without."""
    listed = [codes.encode(Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": process, "eta": 0.1}, route))
              for process, route in (("one_step", "exact"), ("trajectory", "exact"), ("one_step", "first_order"))]
    at = scored(sound(open("compare", s=listed, pair="1-3")))
    assert says(at, "but this model's training stored none") and not says(at, "This pair is")
    assert "Same question" in " ".join(texts(at))
    at.button(key="compare:add").click().run()
    process = next(box for box in at.selectbox if box.key == "add:T")
    assert process.options[-1] == "trajectory (not for this model)"
    process.set_value("trajectory").run()
    assert not [button for button in at.button if button.key == "compare:done"]


def test_models_are_not_offered_to_be_trained_where_nobody_knows_how(own):
    at = sound(open("scorecard"))
    button = next(button for button in at.button if button.label == "Run the scorecard")
    assert button.disabled and says(
        at, "It is unknown how these weights were trained, so the model cannot be retrained")
    at = sound(open("scorecard", data="digits"))
    assert not next(button for button in at.button if button.label == "Run the scorecard").disabled


def test_a_first_comparison_is_chosen_by_what_it_is_predicted_to_cost(own, monkeypatch):
    from engine.desk import first_look, fitting

    quick = fitting.first_look(own.data, own.name)
    assert (quick.parameters, quick.candidates) == first_look.TRIED[0] and quick.seconds == quick.whole < 5
    at = sound(open("compare"))
    assert says(at, "A first comparison of all parameters with 30 candidates is predicted to take")
    monkeypatch.setattr(first_look, "PATIENCE", 0.0)
    first_look.first_look.cache_clear()
    dear = fitting.first_look(own.data, own.name)
    assert (dear.parameters, dear.candidates) == first_look.TRIED[-1] and dear.seconds < dear.whole
    assert chosen(sound(open("compare")), "Differentiated parameters").value == dear.parameters
    first_look.first_look.cache_clear()
