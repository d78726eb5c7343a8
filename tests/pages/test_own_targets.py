"""A network trained on targets stands on every page by its name, and what needs classes says so."""

import pytest

from engine.models.own_architecture import declared
from engine.problems.own_model import declare
from tests.engine.models.test_own_architecture import folder  # noqa: F401
from tests.engine.problems.test_own_loss import files  # noqa: F401
from tests.pages.support import open, says, scored, sound, texts


@pytest.fixture
def own(home, files):  # noqa: F811
    list(declare(model=f"{files}/regressing.py:make", loss=f"{files}/regressing.py:loss", data=files / "data.npz",
                 checkpoint=files / "w.pt", name="rents"))
    return declared()


def test_a_comparison_begins_with_it(own):
    at = scored(sound(open("compare")))
    model = next(box for box in at.selectbox if box.label == "Model")
    assert model.value == "rents" and len(model.options) == 1
    assert not at.error, [one.value for one in at.error]
    at.button(key="compare:add").click().run()
    behavior = next(box for box in sound(at).selectbox if box.key == "add:B")
    assert len(behavior.options) == 1
    unfit = [entry for box in at.selectbox for entry in box.options if "not for this model" in entry]
    assert any("TRAK" in entry for entry in unfit) and any("RepSim" in entry for entry in unfit)


@pytest.mark.parametrize("page", ["home", "approximation_error", "examples", "map", "scorecard", "library", "runs",
                                  "learn", "paper"])
def test_pages_show_it(own, page):
    at = scored(sound(open(page)))
    assert not at.error, [one.value for one in at.error]
    if page == "examples":
        assert "target" in " ".join(texts(at)) and "rents" in [box.value for box in at.selectbox]


@pytest.mark.parametrize("page", ["noisy_labels", "poison"])
def test_pages_of_classes_say_so(own, page):
    assert says(sound(open(page)), "needs classes, and these examples have targets; choose data with classes.")
