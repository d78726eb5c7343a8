"""Runs that come with the program: they answer what the pages ask first, they are whole, and they give way."""

import json

import numpy as np
import pytest

from engine.analysis.error_curves import step_agreement
from engine.analysis.step_curves import StepCurvesRequest
from engine.basics.errors import StoreError
from engine.desk import Desk, error_curves, shipped
from engine.desk.examples import requests, trainings, weights
from engine.desk.noisy_labels import SuspicionRequest
from engine.jobs.kinds import canonical
from engine.models.causal import finetune
from engine.problems.trained import SHIPPED
from engine.question.behaviors import BEHAVIORS, register_behavior

DUE = 'compute what is due: python -c "from engine.desk.examples import refresh; refresh()"'


@pytest.fixture
def search() -> SuspicionRequest:
    return next(one for one in requests() if one.name == SuspicionRequest.name)


@pytest.mark.parametrize("request_", requests(), ids=lambda one: one.name)
def test_each_request_is_answered_by_a_run_of_this_code(request_):
    result = shipped.shipped(request_)
    assert result is not None, DUE
    assert result.manifest["payload"]["numerics"] == request_.numerics
    assert result.manifest["wall_seconds"] > 0 and result.manifest["device"]


def test_no_other_run_came_with_the_program():
    digests = {result.digest for one in requests() if (result := shipped.shipped(one))}
    assert digests == set(shipped.manifests(shipped.STORE.shelf)), DUE


def test_trainings_come_with_their_weights_and_no_others_do(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    assert {path for shelf in (SHIPPED, finetune.SHIPPED) for path in shelf.iterdir()} == set(weights()), DUE
    for training in trainings():
        assert training.origin.is_trained
        accuracy = training.origin.build().test_accuracy()
        assert accuracy == pytest.approx(shipped.shipped(training).manifest["test_accuracy"], abs=0.01)
    assert not list(tmp_path.rglob("*.safetensors"))


def test_another_question_is_not_answered(search):
    other = search.source.model_copy(update={"seed": 1})
    assert shipped.shipped(SuspicionRequest(source=other)) is None
    fewer = SuspicionRequest(source=search.source, methods=("gradsim",))
    assert shipped.shipped(fewer) is None


def test_the_desk_answers_out_of_it_until_somebody_asks(search, tmp_path):
    desk = Desk(root=tmp_path)
    answer = desk.known(search)
    assert len(answer.own) == search.source.n_train and desk.example(search).manifest["kind"] == search.name
    desk.jobs.queue.submit(search.name, search.payload, title="mine")
    assert desk.known(search).what == "mine" and desk.example(search) is None


def test_damage_is_no_answer_and_nothing_is_moved(search, tmp_path, monkeypatch):
    store = shipped.Store(tmp_path, "runs")
    digest, payload = "0" * 64, json.loads(canonical(search.payload))
    store.write(digest, {"kind": search.name, "payload": payload}, arrays={"own": [1.0]})
    monkeypatch.setattr(shipped, "STORE", store)
    assert shipped.shipped(search).digest == digest
    (store.folder(digest) / "arrays.safetensors").write_bytes(b"x")
    assert shipped.shipped(search) is None and store.folder(digest).is_dir()
    with pytest.raises(StoreError):
        store.read(digest)


def test_curves_that_came_with_the_program_are_those_that_are_computed(tmp_path):
    source = next(one for one in requests() if one.name == StepCurvesRequest.name).source
    desk = Desk(root=tmp_path)
    assert error_curves.eta_curves(desk, [source], seconds=0.0).complete  # without a model
    known = error_curves.step_numbers(desk, source, 0.1)
    computed = step_agreement(source.build().problem, 0.1, ["query_loss"])["query_loss"]
    for metric, values in computed.items():
        np.testing.assert_allclose(known["query_loss"][metric], values, atol=1e-3)
    assert not error_curves.eta_curves(desk, [source.model_copy(update={"seed": 1})], seconds=0.0).complete


def test_curves_that_came_with_the_program_give_way_where_a_behavior_of_a_users_is_registered(tmp_path):
    source = next(one for one in requests() if one.name == StepCurvesRequest.name).source
    desk = Desk(root=tmp_path)
    register_behavior("own_square", lambda logits, labels: logits.square().sum(-1))
    try:
        assert error_curves.example(desk, source) is None
        assert not error_curves.eta_curves(desk, [source], seconds=0.0).complete
        assert "own_square" in error_curves.step_numbers(desk, source, 0.1)
    finally:
        BEHAVIORS.remove("own_square")
    assert error_curves.example(desk, source) is not None
