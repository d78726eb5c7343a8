"""Suspicion is what a method's specification says it is: minus the scores of the trusted examples, put together."""

import numpy as np
import pytest
import torch

from engine.applications.noisy_labels.pairs import BEHAVIOR_TITLES, METHODS, Pair, label_method
from engine.applications.noisy_labels.scoring import suspicions
from engine.scoring.compute import compute
from engine.scoring.verdict import verdict
from tests.engine.applications.noisy_labels.sources import model


@pytest.fixture(scope="module")
def trained():
    return model(model="mlp")


def scores(trained, pair):
    """Oriented scores (m, n) of the specification that a pair implies, over all training examples."""
    problem = trained.problem.with_candidates(np.arange(trained.problem.n))
    return compute(problem, label_method(pair).scoring(pair.behavior))[0].oriented


def proportional(found, expected):
    np.testing.assert_allclose(found / np.abs(found).max(), expected / np.abs(expected).max(), atol=2e-5)


@pytest.mark.parametrize("behavior", BEHAVIOR_TITLES.values())
def test_gradsim_is_minus_the_mean_score(trained, behavior):
    pair = Pair("GradSim", behavior)
    proportional(suspicions(trained, ["gradsim"])[pair], -scores(trained, pair).mean(0))


def test_the_tangent_kernel_is_minus_the_mean_over_the_labels_own_trusted_examples(trained):
    values, problem = scores(trained, Pair("NTK")), trained.problem
    own = torch.stack([problem.query_labels == label for label in problem.y]).T.double().cpu().numpy()
    proportional(suspicions(trained, ["ntk"])[Pair("NTK")], -(values * own).sum(0) / own.sum(0))


def test_verdicts_on_methods_are_derived():
    of = {name: method.scoring("Trusted loss") for name, method in METHODS.items() if method.named}
    assert verdict(of["gradsim"], of["tracin"]).axes == ("T",)
    assert verdict(of["gradsim"], of["lissa"]).axes == ("P", "T")
    assert METHODS["random"].scoring() is None and METHODS["confident"].scoring() is None


def test_the_question_is_that_of_the_specification():
    asked = METHODS["gradsim"].asks("Hard margin")
    assert "trained on this example once more" in asked and "margin of the query's label" in asked
    assert "averaged over the trusted examples" in asked and "η" not in asked
