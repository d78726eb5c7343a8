r"""Trainings on the same points of the plane, from a smooth one to a rough one, while one example's weight grows.

    truth     B(w_k = 1 + ε) − B(w_k = 1) of the query loss, from trainings that are really run, many at once
    line      (ε/n) dB/dα, the derivative of the run at ε = 0 (`engine.exact.replay`)

All have the same seed, the same points and the same number of epochs. The smooth one takes small steps on all points
through tanh; each of the next ones differs from the one before it in one thing, and the last takes large steps with
momentum on few points through ReLU.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from engine.applications.lessons import toy
from engine.basics.options import Options
from engine.exact.differentiated_run import DifferentiatedRun
from engine.gradients.vectorised import along_signal, gradients_of
from engine.models.altered import Altered
from engine.models.losses import per_example_cross_entropy
from engine.models.recipe import Recipe
from engine.models.train_many import outputs_of_many
from engine.models.training import Training

KINDS = {"smooth": "smooth", "kinks": "+ kinks", "batches": "+ small batches", "momentum": "+ momentum",
         "rough": "+ larger steps: rough"}
"""Each with what it adds to the one before it."""
ROW = 17
"""The training example whose weight changes."""
HIDDEN, SEED = 8, 1
EPSILONS = np.linspace(-1.0, 1.0, 161)
_WHOLE = Recipe(epochs=40, batch_size=2 * toy.POINTS, learning_rate=0.2)
RECIPES = {"smooth": _WHOLE, "kinks": _WHOLE, "batches": _WHOLE.model_copy(update={"batch_size": 5}),
           "momentum": _WHOLE.model_copy(update={"batch_size": 5, "momentum": 0.9}),
           "rough": Recipe(epochs=40, batch_size=5, learning_rate=0.3, momentum=0.9)}
ACTIVATIONS = {kind: nn.Tanh if kind == "smooth" else nn.ReLU for kind in RECIPES}


def training(kind: str) -> Training:
    """One of the two, as a value."""
    points, labels = toy.points()

    def build() -> nn.Module:
        return nn.Sequential(nn.Linear(2, HIDDEN), ACTIVATIONS[kind](), nn.Linear(HIDDEN, 2))

    return Training(build, torch.as_tensor(points), torch.as_tensor(labels), RECIPES[kind], SEED, normalization="n",
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
    with torch.no_grad():
        curve = _behavior(reweighted(given, torch.as_tensor(EPSILONS), query), label) - _behavior(logits, label)
    return pd.DataFrame({"epsilon": EPSILONS, "curve": curve.numpy(), "tangent": EPSILONS * rate / len(given.y)})


def off(frame: pd.DataFrame) -> float:
    """How far the line is from the truth, as a fraction of the truth: ‖tangent − curve‖ / ‖curve‖ over all ε."""
    return float(np.linalg.norm(frame["tangent"] - frame["curve"]) / np.linalg.norm(frame["curve"]))


def _behavior(logits: Tensor, label: Tensor) -> Tensor:
    """B of one query, for logits (r, C)."""
    return -per_example_cross_entropy(logits, label.expand(len(logits)))


def reweighted(given: Training, epsilons: Tensor, query: Tensor) -> Tensor:
    """The logits (r, C) of one query (1, 2) at the ends of r trainings in which ROW weighs 1 + ε."""
    weights = torch.ones(len(epsilons), len(given.y), dtype=torch.float64)
    weights[:, ROW] += epsilons
    return outputs_of_many(given, Altered(weights, normalization="n"), query, together=len(epsilons))[:, 0]
