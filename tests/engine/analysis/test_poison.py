"""What taught a prediction: the ranking against its definition, the group that stands apart, training without it."""

import numpy as np
import pytest
import torch

from engine.analysis.catalogue import request
from engine.analysis.poison import evidence, shared
from engine.analysis.poison.retraining import BEFORE, WITHOUT
from engine.basics.errors import InvalidInput
from engine.models.cnn import cnn
from engine.problems import ModuleProblem, SoftmaxProblem

POISONS = 12


@pytest.fixture(scope="module")
def poisoned():
    """Three classes in eight features; 12 examples of class 0 carry a value in the last feature and label 1."""
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(3), 60)
    x = rng.normal(size=(180, 8)) + 2 * np.eye(8)[y]
    y_query, x_query = y[:30], rng.normal(size=(30, 8)) + 2 * np.eye(8)[y[:30]]
    rows = np.flatnonzero(y == 0)[:POISONS]
    x[:, 7] = x_query[:, 7] = 0
    x[rows, 7], y[rows] = 6.0, 1
    x_query[0, 7] = 6.0
    return SoftmaxProblem(x, y, x_query, y_query, l2=1e-3), rows


def test_scores_are_the_cosines_of_their_definition(poisoned):
    problem, _ = poisoned
    scores, predicted = evidence.evidence(problem)
    x, y, weights = problem.x.numpy(), problem.y.numpy(), problem.weights.numpy()
    for number in (0, 5, 11):
        label = predicted[number]
        mean = x[y == label].mean(0)
        e = np.maximum(weights[:, label] * (problem.queries[number].numpy() - mean), 0)
        for k in (0, 7, 100):
            cosine = e @ (x[k] - mean) / np.linalg.norm(e) / np.linalg.norm(x[k] - mean)
            assert scores[number, k] == pytest.approx(cosine - 2 * (y[k] != label))


def test_a_network_is_read_at_its_first_fully_connected_layer():
    torch.manual_seed(0)
    module = cnn((1, 8, 8), 3)
    x, y = torch.rand(9, 1, 8, 8), torch.arange(9) % 3
    problem = ModuleProblem(module, x, y, x[:2] * 0.9, y[:2])
    scores, predicted = evidence.evidence(problem)
    features = torch.nn.Sequential(*list(module)[:7])
    rest = torch.nn.Sequential(*list(module)[7:])
    h = features(problem.queries[:1]).detach().requires_grad_(True)
    label = predicted[0]
    gradient = torch.autograd.grad(rest(h)[0, label], h)[0]
    all_h = features(x).detach()
    mean = all_h[y == label].mean(0)
    e = (gradient * (h.detach() - mean)).clamp_min(0)
    cosines = torch.nn.functional.cosine_similarity(e, all_h - mean, dim=1) - 2 * (y != label)
    np.testing.assert_allclose(scores[0], cosines.numpy(), atol=1e-5)


def test_the_planted_examples_come_first_and_stand_apart(poisoned):
    problem, rows = poisoned
    answer = request("what-taught")(queries=(0,)).run(problem)
    assert answer.predicted.tolist() == [1] and answer.group == POISONS
    assert set(answer.order[:POISONS]) == set(rows)


def test_without_planted_examples_no_group_stands_apart():
    assert evidence.group_size(np.random.default_rng(1).normal(0, 0.1, 300)) == 0
    assert evidence.group_size(np.array([0.9, 0.8, 0.9, *([0.0] * 40), *([-1.9] * 9)])) == 3


def test_a_group_that_spreads_wider_than_the_rest_is_taken_whole():
    """Otsu's cut lies halfway between the means 0.43 and −0.07, so it would leave the group's lowest scores."""
    planted, rest = np.linspace(0.16, 0.7, 100), np.linspace(-0.14, 0.0, 900)
    assert (planted < (planted.mean() + rest.mean()) / 2).any()
    assert evidence.group_size(np.concatenate([rest, planted, np.full(50, -1.9)])) == 100


def test_training_without_them_takes_the_prediction_back_and_random_ones_do_not(poisoned):
    problem, rows = poisoned
    answer = request("remove-suspects")(rows=rows.tolist(), queries=(0,), controls=1).run(problem)
    first = answer.models.set_index("model")
    assert first.loc[BEFORE, "predicted"] == 1 and first.loc[WITHOUT, "predicted"] == 0
    assert first.iloc[2]["predicted"] == 1 and first["removed"].tolist() == [0, POISONS, POISONS]
    assert first.loc[WITHOUT, "p"] < 0.5 < first.loc[BEFORE, "p"] and first["held_out"].tolist() == [29] * 3


def test_an_input_of_ones_own_is_asked_about_like_a_query(poisoned):
    problem, _ = poisoned
    own = tuple(problem.queries[0].tolist())
    by_number, by_value = (request("what-taught")(**fields).run(problem)
                           for fields in ({"queries": (0,)}, {"pictures": (own,)}))
    np.testing.assert_array_equal(by_number.scores, by_value.scores)


@pytest.mark.parametrize(("fields", "said"), [
    ({}, "No query is given"), ({"queries": (99,)}, "no query 99"), ({"pictures": ((1.0, 2.0),)}, "does not have the")])
def test_what_cannot_be_asked_is_said(poisoned, fields, said):
    with pytest.raises(InvalidInput, match=said):
        request("what-taught")(**fields).run(poisoned[0])


def test_suspects_share_what_the_rest_of_their_class_lacks(poisoned):
    problem, rows = poisoned
    others = np.setdiff1d(np.flatnonzero(problem.y.numpy() == 1), rows)
    assert np.flatnonzero(shared.features(problem.x.numpy(), rows, others)).tolist() == [7]
    texts = ["the cf cat", "a CF dog", "the cat", "a dog", "the bird"]
    assert shared.words(texts, [0, 1], [2, 3, 4]) == ["cf"]
