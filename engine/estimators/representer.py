r"""Representer points: f(q) = Σ_k α_k φ(x_k)ᵀφ(q) with α_k = −s_ℓ(z_k) / (n λ) (Yeh et al. 2018).

At a stationary point of the last layer under an ℓ2 penalty λ/2 ‖W‖² the logits are such a sum over the training
set, so that a term says how much z_k holds the logits up. It equals the first-order term of a step of size
η = 1/(n λ) on z_k in the last layer alone; here it is scaled to the η that was asked for, so it answers for
`one_step` with every layer before the last held fixed, which is another question than that of a step of the whole
network.

Of a language model the last layer is its head, φ the states h_t that it reads where tokens are predicted, and the
logits u_t: with g_t = ∂ℓ(z_k)/∂u_t and s_t = ∂B(q)/∂u_t the term is −η Σ_t Σ_t' (h_qt · h_kt')(s_t · g_t'). Where the
head shares its weights with the embedding, the embedding stays as it is.
"""

from __future__ import annotations

from torch import Tensor

from engine.basics.options import Options
from engine.estimators import named
from engine.estimators.cost import GRADIENTS
from engine.estimators.estimator import Estimator, closed_form
from engine.gradients.last_layer import products_in
from engine.gradients.response import GradientTerm, LogitTerm, Term
from engine.problems import ModuleProblem
from engine.question.departure import LAST_LAYER
from engine.question.processes import OneStep


def expanded(problem: ModuleProblem, process: OneStep, candidates: Tensor, options: Options) -> list[Term]:
    """δf(q) = −η φ(x_k)ᵀφ(q) s_ℓ(z_k), a linear part (m, b, C); of tokens, by the products in their head."""
    if "features" in problem.offers:
        scaled = -process.eta * problem.readout_similarity(candidates)
        return [LogitTerm(scaled[:, :, None] * problem.training_signal(candidates), problem.query_logits, linear=True)]

    def products(signal: Tensor) -> Tensor:
        return -process.eta * products_in(problem, problem.head, problem.queries, signal, candidates,
                                          options.budget // 4, check=options.check)

    return [GradientTerm(problem.query_logits, products, len(candidates))]


REPRESENTER = Estimator(
    "representer", "representer points", False,
    "The example's term in the last layer's expansion over the training set.",
    "Yeh et al. 2018", routes={"one_step": closed_form(expanded)}, needs=("last_layer",),
    unfit_interventions=("auxiliary",), departures={"add_occurrence": (LAST_LAYER,)}, cost=GRADIENTS,
    all_layers="first_order",
    named=(named.gradient("representer", "Representer points", "Yeh et al. 2018", behavior="query_logit"),),
)
