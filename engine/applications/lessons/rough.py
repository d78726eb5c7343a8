r"""Two trainings on the same points of the plane, one smooth and one rough, while one example's weight grows.

    truth     B(w_k = 1 + ε) − B(w_k = 1) of the query loss, from trainings that are really run, many at once
    line      (ε/n) dB/dα, the derivative of the run at ε = 0 (`engine.exact.replay`)

Both have the same seed, the same points and the same number of epochs. The smooth one takes small steps on all points
through tanh; the rough one takes large steps with momentum on few points through ReLU.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from engine.applications.lessons import toy
from engine.basics.options import Options
from engine.exact.differentiated_run import DifferentiatedRun
from engine.gradients.vectorised import along_signal, gradients_of
from engine.models.losses import per_example_cross_entropy
from engine.models.recipe import Recipe
from engine.models.training import Training

KINDS = {"smooth": "the smooth one", "rough": "the rough one"}
ROW = 17
"""The training example whose weight changes."""
HIDDEN, SEED = 8, 1
EPSILONS = np.linspace(-1.0, 1.0, 161)
RECIPES = {"smooth": Recipe(epochs=40, batch_size=2 * toy.POINTS, learning_rate=0.2),
           "rough": Recipe(epochs=40, batch_size=5, learning_rate=0.3, momentum=0.9)}
PARTS = {"smooth": nn.Tanh, "rough": nn.ReLU}


def training(kind: str) -> Training:
    """One of the two, as a value."""
    places, labels = toy.points()

    def build() -> nn.Module:
        return nn.Sequential(nn.Linear(2, HIDDEN), PARTS[kind](), nn.Linear(HIDDEN, 2))

    return Training(build, torch.as_tensor(places), torch.as_tensor(labels), RECIPES[kind], SEED, normalization="n",
                    exact=True)


@cache
def along_epsilon(kind: str) -> pd.DataFrame:
    """epsilon, curve (the truth), tangent (the line), of the query of the plane."""
    given = training(kind)
    run = DifferentiatedRun(given, Options())
    query, label = torch.tensor([toy.QUERY[:2]], dtype=torch.float64), torch.tensor([toy.QUERY[2]])
    network = run.steps.trained(run.end)
    logits = network.predict(query)
    signal = torch.nn.functional.one_hot(label, 2).to(logits) - logits.softmax(-1)
    rate = (gradients_of(network, query, signal, along_signal) @ run.tangent(torch.tensor([ROW]), Options()).T).item()
    ends = reweighted(run, torch.as_tensor(EPSILONS))

    def behavior(theta: Tensor) -> Tensor:
        return -per_example_cross_entropy(functional_call(network.module, network.unflatten(theta), (query,)), label)[0]

    with torch.no_grad():
        curve = vmap(behavior)(ends) - behavior(run.end)
    return pd.DataFrame({"epsilon": EPSILONS, "curve": curve.numpy(), "tangent": EPSILONS * rate / len(given.y)})


def reweighted(run: DifferentiatedRun, epsilons: Tensor) -> Tensor:
    """The ends (r, P) of r trainings in which ROW weighs 1 + ε, step by step together."""
    steps, given = run.steps, run.steps.training
    weights = torch.ones(len(epsilons), len(given.y), dtype=torch.float64)
    weights[:, ROW] += epsilons

    def loss(theta: Tensor, own: Tensor, x: Tensor, y: Tensor) -> Tensor:
        logits = functional_call(steps.network.module, steps.network.unflatten(theta), (x,))
        return (own * given.loss(logits, y)).mean()

    theta = steps.start.repeat(len(epsilons), 1)
    state = tuple(torch.zeros_like(theta) for _ in range(steps.rule.remembers))
    for step in steps.all:
        x, y = given.x[step.rows], given.y[step.rows]
        pull = vmap(grad(loss), in_dims=(0, 0, None, None))(theta, weights[:, step.rows], x, y)
        theta, state = steps.rule.step(theta, state, pull, step.rate, step.count)
    return theta
