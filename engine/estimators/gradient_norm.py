r"""The length of a training example's gradient, ‖∇ℓ(z_k; θ_D)‖, the same for every query. It implies no specification.

No query enters: it says how far z_k would move the model, not where to. For softmax regression it is ‖x_k‖ ‖p_k − e_y‖.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from engine.basics.options import Options
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator
from engine.estimators.first_order import shared_gradients
from engine.estimators.held import NOWHERE, Features, Undivided
from engine.estimators.named import baseline
from engine.gradients.response import Response
from engine.problems import ModuleProblem, Problem, SoftmaxProblem, by_form
from engine.question.interventions import Intervention
from engine.question.processes import OneStep


def respond(problem: Problem, interventions: Sequence[Intervention], process: OneStep, candidates: Tensor,
            options: Options) -> list[Response]:
    """One length a candidate (b,), without the regulariser."""
    lengths = norms(problem, candidates, options).double().expand(len(problem.queries), -1)
    return [Response.given(lengths) for _ in interventions]


def _of_module(problem: ModuleProblem, candidates: Tensor, options: Options) -> Tensor:
    return shared_gradients(problem, candidates, options).norms()


def _of_softmax(problem: SoftmaxProblem, candidates: Tensor, options: Options) -> Tensor:
    return problem.x[candidates].norm(dim=1) * problem.training_signal(candidates).norm(dim=1)


norms = by_form(_of_softmax, _of_module)
"""‖∇ℓ(z_k; θ_D)‖ (b,) of a problem's candidates (b,)."""


def held(features: Features, behavior: str) -> np.ndarray:
    """‖∇ℓ(z_k)‖ at the end of the training."""
    return np.broadcast_to(features.norms, features.shape)


GRADIENT_NORM = Estimator("gradient_norm", "gradient length", False,
                          "The length of the training example's gradient, the same for every query.",
                          routes={"one_step": respond}, needs=("gradients",), implies=False, cost=GRADIENTS,
                          named=(baseline("gradient_norm", "Gradient length", label="Grad. norm", asks="Which training "
                                          "records pull hardest on the model, whatever they teach it?"),),
                          held={NOWHERE: Undivided(held, (
                              "A length is no sum: the gradients of two tokens can cancel, so no token has a share of "
                              "it."))})
