"""Settings of an estimator and of the training on the page: seen where they are chosen, and in the address."""

from tests.pages.support import open, says, sound, texts
from tests.pages.test_examples import SMALL, address

LISSA = "query_loss/infinitesimal/local_response;damping=0.01/lissa"


def number(at, label):
    return next(box for box in at.number_input if box.label == label)


def test_settings_are_chosen_beside_the_estimator_and_stand_in_the_link():
    at = sound(open("examples", s=[f"{LISSA};iterations=100"], **SMALL))
    assert number(at, "iterations").value == 100 and number(at, "averaged").value == 20
    assert "Default: the paper." in number(at, "iterations").help
    number(at, "iterations").set_value(300).run()
    at.button(key="apply:0").click().run()
    assert address(sound(at), "s") == [f"{LISSA};iterations=300"]


def test_two_settings_stand_side_by_side():
    at = sound(open("examples", s=[LISSA, f"{LISSA};iterations=300"], **SMALL))
    assert says(at, "LiSSA, 300 iterations")


def test_settings_that_do_not_go_together_are_refused_where_they_are_chosen():
    at = sound(open("examples", s=[LISSA], **SMALL))
    number(at, "iterations").set_value(5).run()
    assert says(at, "over the last 20 of 5")


def test_the_training_of_a_network_is_chosen_and_stands_in_the_link():
    at = sound(open("examples", model="mlp", **{**SMALL, "fit-epochs": 3, "l2": 0.01}))
    assert says(at, "Trained for 3 epochs") and says(at, "weight decay 0.01")
    number(at, "Batch size").set_value(16).run()
    assert says(at, "in batches of 16") and address(at, "fit-batch") == ["16"]


def test_no_more_checkpoints_are_asked_for_than_there_are_epochs():
    at = sound(open("examples", model="mlp", **{**SMALL, "fit-epochs": 3, "fit-checkpoints": 9}))
    assert says(at, "Trained for 3 epochs")


def test_the_penalty_is_part_of_the_problem():
    lighter, heavier = (sound(open("examples", l2=value, **SMALL)) for value in (1e-4, 10.0))
    assert [box.value for box in heavier.number_input if box.label.startswith("Penalty")] == [10.0]
    scores = [[text for text in texts(at) if 'class="wf-example"' in text] for at in (lighter, heavier)]
    assert scores[0] != scores[1]


def test_a_setting_is_turned_on_approximation_error():
    at = sound(open("approximation_error", panel="alpha", solver="lissa", sweep=1, **SMALL))
    assert says(at, "Each value is a specification of its own") or says(at, "candidates")
    assert any(box.label == "Setting" for box in at.selectbox)
