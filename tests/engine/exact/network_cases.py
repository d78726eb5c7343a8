"""Small networks in float64 and problems on them, some of which are softmax regression written as a network."""

import numpy as np
import torch
from torch import nn

from engine.basics.options import Options
from engine.models.recipe import Recipe
from engine.models.rules import AdamW
from engine.problems.module import ModuleProblem
from tests.engine import problems_for_tests as naive

DOUBLE = torch.float64


class Adaptive(Recipe):
    """The recipe with the steps of AdamW, or of Adam."""

    epsilon: float = 1e-8
    clip: float = float("inf")
    decoupled: bool = True
    betas: tuple[float, float] = (0.9, 0.95)

    @property
    def rule(self):
        return AdamW(self.weight_decay, self.clip, self.betas, self.epsilon, self.decoupled)


ADAPTIVE = Adaptive(epochs=3, batch_size=5, learning_rate=0.05, weight_decay=0.1, clip=0.5)


def convolutional():
    """Convolution, BatchNorm with statistics of its own, pooling: (b, 2, 6, 6) -> (b, 3)."""
    return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(36, 5), nn.Tanh(), nn.Dropout(0.5), nn.Linear(5, 3))


def smooth():
    """Two layers without kinks: (b, 4) -> (b, 3)."""
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))


def problem(architecture=convolutional, shape=(2, 6, 6), n=14, queries=5, seed=0, **options):
    """A network with random weights (and BatchNorm statistics) on random data, float64."""
    torch.manual_seed(seed)
    module = architecture()
    module.train()(torch.randn(50, *shape))
    x, q = torch.randn(n, *shape, dtype=DOUBLE), torch.randn(queries, *shape, dtype=DOUBLE)
    y, labels = torch.arange(n) % 3, torch.arange(queries) % 3
    return ModuleProblem(module, x, y, q, labels, **{"l2": 1e-2, "dtype": "float64", **options})


def pair(intercept=False, candidates=(9, 0, 5), **options):
    """(SoftmaxProblem, ModuleProblem): the same regression, its factual optimum as a single linear layer.

    The intercept is not regularised on the one side and is on the other, so that with one only steps agree.
    """
    soft = naive.problem(candidates=list(candidates), intercept=intercept, **options)
    features = soft.x[:, :soft.dimension - intercept]
    layer = nn.Linear(features.shape[1], soft.classes, bias=intercept, dtype=DOUBLE)
    with torch.no_grad():
        layer.weight.copy_(soft.weights[:features.shape[1]].T)
        if intercept:
            layer.bias.copy_(soft.weights[-1])
    module = ModuleProblem(layer, features, soft.y, soft.queries[:, :features.shape[1]], soft.query_labels,
                           list(candidates), l2=soft.l2, dtype="float64")
    return soft, module


def scores(respond, problem, interventions, process, behavior, candidates=None, options=None):
    """(m, b) of the first intervention's response, as NumPy."""
    rows = problem.candidates if candidates is None else torch.as_tensor(candidates)
    responses = respond(problem, interventions, process, rows, options or Options())
    return np.asarray(responses[0].scores(behavior, problem.query_labels))
