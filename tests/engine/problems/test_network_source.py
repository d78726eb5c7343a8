"""Networks of drawn problems: what is drawn, trained once, kept, and taken up again by a job."""

import json

import numpy as np
import pytest
import torch

import engine.experiments  # noqa: F401 - registers the jobs
from engine import data
from engine.basics.errors import Cancelled, InvalidInput
from engine.basics.noted import noting
from engine.jobs import run_job
from engine.models import precision
from engine.models.checkpoint import read_state, save_checkpoint
from engine.models.gain import Gain
from engine.models.recipe import Recipe
from engine.problems import ProblemSource, build_cached, trained
from engine.problems.families.inputs import channels_first
from engine.requests.scores import ScoresRequest
from engine.requests.training import TrainingRequest
from engine.scoring.scoring import Scoring
from tests.engine.requests_for_tests import scores_payload, training_payload

RECIPE = Recipe(epochs=6, batch_size=10, learning_rate=0.05, momentum=0.9, checkpoints=2)
TINY = {"dataset": "digits", "model": "cnn", "n_train": 40, "n_test": 20, "n_queries": 6, "n_candidates": 8, "pool": 2,
        "recipe": RECIPE}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    return tmp_path


def weights(home):
    return list((home / "models").glob("*.safetensors"))


def test_colours_go_from_last_to_first():
    flat = np.arange(24.0).reshape(1, 24)  # 2 × 4 pixels of three colours
    found = channels_first(flat, (3, 2, 4))
    assert found.shape == (1, 3, 2, 4)
    assert found[0, :, 1, 2].tolist() == flat.reshape(2, 4, 3)[1, 2].tolist()


def test_the_problem_is_that_of_the_draw():
    source = ProblemSource(**TINY, seed=2)
    drawn = source.build()
    problem, digits = drawn.problem, data.load("digits")
    assert problem.x.shape == (40, 1, 4, 4) and problem.queries.shape == (6, 1, 4, 4) and len(problem.candidates) == 8
    picture = digits.x_train[drawn.sample.train_index[3]].reshape(8, 8)
    np.testing.assert_allclose(problem.x[3, 0], picture.reshape(4, 2, 4, 2).mean((1, 3)), rtol=1e-6)
    assert problem.parameters == source.parameters() and source.kind == "module"
    assert problem.recipe.weight_decay == problem.l2 == 1e-4 and 0 <= drawn.test_accuracy() <= 1


def test_it_is_trained_once_and_comes_back_with_its_checkpoints(home):
    source = ProblemSource(**TINY)
    assert not source.is_trained
    first = source.build().problem
    assert source.is_trained and len(weights(home)) == 1
    again = source.build().problem
    assert torch.equal(again.theta, first.theta) and again.fingerprint == first.fingerprint
    assert len(again.checkpoints) == 2
    for old, new in zip(first.checkpoints, again.checkpoints, strict=True):
        assert torch.equal(old.theta, new.theta) and old.learning_rate == new.learning_rate
    torch.testing.assert_close(first.checkpoints[-1].theta, first.theta)


def test_another_selection_is_the_same_training(home):
    whole, head = (ProblemSource(**TINY, selection=which).build().problem for which in ("all", "last_layer"))
    assert len(weights(home)) == 1 and head.parameters < whole.parameters
    assert ProblemSource(**TINY, seed=1).is_trained is False


def test_damaged_weights_are_trained_anew(home):
    source = ProblemSource(**TINY)
    expected = source.build().problem.theta
    weights(home)[0].write_bytes(b"cut short")
    assert torch.equal(source.build().problem.theta, expected)


def test_softmax_sources_are_written_as_they_were_before_there_were_networks():
    assert "model" not in json.loads(ProblemSource(n_train=10).model_dump_json())
    source = ProblemSource(**TINY)
    assert ProblemSource.parse(json.loads(source.model_dump_json())) == source


@pytest.mark.parametrize(("change", "sentence"), [
    ({"model": "resnet81"}, "There is no model `resnet81`"),
    ({"selection": "^none$"}, "No parameter's name matches"),
    ({"pool": 4}, "needs images of at least 4 × 4 pixels"),
])
def test_what_makes_no_sense_is_refused(change, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        ProblemSource(**{**TINY, **change}).build()


def test_the_training_job_leaves_the_weights_and_its_facts(home):
    source = ProblemSource(**TINY)
    result = run_job(TrainingRequest.name, training_payload(source), home)
    assert source.is_trained and result.manifest["facts"]["factual_loss"] > 0
    assert training_payload(source) == training_payload(source.model_copy(update={"n_queries": 3}))


def test_a_training_can_be_stopped(home):
    def stop():
        raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        ProblemSource(**TINY).build(check=stop)
    assert weights(home) == [] and trained.weights_file({"a": 1}).parent == home / "models"


def test_a_run_says_how_its_model_was_trained_whoever_trained_it(home, monkeypatch):
    """The training itself, weights from the disk, and a problem that is still in memory."""
    monkeypatch.setattr(precision, "gain", lambda: Gain(matrices=1.0, convolutions=4.8))
    mixed = ProblemSource(**{**TINY, "recipe": RECIPE.model_copy(update={"precision": "mixed"})})
    told = ["bfloat16 (measured gain 4.8)"]
    assert run_job(TrainingRequest.name, training_payload(mixed), home).manifest["passes"] == told
    asked = scores_payload(mixed, [Scoring.of("query_loss", {"kind": "add_occurrence"},
                                                  {"kind": "one_step", "eta": 0.1}, "first_order")], 4)
    monkeypatch.setattr(precision, "gain", lambda: Gain(matrices=0.1, convolutions=0.1))
    assert run_job(ScoresRequest.name, asked, home / "elsewhere").manifest["passes"] == told
    build_cached(ProblemSource(**TINY))  # another problem takes its place in memory
    assert run_job(ScoresRequest.name, asked, home / "again").manifest["passes"] == told
    plain = training_payload(ProblemSource(**TINY))
    assert run_job(TrainingRequest.name, plain, home).manifest["passes"] == ["float32"]


@pytest.mark.parametrize(("recipe", "told"), [
    (RECIPE, "float32"), (RECIPE.model_copy(update={"precision": "mixed"}), trained.NOT_SAID)])
def test_weights_of_an_earlier_version_do_not_say_it(home, recipe, told):
    source = ProblemSource(**{**TINY, "recipe": recipe})
    source.build()
    path = weights(home)[0]
    save_checkpoint(read_state(path), path)
    with noting() as found:
        source.build()
    assert found == {told}
