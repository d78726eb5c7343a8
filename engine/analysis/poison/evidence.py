r"""Which training examples hold the evidence of a prediction.

For a query q that the model calls ŷ, with h(·) the features that the first fully connected layer reads:

    e(q) = [∇_h f_ŷ(q) ⊙ (h(q) − μ_ŷ)]₊      features that speak for ŷ, beyond the mean of its class
    score(q, k) = cos(e(q), h(x_k) − μ_ŷ)      μ_ŷ: the mean of h over the training examples labelled ŷ

e(q) is gradient × input (Shrikumar et al., "Not Just a Black Box", 2016) with the class mean as the reference.
Examples of another label come after all examples of label ŷ: their score is 2 less. The score reads the features and
a gradient of the logit, and no gradient of a training loss; it implies no specification, because no training is
intervened on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.problems import ModuleProblem, Problem, SoftmaxProblem, by_form

TITLE = "Shared evidence"
BATCH = 512
OF_OTHER_LABEL = 2.0
"""Below the scores of the predicted class, which are cosines."""
LARGEST_GROUP = 0.25
"""Of the predicted class; a larger upper part of the scores is no group of its own."""


@dataclass(frozen=True, eq=False)
class Reading:
    """features: inputs (b, …) -> h (b, F). gradient: inputs (b, …), classes (b,) -> ∂f_class/∂h (b, F)."""

    features: Callable[[Tensor], Tensor]
    gradient: Callable[[Tensor, Tensor], Tensor]


def evidence(problem: Problem, options: Options | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(scores (m, n) of all training examples, predicted classes (m,)) of the problem's queries.

    Raises `InvalidInput` for a model without a fully connected layer, and for a predicted class without training
    examples.
    """
    options = options or Options()
    with problem.exclusive:
        reading, predicted = _reading(problem), problem.query_logits.argmax(-1)
        wanted = {int(label): _directions(problem, reading, predicted, int(label)) for label in predicted.unique()}
        scores = problem.query_logits.new_empty(len(predicted), problem.n)
        for start in range(0, problem.n, BATCH):
            options.check()
            h = reading.features(problem.x[start:start + BATCH])
            for label, (mean, directions) in wanted.items():
                scores[predicted == label, start:start + len(h)] = directions @ normalize(h - mean, dim=1).T
            options.progress(min(1.0, (start + BATCH) / problem.n))
        scores -= OF_OTHER_LABEL * (problem.y[None] != predicted[:, None])
    return scores.double().cpu().numpy(), predicted.cpu().numpy()


def group_size(scores: np.ndarray) -> int:
    """How many of the first examples stand apart from the rest of the predicted class; 0 where no group does.

    scores (n,) of one ranking. Otsu's cut (1979) of the scores of the predicted class has the largest variance between
    its two parts, of means m and standard deviations s; the group reaches down to (m_1 s_2 + m_2 s_1)/(s_1 + s_2),
    as many deviations from either mean, where that is lower.
    """
    own = np.sort(scores[scores > 1 - OF_OTHER_LABEL])[::-1]
    if len(own) < 2:
        return 0
    size = np.arange(1, len(own))
    upper = own.cumsum()[:-1]
    lower = own.sum() - upper
    between = size * (len(own) - size) * (upper / size - lower / (len(own) - size)) ** 2
    count = int(size[between.argmax()])
    first, rest = own[:count], own[count:]
    if (spread := first.std() + rest.std()) > 0:
        count = max(count, int((own > (first.mean() * rest.std() + rest.mean() * first.std()) / spread).sum()))
    return count if count <= LARGEST_GROUP * len(own) else 0


def group(scores: np.ndarray) -> np.ndarray:
    """The rows of the examples that stand apart by `group_size`, the first of the ranking first."""
    return np.argsort(-scores, kind="stable")[:group_size(scores)]


def _directions(problem: Problem, reading: Reading, predicted: Tensor, label: int) -> tuple[Tensor, Tensor]:
    """(μ (F,), the unit vectors e (b, F)) of the queries that are called `label`."""
    own = problem.x[problem.y == label]
    if not len(own):
        raise InvalidInput(f"The model predicts class {label}, but no training example has that label; choose another "
                           "query.")
    mean = torch.stack([reading.features(part).sum(0) for part in own.split(BATCH)]).sum(0) / len(own)
    queries = problem.queries[predicted == label]
    gradient = reading.gradient(queries, predicted[predicted == label])
    return mean, normalize((gradient * (reading.features(queries) - mean)).clamp_min(0), dim=1)


def _linear(problem: SoftmaxProblem) -> Reading:
    """The inputs are the features."""
    return Reading(lambda x: x, lambda x, classes: problem.weights.T[classes])


def _network(problem: ModuleProblem) -> Reading:
    module = problem.network.module
    layer = _first_linear(module, problem.queries[:1])

    def features(x: Tensor) -> Tensor:
        with torch.no_grad():
            return _read(module, layer, x)[0].flatten(1)

    def gradient(x: Tensor, classes: Tensor) -> Tensor:
        with torch.enable_grad():
            h, logits = _read(module, layer, x)
            chosen = logits.gather(1, classes[:, None]).sum()
            return torch.autograd.grad(chosen, h)[0].flatten(1)

    return Reading(features, gradient)


_reading = by_form(_linear, _network)


def _read(module: nn.Module, layer: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """(what `layer` reads of inputs x, the logits as a function of it)."""
    read: list[Tensor] = []

    def before(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        read.append(inputs[0].detach().requires_grad_(torch.is_grad_enabled()))
        return (read[-1], *inputs[1:])

    handle = layer.register_forward_pre_hook(before)
    try:
        logits = module(x)
    finally:
        handle.remove()
    return read[0], logits


def _first_linear(module: nn.Module, x: Tensor) -> nn.Module:
    """The fully connected layer that a forward pass reaches first."""
    reached: list[nn.Module] = []
    handles = [one.register_forward_pre_hook(lambda layer, _: reached.append(layer)) for one in module.modules()
               if isinstance(one, nn.Linear)]
    try:
        with torch.no_grad():
            module(x)
    finally:
        for handle in handles:
            handle.remove()
    if not reached:
        raise InvalidInput("The model has no fully connected layer, so there are no features to compare; use "
                           "a method that reads gradients on Examples.")
    return reached[0]
