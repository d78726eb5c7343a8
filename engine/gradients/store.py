r"""The gradient store: what a problem fills and estimators read, however the gradients are held.

    term(w)   w ⟨∇B(q; θ), v_k⟩ of m queries and b training examples,    v_k = ∇ℓ(z_k; θ)

preconditioned: v_k = Γ(z_k), the update that Adam makes on z_k alone, out of the checkpoint's moments
(`engine.models.adam.adam_update`). divided: v_k = ∇ℓ(z_k)/(√v + ε)², v Adam's second moment as it stands.
normalised: ∇B and v_k are scaled to length one. A network's gradients are
computed as they are read (`NetworkGradients`), those of softmax regression are products of inputs and signals, and
those of a study of many rankings lie on disk (`engine.gradients.cached`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import normalize

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.gradients.checkpoint import Checkpoint
from engine.gradients.model import Queried
from engine.gradients.per_example import behavior_gradients, loss_gradients
from engine.gradients.products import TrainingGradients, products_with, query_norms
from engine.gradients.projectors import PROJECTORS, checked_dimension
from engine.gradients.response import GradientTerm, Term
from engine.models.adam import EPSILON, adam_update

Linear = Callable[[Tensor], Tensor]
"""A linear map of rows, (r, k) -> (r, k)."""


class GradientStore(Protocol):
    """Gradients of b training examples and m queries at one θ."""

    def norms(self) -> Tensor:
        """‖∇ℓ(z_k)‖ without the regulariser, (b,)."""

    def term(self, weight: float, *, normalised: bool = False, preconditioned: bool = False, divided: bool = False
             ) -> Term:
        """weight · ⟨∇B(q), v_k⟩ of every behavior. Raises `InvalidInput` where Adam's moments are not known."""


class NetworkGradients:
    """Of training examples `rows` (b,) and all queries of a network at a checkpoint, by default at θ_D."""

    def __init__(self, problem: Queried, rows: Tensor, options: Options, point: Checkpoint | None = None) -> None:
        self.problem, self.rows, self.options, self.point = problem, rows, options, point
        self.theta = None if point is None else point.theta

    @cached_property
    def training(self) -> TrainingGradients:
        """Those of the examples, at θ_D computed once for every behavior and estimator that reads them."""
        def build() -> TrainingGradients:
            return TrainingGradients(self.problem, self.rows, self.theta, budget=self.options.budget // 4)

        return build() if self.point else self.problem.memo(
            "training_gradients", build, (self.problem.outside_content, *self.rows.tolist()))

    @cached_property
    def updates(self) -> Tensor:
        """Γ(z_k) (b, P). Raises `InvalidInput` where the training kept no moments."""
        first, second, steps = self._moments
        return adam_update(self._gradients(), first, second, steps)

    @cached_property
    def divided(self) -> Tensor:
        """∇ℓ(z_k)/(√v + ε)² (b, P). Raises as `updates` does."""
        return self._gradients() / (self._moments[1].sqrt() + EPSILON) ** 2

    def _gradients(self) -> Tensor:
        return loss_gradients(self.problem, self.rows, self.theta, self.options.budget // 4, check=self.options.check)

    @property
    def _moments(self) -> tuple[Tensor, Tensor, int]:
        point = self.point
        if point is None or point.first is None or point.second is None:
            raise InvalidInput("LESS reads the moments of Adam, which this model's training did not store; train it "
                               "with Adam or AdamW (`optimizer` of its recipe), with `checkpoints`, or use "
                               "`first_order`.")
        return point.first, point.second, point.steps

    def norms(self) -> Tensor:
        return self.training.norms()

    def term(self, weight: float, *, normalised: bool = False, preconditioned: bool = False, divided: bool = False
             ) -> GradientTerm:
        self.options.check()
        problem, theta = self.problem, self.theta
        tiny = torch.finfo(problem.theta.dtype).tiny
        moved = self.updates if preconditioned else self.divided if divided else None
        inner = self._inner(moved, normalised, tiny)

        def products(signal: Tensor) -> Tensor:
            values = weight * inner(signal)
            if normalised:
                values = values / query_norms(problem, problem.queries, signal, theta)[:, None].clamp_min(tiny)
                values = values if moved is not None else values / self.norms().clamp_min(tiny)
            return values

        logits = problem.query_logits if theta is None else problem.outputs(problem.queries, theta)
        return GradientTerm(logits, products, len(self.rows))

    def _inner(self, updates: Tensor | None, normalised: bool, tiny: float) -> Linear:
        """s_B (m, C) -> ⟨∇B(q), v_k⟩ (m, b), with updates at length one where they are to be `normalised`."""
        problem = self.problem
        if updates is None:
            training = self.training
            return lambda signal: training.products(problem.queries, signal)
        moved = normalize(updates, eps=tiny) if normalised else updates
        return lambda signal: products_with(problem, problem.queries, signal, moved, self.theta,
                                            self.options.budget // 4)


class NetworkEvents:
    """Training examples as events of probability p, with tangent features φ(z) = Rᵀ∇ log(p/(1 − p)), Φ (n, k) of all.

    R is a draw of a projector in `PROJECTORS` from `options.seed`; Φ is kept on the problem. ridge: of a regression on
    Φ, where whoever projected it has chosen one. key: by which a problem remembers what is computed of Φ.
    """

    ridge = None

    def __init__(self, problem: Queried, rows: Tensor, projector: str, dimension: int, options: Options) -> None:
        name, k = PROJECTORS[projector].name, checked_dimension(dimension)
        self.problem, self.rows, self.options, self.key = problem, rows, options, f"events:{name}:{k}:{options.seed}"
        self.draw = lambda: PROJECTORS[name].draw((problem.parameters,), k, (options.seed,), problem.device)
        self.features, self.doubt = problem.memo(self.key, self._features)

    @property
    def gradients(self) -> Tensor:
        """(1 − p) φ = Rᵀ∇ log p, (n, k)."""
        return self.features * self.doubt[:, None]

    def _features(self) -> tuple[Tensor, Tensor]:
        """Φ (n, k) and 1 − p (n,)."""
        features, doubts, project = [], [], self.draw()
        for rows in torch.arange(len(self.problem.x), device=self.problem.device).split(512):
            self.options.check()
            signal, doubt = self.problem.margins(rows)
            features.append(self._projected(self.problem.x[rows], signal, project))
            doubts.append(doubt)
        return torch.cat(features), torch.cat(doubts)

    def _projected(self, x: Tensor, signal: Tensor, project: Linear) -> Tensor:
        """Rᵀ J_xᵀ s for every row, (b, k), a chunk of gradients at a time."""
        problem, budget = self.problem, self.options.budget
        width = max(1, budget // 8 // (problem.theta.element_size() * problem.parameters))
        return torch.cat([project(behavior_gradients(problem, chunk, own, budget=budget // 4))
                          for chunk, own in zip(x.split(width), signal.split(width), strict=True)])

    def term(self, weight: float, inverse: Linear, doubt: Tensor | None = None) -> GradientTerm:
        """weight · Rᵀ∇B(q) · inverse((1 − p_k) φ(z_k)), for an inverse that is symmetric. doubt (n,): what stands for
        1 − p."""
        problem, rows, project = self.problem, self.rows, self.draw()
        factor = (self.doubt if doubt is None else doubt)[rows][:, None].double()
        targets = inverse(self.features[rows].double()) * factor

        def products(signal: Tensor) -> Tensor:
            return weight * (self._projected(problem.queries, signal, project).double() @ targets.T)

        return GradientTerm(problem.query_logits, products, len(rows))
