"""A model that another program rebuilds from the lines and two files is the factual one."""

import io

import numpy as np
import pytest
import torch
from torch import nn

from engine.basics.errors import InvalidInput
from engine.data import load_npz
from engine.external.rebuilt import problem_npz, rebuilt
from engine.models.catalogue import build_model
from engine.problems import ModuleProblem, SoftmaxProblem

RNG = np.random.default_rng(0)
Y = np.arange(12) % 3


def softmax(intercept):
    return SoftmaxProblem(RNG.normal(size=(12, 16)), Y, RNG.normal(size=(4, 16)), Y[:4], [5, 2], l2=0.1,
                          intercept=intercept)


def network(model, selection="all", shape=(1, 4, 4)):
    torch.manual_seed(0)
    return ModuleProblem(build_model(model, shape, 3), RNG.normal(size=(12, *shape)), Y, RNG.normal(size=(4, *shape)),
                         Y[:4], [5, 2], parameters=selection, l2=0.1)


def run(problem, model=""):
    """The names that the lines make, with the weights loaded."""
    found = rebuilt(problem, model)
    given = {"nn": nn}
    exec("\n".join(found.lines), given)
    weights = np.load(io.BytesIO(found.weights_npz()))
    given["module"].load_state_dict({name: torch.as_tensor(weights[name]) for name in weights})
    return found, given["module"].eval()


@pytest.mark.parametrize("intercept", [False, True])
def test_softmax_regression_is_one_layer(intercept):
    problem = softmax(intercept)
    found, module = run(problem)
    logits = module(problem.queries[:, :16].float())
    assert torch.allclose(logits.double(), problem.query_logits, atol=1e-5)
    assert found.layers == ("head",) and len(found.parameters) == 1 + intercept and found.damping == 0.1


@pytest.mark.parametrize("model", ["mlp", "cnn", "linear", "resnet18_quarter_cifar"])
def test_a_network_has_the_same_logits(model):
    problem = network(model, shape=(1, 8, 8))
    found, module = run(problem, model)
    assert torch.allclose(module(problem.queries.reshape(-1, *found.shape)), problem.query_logits, atol=1e-5)
    assert found.parameters == tuple(problem.network.names)


def test_the_layers_are_those_whose_parameters_count():
    assert rebuilt(network("mlp"), "mlp").layers == ("hidden", "head")
    assert rebuilt(network("mlp", "last_layer"), "mlp").layers == ("head",)
    with pytest.raises(InvalidInput, match="support only whole layers"):
        rebuilt(network("mlp", "weight$"), "mlp")


def test_a_module_of_ones_own_cannot_be_rebuilt():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(4, 3)

        def forward(self, x):
            return self.head(x)

    problem = ModuleProblem(Own(), RNG.normal(size=(12, 4)), Y, RNG.normal(size=(4, 4)), Y[:4])
    with pytest.raises(InvalidInput, match="a model of your own"):
        rebuilt(problem, "mine:build")


@pytest.mark.parametrize("problem", [softmax(True), network("mlp")], ids=["softmax", "network"])
def test_the_arrays_are_a_problem_npz(problem):
    arrays = load_npz(io.BytesIO(problem_npz(problem)))
    assert arrays.x_train.shape == (12, 16) and arrays.candidates.tolist() == [5, 2]
    np.testing.assert_array_equal(arrays.y_query, Y[:4])
    np.testing.assert_allclose(arrays.x_train, problem.x.flatten(1)[:, :16])
