r"""LESS as the code of the paper's authors has it: one step at the end of training, divided by Adam's second moments.

    −η ⟨∇B(q; θ)/(√v + ε), ∇ℓ(z_k; θ)/(√v + ε)⟩,   v Adam's second moment at the last checkpoint, ε = 1e-8

v is read without its bias correction, and neither a first moment, nor a length, nor an earlier checkpoint enters. Both
sides together are a step along ∇ℓ(z_k)/(√v + ε)², where every coordinate is divided by about its mean squared gradient.
"""

from __future__ import annotations

from torch import Tensor

from engine.basics.options import Options
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.named import CODE, Named
from engine.gradients.response import Term
from engine.problems import Problem
from engine.question.departure import SECOND_MOMENTS
from engine.question.processes import OneStep, Trajectory

SOURCE = "plumprc/Influence_Estimation at c201215"
"""The repository of the paper's authors."""


def one_step(problem: Problem, process: OneStep, candidates: Tensor, options: Options) -> list[Term]:
    """At the last checkpoint. Raises `InvalidInput` where the training kept no moments."""
    point, _ = problem.checkpoints_of(Trajectory(eta=process.eta, checkpoints=1))[-1]
    return [problem.gradients(candidates, options, point).term(-process.eta, divided=True)]


LESS_FINAL = Estimator(
    "less_final", "LESS (authors' code)", False,
    "Inner product of gradients at the end of training, both divided by the root of Adam's second moments.",
    SOURCE, needs=("moments",), routes={"one_step": closed_form(one_step)},
    unfit_interventions=("auxiliary",), departures={"add_occurrence": (SECOND_MOMENTS,)},
    named=(Named("less_final", "LESS (authors' code)", CODE, SOURCE, "add_occurrence", "one_step", "response_loss",
                 "LESS"),), cost=GRADIENTS,
)
