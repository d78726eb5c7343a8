r"""The norm of a training example's gradient, ‖∇ℓ(z_k; θ_D)‖, the same for every query. It implies no specification.

It is the size of the step on z_k and ignores its direction. For softmax regression it is ‖x_k‖ ‖p_k − e_y‖.
"""

from __future__ import annotations

from torch import Tensor

from engine.basics.options import Options
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.named import baseline
from engine.gradients.response import Given, Term
from engine.problems import Problem
from engine.question.processes import OneStep


def norm(problem: Problem, process: OneStep, candidates: Tensor, options: Options) -> list[Term]:
    """One norm a candidate (b,), without the regulariser."""
    return [Given(problem.gradients(candidates, options).norms().double().expand(len(problem.queries), -1))]


GRADIENT_NORM = Estimator("gradient_norm", "gradient norm", False,
                          "The norm of the training example's gradient, the same for every query.",
                          routes={"one_step": closed_form(norm)}, needs=("gradients",), implies=False, cost=GRADIENTS,
                          named=(baseline("gradient_norm", "Gradient norm", label="Grad. norm", asks="Which "
                                          "training records have the largest gradients?", undivided=(
                                              "A norm is not a sum: the gradients of two tokens can cancel, so it "
                                              "does not split over tokens.")),))
