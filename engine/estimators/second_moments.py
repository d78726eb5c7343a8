r"""Gradients divided by the root of their second moment, as Adam and Adafactor divide them.

    one_step, add_occurrence   −η ⟨∇B(q), ∇ℓ(z_k)/(√V + ε)⟩,   V = (1/n) Σ_i (∇ℓ(z_i; θ_D))², entry by entry

With Adafactor (Shazeer and Stern 2018) the V of a weight (rows, columns) is the outer product of its row and column
sums over its whole sum. V may be what Adam kept of the training instead of the examples' at θ_D. Unlike LESS, no first
moment enters, and the update is linear in the example's gradient.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.settings import FREE, Settings, setting
from engine.estimators.cost import WITH_TRAINING_SET
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.named import gradient
from engine.gradients.per_example import loss_gradients
from engine.gradients.products import products_with
from engine.gradients.response import GradientTerm, LogitTerm, Term
from engine.models.adam import BETAS, EPSILON
from engine.problems import ModuleProblem, Problem, SoftmaxProblem, by_form
from engine.question.departure import ADAFACTOR_SCALES, ADAM_SCALES
from engine.question.processes import OneStep

Source = Literal["examples", "training"]
EXAMPLES: Source = "examples"


class MomentSettings(Settings):
    """Settings of gradients that are normalised by an optimizer's second moment."""

    moments: Source = setting(
        EXAMPLES, "Source of V: the training examples' gradients at the trained model, or the second moment that Adam "
        "stored in training.", "this program", FREE)


def spread(problem: Problem, options: Options, factored: bool, moments: Source = EXAMPLES) -> Tensor:
    """√V + ε of every parameter, (P,). factored: as Adafactor holds V of weights. Raises `InvalidInput` where the
    moments of the training are asked for and it kept none."""
    second = _second_moment(problem, options, moments)
    return (_factored(problem, second) if factored else second).sqrt().add_(EPSILON)


def _of_network(problem: ModuleProblem, options: Options, moments: Source) -> Tensor:
    """V (P,)."""
    if moments != EXAMPLES:
        return _of_training(problem)

    def build() -> Tensor:
        total = torch.zeros_like(problem.theta)
        width = max(1, options.budget // 8 // (problem.theta.element_size() * problem.parameters))
        for rows in torch.arange(problem.n, device=problem.device).split(min(width, 512)):
            total += loss_gradients(problem, rows, budget=options.budget // 4, check=options.check).square().sum(0)
        return total / problem.n

    return problem.of_model("second moment", build)


def _of_training(problem: ModuleProblem) -> Tensor:
    point = problem.checkpoints[-1] if problem.checkpoints else None
    if point is None or point.second is None or not point.steps:
        raise InvalidInput("This model's training did not store Adam's second moment; train it with Adam or AdamW "
                           "(`optimizer` of its recipe), with `checkpoints`, or use `moments=examples`.")
    return point.second.to(problem.theta) / (1 - BETAS[1] ** point.steps)


def _of_softmax(problem: SoftmaxProblem, options: Options, moments: Source) -> Tensor:
    """V (P,): x_ij² s_ic² averaged over examples, s = p − e_y."""
    if moments != EXAMPLES:
        raise InvalidInput("Softmax regression is trained without Adam, so no second moment was stored; use "
                           "`moments=examples`.")
    rows = torch.arange(problem.n, device=problem.device)
    return (problem.x.square().T @ problem.training_signal(rows).square() / problem.n).flatten()


def _factored(problem: Problem, second: Tensor) -> Tensor:
    """Adafactor's V out of V (P,)."""
    return torch.cat([_outer(second[own].view(shape)).flatten() for own, shape in _weights(problem)])


def _outer(values: Tensor) -> Tensor:
    """Row sums times column sums over the whole sum, of a tensor with two dimensions or more."""
    if values.ndim < 2:
        return values
    matrix = values.flatten(1)
    whole = matrix.sum().clamp_min(torch.finfo(values.dtype).tiny)
    return torch.outer(matrix.sum(1), matrix.sum(0) / whole)


def _matrix(problem: SoftmaxProblem) -> list[tuple[slice, tuple[int, ...]]]:
    """Where each parameter lies in θ, and its shape."""
    return [(slice(None), (problem.dimension, problem.classes))]


def _parameters(problem: ModuleProblem) -> list[tuple[slice, tuple[int, ...]]]:
    """The same."""
    network = problem.network
    return [(network.slices[name], network.shapes[name]) for name in network.names]


_second_moment = by_form(_of_softmax, _of_network)
_weights = by_form(_matrix, _parameters)


def _softmax_step(problem: SoftmaxProblem, process: OneStep, candidates: Tensor, scale: Tensor, options: Options
                  ) -> Term:
    """δf_c(q) = −η Σ_j x_qj x_kj s_kc / (√V_jc + ε)."""
    x, signal = problem.units(candidates).x, problem.training_signal(candidates)
    kernels = torch.stack([problem.queries @ (x / column).T for column in scale.view(-1, problem.classes).T], 2)
    return LogitTerm(-process.eta * kernels * signal, problem.query_logits, linear=True)


def _network_step(problem: ModuleProblem, process: OneStep, candidates: Tensor, scale: Tensor, options: Options
                  ) -> Term:
    updates = loss_gradients(problem, candidates, budget=options.budget // 4, check=options.check).div_(scale)

    def products(signal: Tensor) -> Tensor:
        return -process.eta * products_with(problem, problem.queries, signal, updates, budget=options.budget // 4,
                                            check=options.check)

    return GradientTerm(problem.query_logits, products, len(candidates))


_step = by_form(_softmax_step, _network_step)


def one_step(problem: Problem, process: OneStep, candidates: Tensor, options: Options, *, factored: bool,
             moments: Source = EXAMPLES) -> list[Term]:
    """Raises as `spread` does."""
    return [_step(problem, process, candidates, spread(problem, options, factored, moments), options)]


ADAM_NORMALISED = Estimator(
    "adam_normalised", "gradients over Adam's second moment", False,
    "The first-order step with every parameter's gradient divided by the root of its second moment.",
    "Kingma and Ba 2015", routes={"one_step": closed_form(partial(one_step, factored=False))}, needs=("gradients",),
    unfit_interventions=("auxiliary",), departures={"add_occurrence": (ADAM_SCALES,)}, settings=MomentSettings,
    named=(gradient("gradsim_adam", "GradSim (Adam-normalised)", "Kingma and Ba 2015"),), cost=WITH_TRAINING_SET)
ADAFACTOR_NORMALISED = Estimator(
    "adafactor_normalised", "gradients over Adafactor's second moment", False,
    "The first-order step with every weight's gradient divided by the root of Adafactor's second moment, which holds "
    "rows and columns alone.",
    "Shazeer and Stern 2018", routes={"one_step": closed_form(partial(one_step, factored=True))}, needs=("gradients",),
    unfit_interventions=("auxiliary",), departures={"add_occurrence": (ADAFACTOR_SCALES,)}, settings=MomentSettings,
    named=(gradient("gradsim_adafactor", "GradSim (Adafactor-normalised)", "Shazeer and Stern 2018"),),
    cost=WITH_TRAINING_SET)
