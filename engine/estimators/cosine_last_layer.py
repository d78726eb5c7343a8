r"""The cosine of loss gradients in the last linear layer, with weights and bias: what the authors' code calls NTK.

    −η ⟨s_B(q), s_ℓ(k)⟩ ⟨φ̃_q, φ̃_k⟩ / (‖s_B(q)‖ ‖φ̃_q‖ ‖s_ℓ(k)‖ ‖φ̃_k‖),     φ̃ = (φ, 1)

The gradient of a value in that layer is s ⊗ φ̃, so that this is `cosine` with every layer before it frozen. Unlike the
tangent kernel it reads the training signal s_ℓ = p − e_y.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.named import CODE, Named
from engine.gradients.response import GradientTerm, Term
from engine.problems import ModuleProblem
from engine.question.departure import LAST_LAYER, NORMALISED
from engine.question.processes import OneStep

SOURCE = "plumprc/Influence_Estimation at c201215"


def one_step(problem: ModuleProblem, process: OneStep, candidates: Tensor, options: Options) -> list[Term]:
    """First order of a step in the last layer whose update has length one, over the query gradient's length too."""
    features, queries = (problem.network.features(x) for x in (problem.units(candidates).x, problem.queries))
    training, tiny = problem.training_signal(candidates), torch.finfo(features.dtype).tiny
    kernel, lengths = queries @ features.T, (training.norm(dim=1) * features.norm(dim=1)).clamp_min(tiny)

    def products(signal: Tensor) -> Tensor:
        signal = signal.to(training)
        own = (signal.norm(dim=1) * queries.norm(dim=1)).clamp_min(tiny)
        return -process.eta * kernel * (signal @ training.T) / (own[:, None] * lengths)

    return [GradientTerm(problem.query_logits, products, len(candidates))]


COSINE_LAST_LAYER = Estimator(
    "cosine_last_layer", "cosine of last-layer gradients", False,
    "The inner product of the gradients in the last linear layer, divided by their lengths.",
    SOURCE, routes={"one_step": closed_form(one_step)}, needs=("features",), unfit_interventions=("auxiliary",),
    departures={"add_occurrence": (LAST_LAYER, NORMALISED)}, cost=GRADIENTS, all_layers="cosine",
    named=(Named("ntk_loss_gradients", "NTK (cosine of loss gradients)", CODE, SOURCE,
                 "add_occurrence", "one_step", label="NTK (loss gradients)", reads=False, of_own_class=True,
                 note="Cosine of the loss gradients of the last layer."),),
)
