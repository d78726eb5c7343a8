"""A user's own weights: kept only when they fit, never unpickled, and used as they are."""

import io
import pickle

import pytest
import torch

from engine.basics.errors import InvalidInput, MissingData
from engine.models import own_weights
from engine.models.recipe import Recipe
from engine.problems import ProblemSource
from engine.scoring.compute import compute
from engine.scoring.controlled import step_scoring
from engine.scoring.scoring import Scoring

SOURCE = ProblemSource(model="mlp", n_train=40, n_test=20, n_queries=5, n_candidates=6)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    return tmp_path


def saved(content) -> io.BytesIO:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    buffer.seek(0)
    return buffer


def own_source(module):
    name = own_weights.keep(saved(module.state_dict()), "mine.pt", SOURCE.build_module())
    return SOURCE.model_copy(update={"weights": name})


def test_the_problem_has_the_weights_and_trains_nothing():
    torch.manual_seed(3)
    module = SOURCE.build_module()
    source = own_source(module)
    assert source.is_trained
    problem = source.build().problem
    torch.testing.assert_close(problem.query_logits, module.eval()(problem.queries))
    assert compute(problem, step_scoring("query_loss", 0.1))[0].values.shape == (5, 6)
    for process in ({"kind": "retrain"}, {"kind": "trajectory", "eta": 0.1}):
        intervention = {"kind": "remove" if process["kind"] == "retrain" else "add_occurrence"}
        with pytest.raises(InvalidInput):
            compute(problem, Scoring.of("query_loss", intervention, process))


def test_retraining_own_weights_needs_the_recipe_that_they_were_trained_by():
    source, removed = own_source(SOURCE.build_module()), Scoring.of("query_loss", {"kind": "remove"},
                                                                    {"kind": "retrain"})
    with pytest.raises(InvalidInput, match="unknown how this model was trained.*give its `recipe`"):
        compute(source.build().problem, removed)
    recipe = Recipe(epochs=1, batch_size=20, learning_rate=0.03)
    given = source.model_copy(update={"recipe": recipe})
    found = compute(given.build().problem, removed)[0]
    assert found.provenance["recipe"]["learning_rate"] == 0.03 and found.provenance["recipe"]["epochs"] == 1
    assert "learning rate 0.03" in found.provenance["question"] and removed.question in found.provenance["question"]
    other = source.model_copy(update={"recipe": recipe.model_copy(update={"epochs": 2})})
    assert given.key != other.key and given.build().problem.fingerprint != other.build().problem.fingerprint
    assert "learning rate" not in compute(given.build().problem, step_scoring("query_loss", 0.1))[0].provenance[
        "question"], "a step does not depend on how the model was trained"


def test_a_trained_source_is_written_as_before():
    assert "weights" not in SOURCE.model_dump() and "weights" in own_source(SOURCE.build_module()).model_dump()
    assert "weights" not in ProblemSource().model_dump()


@pytest.mark.parametrize(("content", "name", "said"), [
    (saved({"w": torch.zeros(2)}), "mine.pt", "does not fit the model"),
    (io.BytesIO(b"nonsense"), "mine.safetensors", "truncated, damaged"),
    (io.BytesIO(pickle.dumps(print)), "mine.pth", "was not opened"),
    (io.BytesIO(b""), "mine.txt", "is not a checkpoint"),
])
def test_what_is_no_fitting_checkpoint_is_refused_and_not_kept(home, content, name, said):
    content.seek(0)
    with pytest.raises(InvalidInput, match=said):
        own_weights.keep(content, name, SOURCE.build_module())
    assert not list(home.rglob("own-*"))


def test_weights_that_are_gone_are_missed():
    with pytest.raises(MissingData, match="give the checkpoint again"):
        SOURCE.model_copy(update={"weights": "own-0123456789abcdef"}).build()
    with pytest.raises(InvalidInput, match="is not the name of stored weights"):
        SOURCE.model_copy(update={"weights": "../secret"}).build()
