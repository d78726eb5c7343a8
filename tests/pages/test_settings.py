"""Settings of an estimator on the page: seen where it is chosen, and in the address when it is."""

from tests.pages.support import open, says, sound
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
    assert says(at, "averages its last 20 of 5")
