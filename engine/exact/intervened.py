r"""The intervened objectives of a problem as functions of one flat θ (P,), in float64 or the precision asked for.

    F_k(θ) = a · (1/n) Σ_i ℓ(z_i; θ) + Σ_j c_j ℓ(x_k, y_j; θ) + ½ λᵀθ² + (damping/2)‖θ − θ_D‖²

with the a, c_j and y_j of the intervention's `engine.question.change.Change`; of a whole group of examples, the sum
of its examples' terms. θ are the selected parameters of a
network, or the weights of softmax regression in the order (feature, class). Without a change, F is the factual
objective, held near θ_D by the damping.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor
from torch.func import jvp

from engine.basics.options import Options
from engine.curvature.shifts import times
from engine.exact.curvature_elsewhere import Product, curvature
from engine.exact.differences import FactualPoint
from engine.exact.passes import loss_and_gradient, training_loss
from engine.gradients.response import LAST_DIGITS, LogitTerm
from engine.models import softmax
from engine.problems import ModuleProblem, Problem, SoftmaxProblem, by_form
from engine.question.change import Change
from engine.question.interventions import Intervention

Terms = Sequence[tuple[float, int, int]]
"""(c_j, k_j, y_j) of the losses ℓ(x_{k_j}, y_j; θ) beside the data loss."""
ValueAndGradient = tuple[float, Tensor]
T = TypeVar("T")


class InterventionFamily(ABC):
    """All intervened objectives of one problem. start: θ_D (P,). penalty: λ, (P,) or one number for all."""

    def __init__(self, start: Tensor, penalty: Tensor, damping: float) -> None:
        self.start, self.penalty, self.damping = start, penalty, damping
        self._remembered: dict[int, tuple[Tensor, ValueAndGradient]] = {}

    def objective(self, rows: Sequence[int], change: Change) -> Objective:
        """F_k with the change made to each of the training examples `rows`."""
        return Objective(self, tuple((weight, row, label) for row in rows
                                     for weight, label in change.terms(self.label(row))), change.scale)

    def solved(self, interventions: Sequence[Intervention], groups: Sequence[Tensor], n: int, options: Options,
               solve: Callable[[Objective], T]) -> list[list[T]]:
        """For every intervention what `solve` makes of F_k, a column for each group (b_j,) of n training examples."""
        columns: list[list[T]] = [[] for _ in interventions]
        for number, rows in enumerate(groups):
            for index, intervention in enumerate(interventions):
                options.check()
                change = intervention.change(n).of_each(len(rows), n)
                columns[index].append(solve(self.objective(rows.tolist(), change)))
                options.progress((number * len(interventions) + index + 1) / (len(interventions) * len(groups)))
        return columns

    def keep(self, theta: Tensor) -> None:
        """Remember what `data` finds at θ, for the many objectives that are followed from there."""
        self._remembered[id(theta)] = theta, self.data(theta)

    def keeps(self, theta: Tensor) -> bool:
        """Whether `keep` was called with this θ."""
        return id(theta) in self._remembered

    def data(self, theta: Tensor) -> ValueAndGradient:
        """(1/n) Σ_i ℓ(z_i; θ) and its gradient (P,), without the penalty."""
        return self._remembered[id(theta)][1] if self.keeps(theta) else self._data(theta)

    @abstractmethod
    def label(self, row: int) -> int:
        """The label of training example `row`."""

    @abstractmethod
    def _data(self, theta: Tensor) -> ValueAndGradient: ...

    @abstractmethod
    def own(self, theta: Tensor, terms: Terms) -> ValueAndGradient:
        """Σ_j c_j ℓ(x_{k_j}, y_j; θ) and its gradient (P,)."""

    @abstractmethod
    def hessian(self, objective: Objective, theta: Tensor) -> Tensor:
        """∇²F_k(θ), (P, P); where an intercept is not penalised, made positive definite."""

    @abstractmethod
    def logits_along(self, theta: Tensor, velocity: Tensor) -> tuple[Tensor, Tensor]:
        """The query logits at θ and their derivative along a velocity (P,), (m, C) each."""

    @abstractmethod
    def changes(self, base: Tensor) -> Changes:
        """What other parameters than `base` (P,) do to the query logits."""


@dataclass(frozen=True)
class Changes:
    """From query logits `baseline` (m, C): to: θ (P,) -> (δf (m, C), a bound (m,) on what rounding did to it)."""

    baseline: Tensor
    to: Callable[[Tensor], tuple[Tensor, Tensor]]

    def term(self, changes: Sequence[tuple[Tensor, Tensor]]) -> LogitTerm:
        """The changes to several θ, one a candidate."""
        change, noise = zip(*changes, strict=True)
        return LogitTerm(torch.stack(change, 1), self.baseline, noise=torch.stack(noise, 1))


@dataclass(frozen=True)
class Objective:
    """One F_k: its terms beside the data loss, scale a."""

    family: InterventionFamily
    terms: Terms
    scale: float

    def evaluate(self, theta: Tensor) -> ValueAndGradient:
        """F_k(θ) and ∇F_k(θ) (P,)."""
        family, (value, gradient) = self.family, self.family.data(theta)
        own, slope = self._own(theta)
        moved, shrunk = theta - family.start, family.penalty * theta
        pulled = 0.5 * (torch.dot(shrunk, theta) + family.damping * torch.dot(moved, moved)).item()
        return (self.scale * value + own + pulled, self.scale * gradient + slope + shrunk + family.damping * moved)

    def force(self, theta: Tensor) -> float:
        """The norm of what the change adds to the gradient at θ: it is what moves the optimum."""
        added = self._own(theta)[1]
        if self.scale != 1.0:
            added = added + (self.scale - 1.0) * self.family.data(theta)[1]
        return added.norm().item()

    def _own(self, theta: Tensor) -> ValueAndGradient:
        return self.family.own(theta, self.terms) if self.terms else (0.0, torch.zeros_like(theta))


class ModuleFamily(InterventionFamily):
    """A network, in float64 unless another precision of differences is asked for."""

    def __init__(self, problem: ModuleProblem, damping: float, options: Options) -> None:
        self.problem, self.options = problem if options.precision == "float32" else problem.double(), options
        theta = self.problem.theta
        self._products: dict[int, Product] = {}
        super().__init__(theta, theta.new_ones(()) * self.problem.l2, damping)

    def label(self, row: int) -> int:
        return int(self.problem.units(torch.tensor([row])).y)

    def _data(self, theta: Tensor) -> ValueAndGradient:
        return training_loss(self.problem, theta, self.options)

    def own(self, theta: Tensor, terms: Terms) -> ValueAndGradient:
        problem, (weighing, rows, classes) = self.problem, zip(*terms, strict=True)
        labels = torch.tensor(classes, dtype=torch.long, device=theta.device)
        weights = torch.tensor(weighing, dtype=theta.dtype, device=theta.device)
        value, gradient = loss_and_gradient(problem, theta, problem.units(torch.tensor(rows)).x, labels, weights)
        return value.item(), gradient

    def changes(self, base: Tensor) -> Changes:
        origin = FactualPoint.at(self.problem, base)
        return Changes(origin.logits, lambda theta: origin.change(theta - base))

    def curvature(self, objective: Objective, theta: Tensor) -> Product:
        """V (P, r) -> ∇²F_k(θ) V (P, r)."""
        problem, options = self.problem, self.options
        data = self._of_data(theta)
        alike: dict[float, list[tuple[int, int]]] = {}
        for weight, row, label in objective.terms:
            alike.setdefault(weight, []).append((row, label))
        own = [(weight * len(pairs), curvature(problem, theta, problem.units(torch.tensor([row for row, _ in pairs])).x,
                                               problem.y.new_tensor([label for _, label in pairs]), options))
               for weight, pairs in alike.items()]

        def product(vectors: Tensor) -> Tensor:
            image = objective.scale * data(vectors) + times(self.penalty + self.damping, vectors)
            for weight, of_term in own:
                image += weight * of_term(vectors)
            return image

        return product

    def hessian(self, objective: Objective, theta: Tensor) -> Tensor:
        hessian = self.curvature(objective, theta)(torch.eye(len(theta), dtype=theta.dtype, device=theta.device))
        return (hessian + hessian.T) / 2

    def logits_along(self, theta: Tensor, velocity: Tensor) -> tuple[Tensor, Tensor]:
        network, queries = self.problem.network, self.problem.queries
        logits, change = jvp(lambda at: network.logits(queries, at), (theta,), (velocity,))[:2]
        return logits, change

    def _of_data(self, theta: Tensor) -> Product:
        """Kept, with its graphs, where `data` is."""
        product = self._products.get(id(theta)) or curvature(self.problem, theta, self.problem.x, self.problem.y,
                                                             self.options)
        if self.keeps(theta):
            self._products[id(theta)] = product
        return product


class SoftmaxInterventions(InterventionFamily):
    """Softmax regression, whose θ is W (D, C)."""

    def __init__(self, problem: SoftmaxProblem, damping: float, options: Options) -> None:
        self.problem, self.unpenalised = problem, torch.zeros_like(problem.penalty)
        super().__init__(problem.weights.flatten(), problem.penalty.repeat_interleave(problem.classes), damping)

    def label(self, row: int) -> int:
        return int(self.problem.units(torch.tensor([row])).y)

    def _loss(self, theta: Tensor, x: Tensor, y: Tensor) -> ValueAndGradient:
        weights = theta.view(self.problem.dimension, self.problem.classes)
        return (softmax.objective(weights, x, y, self.unpenalised).item(),
                softmax.gradient(weights, x, y, self.unpenalised).flatten())

    def _data(self, theta: Tensor) -> ValueAndGradient:
        return self._loss(theta, self.problem.x, self.problem.y)

    def own(self, theta: Tensor, terms: Terms) -> ValueAndGradient:
        value, gradient = 0.0, torch.zeros_like(theta)
        for weight, row, label in terms:
            x = self.problem.units(torch.tensor([row])).x
            loss, slope = self._loss(theta, x, self.problem.y.new_tensor([label]))
            value, gradient = value + weight * loss, gradient + weight * slope
        return value, gradient

    def hessian(self, objective: Objective, theta: Tensor) -> Tensor:
        problem, weights = self.problem, theta.view(self.problem.dimension, self.problem.classes)
        hessian = objective.scale * softmax.hessian((problem.x @ weights).softmax(-1), problem.x, self.unpenalised)
        for weight, row, _ in objective.terms:
            x = problem.units(torch.tensor([row])).x
            hessian += weight * softmax.hessian((x @ weights).softmax(-1), x, self.unpenalised)
        hessian.diagonal().add_(self.penalty + self.damping)
        return softmax.pin_intercept(hessian, problem.classes) if problem.intercept else hessian

    def logits_along(self, theta: Tensor, velocity: Tensor) -> tuple[Tensor, Tensor]:
        queries = self.problem.queries
        return self.problem.outputs(queries, theta), self.problem.outputs(queries, velocity)

    def changes(self, base: Tensor) -> Changes:
        problem = self.problem
        noise = weight_noise(problem.queries, base.view(problem.dimension, problem.classes))
        return Changes(problem.outputs(problem.queries, base),
                       lambda theta: (problem.outputs(problem.queries, theta - base), noise))


def weight_noise(queries: Tensor, weights: Tensor) -> Tensor:
    """How far rounding of weights (D, C) may move the logits of queries (m, D): (m,)."""
    return LAST_DIGITS * torch.finfo(weights.dtype).eps * (queries.abs() @ weights.abs()).amax(1)


intervened: Callable[[Problem, float, Options], InterventionFamily] = by_form(SoftmaxInterventions, ModuleFamily)
"""The family of a problem's objectives, for a damping."""


def check_labels(problem: Problem, interventions: Sequence[Intervention]) -> None:
    """Raises `InvalidInput` for a relabelling to a class that does not exist."""
    for _, label in (term for one in interventions for term in one.change(problem.n).further):
        problem.check_label(label)
