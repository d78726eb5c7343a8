"""Settings of an estimator and of the training on the page: seen where they are chosen, and in the address."""

from tests.pages.support import open, says, sound, texts
from tests.pages.test_examples import SMALL, address

LISSA = "query_loss/infinitesimal/local_response;damping=0.01/lissa"


def number(at, label):
    return next(one for one in at.number_input if one.label == label)


def box(at, label):
    return next(one for one in at.selectbox if one.label == label)


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


def test_optimizer_schedule_and_augmentation_are_chosen_like_the_rest():
    at = sound(open("examples", model="mlp", **{**SMALL, "fit-epochs": 3, "fit-optimizer": "adamw", "fit-flip": 1}))
    assert says(at, "3 epochs by AdamW") and says(at, "mirrored at random") and says(at, "plain gradient steps")
    assert number(at, "Momentum").disabled and not number(at, "Crop").disabled
    box(at, "Schedule").set_value("step").run()
    assert says(at, "(step)") and address(at, "fit-schedule") == ["step"]
    number(at, "Batch size").set_value(20).run()
    assert says(at, "On 60 examples that is 9 steps, and 180 examples processed.")
    assert "fit-rate" not in at.query_params, "what nobody changed is not in the address"


def test_choices_that_do_not_go_together_are_refused_where_they_are_made():
    at = sound(open("examples", model="mlp", **{**SMALL, "fit-optimizer": "nesterov", "fit-momentum": 0}))
    assert says(at, "Nesterov's variant needs momentum, which is 0")
    assert says(at, "Until then: Trained for 50 epochs")


def test_a_language_model_is_fine_tuned_as_it_is_chosen():
    at = sound(open("examples", data="world_corruption", train=40, queries=4, **{"tune-epochs": 2}))
    assert says(at, "trained for 2 epochs with AdamW") and says(at, "On 40 examples that is 10 steps")
    number(at, "Rank").set_value(4).run()
    assert says(at, "Adapters of rank 4") and address(at, "tune-rank") == ["4"]
    help = number(at, "Learning rate").help
    assert "Default: the paper. Cost: none. Begins with 0.005 here." in help


def test_no_more_checkpoints_are_asked_for_than_there_are_epochs():
    at = sound(open("examples", model="mlp", **{**SMALL, "fit-epochs": 3, "fit-checkpoints": 9}))
    assert says(at, "Trained for 3 epochs")


def test_the_penalty_is_part_of_the_problem():
    lighter, heavier = (sound(open("examples", l2=value, **SMALL)) for value in (1e-4, 10.0))
    assert [box.value for box in heavier.number_input if box.label.startswith("Penalty")] == [10.0]
    scores = [[text for text in texts(at) if 'class="wf-example"' in text] for at in (lighter, heavier)]
    assert scores[0] != scores[1]


def test_an_intercept_is_part_of_the_problem_of_softmax_regression_alone():
    without, has = (sound(open("examples", intercept=value, **SMALL)) for value in (0, 1))
    assert [one.value for at in (without, has) for one in at.toggle if one.label == "Intercept"] == [False, True]
    scores = [[text for text in texts(at) if 'class="wf-example"' in text] for at in (without, has)]
    assert scores[0] != scores[1]
    network = sound(open("examples", model="mlp", intercept=1, **{**SMALL, "fit-epochs": 3}))
    assert not [one for one in network.toggle if one.label == "Intercept"]


def test_a_setting_is_turned_on_approximation_error():
    at = sound(open("approximation_error", panel="alpha", solver="lissa", sweep=1, **SMALL))
    assert says(at, "Each value is a separate scoring") or says(at, "candidates")
    assert any(box.label == "Setting" for box in at.selectbox)


def test_all_settings_are_offered_beside_the_single_ones():
    at = sound(open("approximation_error", panel="alpha", solver="lissa", sweep=1, sweepof="all settings", **SMALL))
    assert box(at, "Setting").value == "all settings" and len(box(at, "Setting").options) > 2
