"""A language model that a study trained is a problem's, and the other way round: one training, with one digest."""

import json

import pytest
import torch

from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.basics.errors import InvalidInput
from engine.data import uploads
from engine.models.altered import Altered
from engine.models.causal import lora, stored_trainings
from engine.problems import ProblemSource
from engine.problems.module import BATCH
from engine.store.sealed import digest_of
from tests.engine.conftest import questions

RECIPE = {"epochs": 2, "checkpoints": 2, "batch": 4, "learning_rate": 1e-2, "context": 200, "rank": 2, "scaling": 4}
SEED = 3


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Twenty records, of which the last two are asked about."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    path = tmp_path / "records.jsonl"
    path.write_text("\n".join(json.dumps({"prompt": one.question, "response": f"It is {one.choices[one.answer]}."})
                              for one in questions(20)), encoding="utf-8")
    return path


def source(file, model_folder, **options):
    return ProblemSource.parse({"dataset": uploads.keep_path(file), "model": str(model_folder), "recipe": RECIPE,
                                "seed": SEED, **options})


def study(file, model_folder):
    return Attribution(Setting.parse({"model": str(model_folder), "recipe": RECIPE, "task": {
        "name": "own", "train": str(file), "held": 2}}), SEED)


def test_a_problem_takes_what_a_study_trained(file, model_folder):
    own, found = study(file, model_folder), source(file, model_folder)
    assert not found.is_trained
    points = own.train()
    assert found.is_trained and digest_of(found.identity) == own.digest
    problem = found.build(check=lambda: pytest.fail("it was trained")).problem
    for point, checkpoint in zip(points, problem.checkpoints, strict=True):
        flat = torch.cat([point.weights[lora.short(name)].flatten() for name in problem.network.names])
        assert torch.equal(checkpoint.theta, flat) and checkpoint.learning_rate == point.weight
        first = torch.cat([point.moments()[0][lora.short(name)].flatten() for name in problem.network.names])
        assert torch.equal(checkpoint.first, first) and checkpoint.steps == point.step
    assert torch.equal(problem.checkpoints[-1].theta, problem.theta)


def test_a_study_takes_what_a_problem_trained(file, model_folder):
    problem = source(file, model_folder).build().problem
    own = study(file, model_folder)
    points = own.train(check=lambda: pytest.fail("it was trained"))
    assert len(points) == 2 and points[-1].weights
    [training] = stored_trainings.trainings()
    assert training.digest == own.digest[:stored_trainings.LENGTH]
    assert training.description["records"] == problem.n == 18


def test_a_removed_training_is_done_again(file, model_folder):
    theta = source(file, model_folder).build().problem.theta
    [training] = stored_trainings.trainings()
    assert stored_trainings.delete(training.digest) > 0 and not source(file, model_folder).is_trained
    assert torch.equal(source(file, model_folder).build().problem.theta, theta)


def test_training_again_with_every_record_ends_where_the_problem_stands(file, model_folder):
    problem = source(file, model_folder).build().problem
    again = problem.retrained_outputs(Altered(torch.ones(1, problem.n)))[0]
    assert torch.equal(again, torch.cat([problem.outputs(part) for part in problem.queries.split(BATCH)]))


def test_other_records_seeds_and_recipes_are_other_trainings(file, model_folder):
    kinds = [source(file, model_folder, **options) for options in (
        {}, {"n_train": 9}, {"seed": SEED + 1}, {"recipe": {**RECIPE, "epochs": 3}}, {"n_queries": 1})]
    digests = [digest_of(kind.identity) for kind in kinds]
    assert digests[0] == digests[-1] and len(set(digests)) == 4


def test_records_stand_in_the_order_of_their_dataset(file, model_folder):
    _, sample = source(file, model_folder, n_train=9).draw()
    assert list(sample.train_index) == sorted(sample.train_index) and len(set(sample.candidates)) == 9


def test_a_language_model_on_pictures_is_refused_before_it_is_looked_for(model_folder):
    with pytest.raises(InvalidInput, match="holds no texts"):
        ProblemSource.parse({"dataset": "digits", "model": str(model_folder), "recipe": RECIPE}).is_trained  # noqa: B018


def test_layers_of_a_language_model_are_chosen_by_the_names_of_transformers(file, model_folder):
    whole = source(file, model_folder).build().problem
    chosen = source(file, model_folder, selection=["model.layers.1.self_attn"]).build(
        check=lambda: pytest.fail("it was trained")).problem
    names = [name for name in whole.network.names if "layers.1.self_attn." in name]
    assert list(chosen.network.names) == names and 0 < len(names) < len(whole.network.names)
    assert source(file, model_folder, selection=["model.layers.1.self_attn"]).parameters() == chosen.parameters
    assert torch.equal(chosen.checkpoints[-1].theta, chosen.theta) and chosen.checkpoints[-1].first is not None
    with pytest.raises(InvalidInput, match=r"`layers.1`; the nearest are `model.layers.1`"):
        source(file, model_folder, selection=["layers.1"]).build()
