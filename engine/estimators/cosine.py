r"""Similarities scaled to [−1, 1]: the cosine of gradients, and of representations.

    one_step, add_occurrence   −η cos(∇B(q), ∇ℓ(z_k))         gradient similarity, Charpiat et al. (2019)
    one_step, auxiliary         η cos(φ(q), φ(x_k))            representation similarity, Hanawa et al. (2021)
    trajectory                 −Σ_t η_t cos(∇B(q; θ_t), ∇ℓ(z_k; θ_t))

They answer another question than their inner products: that of a step in which every example's update is scaled to
length one, to first order. The length of a query's gradient, by which they divide too, is a factor a query and changes
no ranking; that of a candidate does.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.nn.functional import cosine_similarity

from engine.basics.options import Options
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.named import gradient, similarity
from engine.gradients.response import Response, Term
from engine.problems import ModuleProblem, Problem
from engine.question.departure import NORMALISED
from engine.question.interventions import Intervention
from engine.question.processes import OneStep, Trajectory


def one_step(problem: Problem, interventions: Sequence[Intervention], process: OneStep, candidates: Tensor,
             options: Options) -> list[Response]:
    """One response an intervention, of gradients or of representations: these raise the query's own output."""
    return [Response.closed_form(
        problem.raised_by(process.eta * problem.readout_similarity(candidates, normalised=True))
        if intervention.label_free else problem.gradients(candidates, options).term(-process.eta, normalised=True))
        for intervention in interventions]


def trajectory(problem: Problem, process: Trajectory, candidates: Tensor, options: Options) -> list[Term]:
    """Of the checkpoints that the process visits."""
    return [problem.gradients(candidates, options, point).term(-eta, normalised=True)
            for point, eta in problem.checkpoints_of(process)]


def by_class(problem: ModuleProblem, features: Tensor, means: Tensor, process: OneStep) -> Tensor:
    """η cos(φ_k, μ_c), of representations without the 1 for a bias."""
    width = problem.network.head(problem.queries).in_features
    return process.eta * cosine_similarity(features[:, :width], means[:, :width], dim=1)


COSINE = Estimator(
    "cosine", "cosine similarity", False,
    "The inner product of gradients or representations, divided by their lengths.",
    "Charpiat et al. 2019; Hanawa et al. 2021",
    routes={"one_step": one_step, "trajectory": closed_form(trajectory)},
    needs=("gradients", "representations"),
    departures={"add_occurrence": (NORMALISED,), "auxiliary": (NORMALISED,)},
    named=(similarity("repsim_cosine", "RepSim (cosine)", "Hanawa et al. 2021", "RepSim",
                      "Cosine of the inputs' representations.", "RepSim reads one position, the end of the prompt, so "
                      "no token of the response contributes to its score."),
           gradient("gradsim_cosine", "GradSim (cosine)", "Charpiat et al. 2019")),
    cost=GRADIENTS, pooled_by_class={("auxiliary", "one_step"): by_class},
)
