r"""Similarities scaled to [−1, 1]: the cosine of gradients, and of representations.

    one_step, add_occurrence   −η cos(∇B(q), ∇ℓ(z_k))         gradient similarity, Charpiat et al. (2019)
    one_step, auxiliary         η cos(φ(q), φ(x_k))            representation similarity, Hanawa et al. (2021)

They answer another question than their inner products: that of a step in which every example's update is scaled to
length one, to first order. The length of a query's gradient, by which they divide too, is a factor a query and changes
no ranking; that of a candidate does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from engine.basics.options import Options
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator
from engine.estimators.first_order import along, shared_gradients
from engine.estimators.held import Features, Undivided, normalised, products
from engine.estimators.named import gradient, similarity
from engine.gradients.products import query_norms
from engine.gradients.response import GradientPart, Part, Response
from engine.problems import ModuleProblem
from engine.question.departure import NORMALISED
from engine.question.interventions import Intervention
from engine.question.processes import OneStep


def one_step(problem: ModuleProblem, interventions: Sequence[Intervention], process: OneStep, candidates: Tensor,
             options: Options) -> list[Response]:
    """One response an intervention, of gradients or of representations."""
    return [(_representations if intervention.label_free else _gradients)(problem, process.eta, candidates, options)
            for intervention in interventions]


def _gradients(problem: ModuleProblem, eta: float, candidates: Tensor, options: Options) -> Response:
    gradients = shared_gradients(problem, candidates, options)
    inner, lengths = along(problem, gradients, -eta), gradients.norms().clamp_min(torch.finfo(problem.theta.dtype).tiny)

    def products(signal: Tensor) -> Tensor:
        own = query_norms(problem, problem.queries, signal).clamp_min(torch.finfo(problem.theta.dtype).tiny)
        return inner.products(signal) / own[:, None] / lengths

    return Response.closed_form(GradientPart(problem.query_logits, products, len(candidates)))


def _representations(problem: ModuleProblem, eta: float, candidates: Tensor, options: Options) -> Response:
    """The query's own class logit rises by η cos(φ(q), φ(x_k))."""
    cosine = normalize(problem.representations(problem.queries)) @ normalize(
        problem.representations(problem.x[candidates])).T
    raised = problem.raised().to(cosine.dtype)
    return Response.closed_form(Part(eta * cosine[:, :, None] * raised[:, None], problem.query_logits))


def held(features: Features, behavior: str) -> np.ndarray:
    """cos(φ(q), φ(z_k)) of the prompts' representations, at the layer that is read; η is left out."""
    return products(normalised(features.query_hidden[features.layer]), normalised(features.hidden[features.layer]))


COSINE = Estimator(
    "cosine", "cosine similarity", False,
    "The inner product of gradients or representations, divided by their lengths.",
    "Charpiat et al. 2019; Hanawa et al. 2021",
    needs_gradient=True,
    routes={"one_step": one_step},
    needs=("gradients", "representations"),
    departures={"add_occurrence": (NORMALISED,), "auxiliary": (NORMALISED,)},
    held={("auxiliary", "one_step"): Undivided(held, (
        "RepSim reads one position, the end of the prompt, so no token of the response has a part in its score."))},
    named=(similarity("repsim_cosine", "RepSim (cosine)", "Hanawa et al. 2021", "RepSim",
                      "Cosine of the inputs' representations."),
           gradient("gradsim_cosine", "GradSim (cosine)", "Charpiat et al. 2019")),
    cost=GRADIENTS,
)
