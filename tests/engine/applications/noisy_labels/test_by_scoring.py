"""The fast paths of the gradient methods are minus the mean of what `compute` says of their scorings, in float64."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from engine.applications.noisy_labels.evidence import Evidence
from engine.applications.noisy_labels.pairs import BEHAVIOR_TITLES, MEAN, METHODS, OF_ITS_LABEL, Pair
from engine.applications.noisy_labels.scoring import gradient_scores
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.problems import SoftmaxProblem
from engine.problems.module import ModuleProblem
from engine.scoring.aggregate import Mean
from engine.scoring.compute import compute
from engine.scoring.named import NAMED
from engine.scoring.pooled import pooled
from engine.scoring.scoring import Scoring
from tests.engine.applications.noisy_labels.sources import model, suspicion

SMALL = {"n_train": 60, "trusted": 1, "selection": "all"}
NETWORKS = [{"model": name, **SMALL} for name in ("cnn", "mlp", "linear")]
ETA = 0.1


@dataclass
class Double:
    """A trained model as scorers see it, in float64."""

    trained: Any

    @property
    def problem(self):
        return self.trained.problem.double()

    @property
    def checkpoints(self):
        return self.trained.checkpoints

    @property
    def evidence(self):
        return self.trained.evidence

    def at(self, state):
        return self.trained.at(state).double()


@pytest.fixture(scope="module", params=NETWORKS, ids=lambda case: case["model"])
def double(request):
    return Double(model(**request.param))


@pytest.fixture(scope="module")
def fast(double):
    return gradient_scores(double, ["gradsim", "tracin"], Options())


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("behavior", BEHAVIOR_TITLES.values())
def test_gradsim_times_the_step_size(double, fast, behavior):
    scoring = METHODS["gradsim"].scoring(behavior)
    same(ETA * fast[Pair("GradSim", behavior)], suspicion(double, scoring, MEAN))
    same(ETA * fast[Pair("GradSim", behavior)], -Mean().of(compute(double.problem, scoring)[0]))


@pytest.mark.parametrize("behavior", BEHAVIOR_TITLES.values())
def test_tracin_over_the_checkpoints_of_the_run(double, fast, behavior):
    rates = [rate for _, rate in double.checkpoints]
    implied = METHODS["tracin"].scoring(behavior)
    scoring = Scoring.of(implied.behavior, implied.intervention,
                         {"kind": "trajectory", "eta": ETA, "checkpoints": len(rates)}, implied.estimator)
    same(ETA / max(rates) * fast[Pair("TracIn", behavior)], suspicion(double, scoring, MEAN))


def test_lissa_on_the_same_batches():
    trained = Double(model(model="linear", **SMALL))
    fast = gradient_scores(trained, ["lissa"], Options())
    for behavior in BEHAVIOR_TITLES.values():
        scoring = METHODS["lissa"].scoring(behavior)
        same(fast[Pair("LiSSA", behavior)], suspicion(trained, scoring))
        same(fast[Pair("LiSSA", behavior)], -Mean().of(compute(trained.problem, scoring)[0]))


@pytest.mark.parametrize("behavior", BEHAVIOR_TITLES)
def test_gradsim_of_softmax_regression(behavior):
    rng = np.random.default_rng(3)
    x, queries, labels = rng.standard_normal((60, 6)), rng.standard_normal((9, 6)), np.arange(9) % 3
    y = np.arange(60) % 3
    problem = SoftmaxProblem(x, y, queries, labels)
    layer = nn.Linear(6, 3, bias=False).double()
    layer.weight = nn.Parameter(problem.weights.T.contiguous())
    network = ModuleProblem(layer, x, y, queries, labels, l2=problem.l2, dtype="float64")
    found = compute(problem, NAMED["gradsim"].implied(behavior))[0]
    same(-pooled(network, [NAMED["gradsim"].implied(behavior)], [1.0] * 9, Options())[0].numpy(), -Mean().of(found))


def test_any_scoring_ranks_labels():
    trained = model(model="mlp")
    found = suspicion(trained, NAMED["representer"].implied())
    assert found.shape == (150,) and np.isfinite(found).all()
    scores = compute(trained.problem, NAMED["representer"].implied())[0].oriented
    np.testing.assert_allclose(found, -scores.mean(0), atol=1e-6 * np.abs(found).max())


def test_more_checkpoints_than_the_run_kept_are_a_sentence():
    with pytest.raises(InvalidInput, match="needs 5 checkpoints, but the problem has 2"):
        suspicion(model(model="mlp"), METHODS["tracin"].scoring("Trusted loss"))


def test_its_own_class_s_trusted_examples_count():
    evidence = Evidence(np.zeros((3, 2)), np.array([0, 1, 1]), np.ones((4, 2)), np.array([0, 0, 1, 1]), 2)
    values = torch.arange(12.0).reshape(4, 3).double().numpy()
    np.testing.assert_array_equal(OF_ITS_LABEL.aggregate(evidence).over(values), [1.5, 8.5, 9.5])
