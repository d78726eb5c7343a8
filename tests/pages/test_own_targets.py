"""A network trained on targets stands on every page by its name, and what needs classes says so."""

import numpy as np
import pandas as pd
import pytest

from engine.data.unusual import rows_of
from engine.desk.datasets import load
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
    if page == "scorecard":
        assert says(at, "No benchmark applies to a network trained on targets")
        assert not [one for one in at.button if one.label in ("Run the scorecard", "Measure the ladder")]


def test_rows_of_a_table_with_several_targets_show_their_inputs(home, files, tmp_path):  # noqa: F811
    x = np.random.default_rng(0).normal(size=(40, 2))
    frame = pd.DataFrame({"size": x[:, 0], "age": x[:, 1], "price": x.sum(1), "rent": x[:, 0] - x[:, 1]})
    frame.to_csv(tmp_path / "houses.csv", index=False)
    list(declare(model=f"{files}/regressing.py:make", loss=f"{files}/regressing.py:loss", data=tmp_path / "houses.csv",
                 name="rents", read={"label": "price,rent"}))
    dataset = load(declared().data)
    assert list(rows_of(dataset, "train")) == ["size", "age"]
    at = scored(sound(open("examples")))
    assert not at.error, [one.value for one in at.error]
    assert not [one for one in at.toggle if one.label.startswith("Misclassified")]


@pytest.mark.parametrize("page", ["noisy_labels", "poison"])
def test_pages_of_classes_say_so(own, page):
    assert says(sound(open(page)), "needs classes, and these examples have targets; choose data with classes.")
