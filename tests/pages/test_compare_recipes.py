"""The Compare page gives scripts for its own problem, and shows what they wrote as a row of the matrix."""

import io
import zipfile

import numpy as np
import pytest

from app.compare import recipes
from app.widgets.pickers import specification_list
from engine.external.score_recipes import SCORE_RECIPES
from engine.problems import ProblemSource
from engine.scoring import codes
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.pages.support import open, says, sound

SMALL = {"data": "digits", "train": 60, "queries": 20, "candidates": 8, "nseeds": 1}
SOURCE = ProblemSource(n_train=60, n_queries=20, n_test=500)


def opened(**more):
    return sound(open("compare", **{**SMALL, **specification_list.address("first"), **more}))


def drop(at, values, name):
    buffer = io.BytesIO()
    np.savez(buffer, scores=values, candidates=SOURCE.build().problem.candidates.numpy())
    uploader = next(box for box in at.file_uploader if box.key.startswith("bring:file:"))
    return sound(uploader.set_value([(name, buffer.getvalue(), "application/octet-stream")]).run())


@pytest.mark.parametrize("name", SCORE_RECIPES)
def test_a_program_has_its_script_for_the_problem_on_the_page(home, name):
    at, recipe = opened(recipe=name), SCORE_RECIPES[name]
    script = next(code.value for code in at.code if recipe.written in code.value)
    assert 'nn.Linear(in_features=64, out_features=10, bias=False)' in script and "# problem" not in script
    assert says(at, f"python {recipe.file}") and says(at, recipe.claim.question)


def test_what_the_script_wrote_is_a_row_with_its_claim(home):
    at = opened()
    sound(at.selectbox(key="choice:recipe").set_value("dattri").run())
    assert at.query_params["recipe"] in ("dattri", ["dattri"])
    claim = SCORE_RECIPES["dattri"].claim
    problem = SOURCE.build().problem
    at = drop(at, compute(problem, Scoring.of(claim.behavior, claim.intervention, claim.process, "cg"))[0].oriented,
              "dattri.npz")
    claimed = next(box for box in at.selectbox if ":claim" in box.key)
    assert "local_response" in claimed.value and says(at, "The name says dattri")
    sound(at.selectbox(key="choice:recipe").set_value("captum").run())
    assert next(box for box in at.selectbox if ":claim" in box.key).value == claimed.value
    at = sound(next(button for button in at.button if button.label == "Add to the comparison").click().run())
    assert codes.decode(at.query_params["s"][-1]).exact_answer == claim and says(at, "Sign read as plus")


def test_the_zip_is_of_the_problem_on_the_page():
    problem = SOURCE.build().problem
    with zipfile.ZipFile(io.BytesIO(SCORE_RECIPES["captum"].packed(problem, "softmax"))) as archive:
        arrays = np.load(io.BytesIO(archive.read("problem.npz")))
        np.testing.assert_array_equal(arrays["x_query"], problem.queries.numpy())


def test_a_name_that_is_none_is_dropped(home):
    at = sound(opened(recipe="nonsense"))
    assert at.selectbox(key="choice:recipe").value == recipes.OWN
