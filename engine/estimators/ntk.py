r"""Tangent-kernel similarity: η ⟨∇f_y(q), ∇f_y(x_k)⟩, y the query's class (Jacot et al. 2018; paper, Eq. 4).

One step on the auxiliary loss −f_y(x_k), to first order in the selected parameters: the similarity construction with
the feature map φ(x) = ∇_θ f_y(x). The plain auxiliary step moves the readout alone, so `ntk` answers another question;
`ntk_last_layer` keeps the gradient of the last linear layer, where the kernel is φ(q)ᵀφ(x_k) for the representation φ,
and answers the plain one. Of a language model f_y(x_k) is the logit of the query's stated answer where x_k's answer is
predicted.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import one_hot

from engine.basics.options import Options
from engine.estimators.cost import GRADIENTS, Cost, gradients
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.named import similarity
from engine.gradients.per_example import behavior_gradients
from engine.gradients.products import products_with
from engine.gradients.response import GradientTerm, Term
from engine.problems import ModuleProblem
from engine.question.departure import ALL_PARAMETERS
from engine.question.processes import OneStep


def full(problem: ModuleProblem, process: OneStep, candidates: Tensor, options: Options) -> list[Term]:
    """The kernel over the selected parameters, by what the queries have for y."""
    raised = problem.raised_labels

    def products(signal: Tensor) -> Tensor:
        values = signal.new_zeros(len(problem.queries), len(candidates))
        for label in raised.unique():
            rows = (raised == label).nonzero()[:, 0]
            own = tangents(problem, label, candidates, options)
            values[rows] = products_with(problem, problem.queries[rows], signal[rows], own)
            options.check()
        return process.eta * values

    return [GradientTerm(problem.query_logits, products, len(candidates))]


def tangents(problem: ModuleProblem, label: Tensor, candidates: Tensor, options: Options) -> Tensor:
    """∇_θ f_y(x_k) of candidates (b,) for y = `label`: (b, P)."""
    held, x, output = problem.single_output(label, problem.units(candidates).x)
    raised = one_hot(output.expand(len(x)), held.classes).to(problem.theta)
    return behavior_gradients(held, x, raised, budget=options.budget // 4)


def last_layer(problem: ModuleProblem, process: OneStep, candidates: Tensor, options: Options) -> list[Term]:
    """φ(q)ᵀφ(x_k) times the signal at the query's own class."""
    network, labels = problem.network, problem.query_labels
    kernel = network.features(problem.queries) @ network.features(problem.units(candidates).x).T

    def products(signal: Tensor) -> Tensor:
        return process.eta * signal.gather(1, labels[:, None]) * kernel

    return [GradientTerm(problem.query_logits, products, len(candidates))]


def by_class(problem: ModuleProblem, features: Tensor, means: Tensor, process: OneStep) -> Tensor:
    """η ⟨φ_k, μ_c⟩, of queries whose own class logit is read."""
    return process.eta * (features * means).sum(1)


NTK = Estimator(
    "ntk", "tangent kernel", False,
    "First order of the auxiliary step in all selected parameters: the neural tangent kernel.",
    "Jacot et al. 2018", routes={"one_step": closed_form(full)}, needs=("tangents",),
    unfit_interventions=("add_occurrence",), departures={"auxiliary": (ALL_PARAMETERS,)},
    named=(similarity("ntk", "Neural tangent kernel", "Jacot et al. 2018", "NTK"),),
    cost=Cost(gradients, for_each_output=True),
)
NTK_LAST_LAYER = Estimator(
    "ntk_last_layer", "tangent kernel, last layer", False,
    "The tangent kernel of the last linear layer alone.",
    "Jacot et al. 2018; Hanawa et al. 2021", routes={"one_step": closed_form(last_layer)},
    needs=("features",), unfit_interventions=("add_occurrence",), cost=GRADIENTS, all_layers="ntk",
    pooled_by_class={("auxiliary", "one_step"): by_class},
    named=(similarity("ntk_last_layer", "Tangent kernel, last layer", "Hanawa et al. 2021", "NTK"),),
)
