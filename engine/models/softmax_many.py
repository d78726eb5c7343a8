r"""Many softmax regressions at once, which differ in the weights and labels of their examples: one batched Newton.

Model j minimises

    F_j(W) = (1/N_j) Σ_i w_ji ℓ(x_i, y_ji; W) + (1/2) Σ_a λ_a ‖W_a‖²,     w_ji ≥ 0,

so that a weight of 0 leaves an example out. The Hessians of all models are one product of matrices, with the outer
products x_i x_iᵀ, which no model changes. They are built and factored in float32, since a Newton step only has to be
good to a few digits; objective and gradient are float64, and so is the point where they end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.models import softmax
from engine.models.linear_solvers import by_factor

DENSE = 2_048
"""Parameters up to which a Hessian of each model is held."""
REUSED = 0.3
"""A factor is used again where its step made the gradient smaller by this."""
FACTORED = 8
"""Hessians that are built at a time: more do not stay in the caches."""
SHORTEST = 1e-8
"""A step that had to be made shorter than this leads nowhere."""


@dataclass(frozen=True)
class Sets:
    """What J models are fitted to. x (n, D), shared; y (J, n); shares (J, n): w_ji/N_j; l2 (D,); all but y float64."""

    x: Tensor
    y: Tensor
    shares: Tensor
    classes: int
    l2: Tensor

    def __len__(self) -> int:
        return len(self.shares)

    def select(self, index: Tensor) -> Sets:
        return Sets(self.x, self.y[index], self.shares[index], self.classes, self.l2)

    @property
    def bytes_each(self) -> int:
        """What one model takes: its Hessian with its factor and blocks, and the logits of all examples."""
        parameters = self.x.shape[1] * self.classes
        return 4 * 4 * parameters**2 + 8 * len(self.x) * self.classes * (self.classes + 4)

    @property
    def outer_bytes(self) -> int:
        """What the outer products of the examples take."""
        n, d = self.x.shape
        return 4 * n * d * (d + 1) // 2


def fits_dense(sets: Sets, budget: int) -> bool:
    """Whether the batched route is open: Hessians that can be held, and the outer products too."""
    return sets.x.shape[1] * sets.classes <= DENSE and 4 * sets.outer_bytes <= budget


def fit_many(sets: Sets, start: Tensor, budget: int, check: Callable[[], None] = lambda: None,
             progress: Callable[[float], None] = lambda fraction: None) -> tuple[Tensor, Tensor]:
    """The optima W (J, D, C) from `start` (D, C), and ‖∇F_j‖ (J,) where each search ended.

    A model without any weight ends at zero. As many models at once as `budget` bytes hold.
    """
    outer = _Outer(sets.x)
    size = max(1, min(len(sets), (budget // 2 - sets.outer_bytes) // sets.bytes_each, 64))
    fits = []
    for index, rows in enumerate(torch.arange(len(sets), device=sets.x.device).split(size)):
        fits.append(_Search(sets.select(rows), start, outer).run(check))
        progress(min(1.0, (index + 1) * size / len(sets)))
    weights, norms = zip(*fits, strict=True)
    return torch.cat(weights), torch.cat(norms)


class _Outer:
    """x_i x_iᵀ of all examples, above the diagonal alone, float32: (n, D(D+1)/2)."""

    def __init__(self, x: Tensor) -> None:
        n, d = x.shape
        first, second = torch.triu_indices(d, d, device=x.device)
        narrow = x.float()
        self.products = narrow[:, first] * narrow[:, second]
        self.index = torch.empty(d, d, dtype=torch.long, device=x.device)
        self.index[first, second] = self.index[second, first] = torch.arange(len(first), device=x.device)
        self.index = self.index.flatten()


class _Search:
    """Newton with a line search for a batch of models, each with the factor of its own last Hessian."""

    def __init__(self, sets: Sets, start: Tensor, outer: _Outer) -> None:
        self.sets, self.outer = sets, outer
        j, d, c = len(sets), sets.x.shape[1], sets.classes
        self.weights = start.expand(j, d, c).clone()
        self.weights[sets.shares.sum(1) == 0] = 0.0
        self.value, self.gradient = self._evaluate(self.weights, torch.arange(j, device=start.device))
        self.norm = self.gradient.flatten(1).norm(dim=1)
        self.factors = start.new_empty(j, d * c, d * c, dtype=torch.float32)

    def run(self, check: Callable[[], None], rounds: int = 200) -> tuple[Tensor, Tensor]:
        j = len(self.sets)
        stale = torch.ones(j, dtype=torch.bool, device=self.weights.device)
        active = self.norm >= softmax.GRADIENT_TOLERANCE
        for _ in range(rounds):
            if not active.any():
                break
            check()
            index = active.nonzero()[:, 0]
            self._factor(index[stale[index]])
            moved, shrunk = self._step(index)
            # a search that a fresh factor does not help either has ended where rounding lets it
            active[index[~moved & stale[index]]] = False
            stale[index] = ~(moved & shrunk)
            active &= self.norm >= softmax.GRADIENT_TOLERANCE
        return self.weights, self.norm

    def _step(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Newton's step of models `index`, halved until F falls or the gradient shrinks; whether it was taken, and
        whether the gradient then is smaller by `REUSED`."""
        before, norm = self.value[index], self.norm[index]
        step = torch.stack([self._solved(model) for model in index.tolist()])
        slope = (step * self.gradient[index]).flatten(1).sum(1)
        length, waiting = torch.ones_like(before), torch.ones(len(index), dtype=torch.bool, device=index.device)
        shrunk = torch.zeros_like(waiting)
        while waiting.any() and length[waiting].max() > SHORTEST:
            trying = waiting.nonzero()[:, 0]
            at = index[trying]
            trial = self.weights[at] - length[trying, None, None] * step[trying]
            value, gradient = self._evaluate(trial, at)
            reached = gradient.flatten(1).norm(dim=1)
            good = value <= before[trying] - 1e-4 * length[trying] * slope[trying]
            good |= reached <= 0.9 * norm[trying]
            taken = at[good]
            self.weights[taken], self.value[taken] = trial[good], value[good]
            self.gradient[taken], self.norm[taken] = gradient[good], reached[good]
            shrunk[trying] = reached <= REUSED * norm[trying]
            waiting[trying[good]] = False
            length[trying[~good]] *= 0.5
        return ~waiting, shrunk & ~waiting

    def _solved(self, model: int) -> Tensor:
        """Newton's step of one model, (D, C), which adds to zero over classes."""
        norm = self.norm[model]
        scaled = (self.gradient[model].T / norm).float()
        step = by_factor(self.factors[model], scaled.reshape(-1, 1)).view_as(scaled).T.double() * norm
        return step - step.mean(-1, keepdim=True)

    def _evaluate(self, weights: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """F_j (J,) and ∇F_j (J, D, C) of models `index` at weights (J, D, C)."""
        sets = self.sets.select(index)
        log_p = (sets.x @ weights).log_softmax(-1)  # (J, n, C)
        own = log_p.gather(2, sets.y[..., None])
        penalty = sets.l2[:, None] * weights
        value = 0.5 * (penalty * weights).sum((1, 2)) - (sets.shares * own[..., 0]).sum(1)
        residual = log_p.exp_().scatter_add_(2, sets.y[..., None], -torch.ones_like(own))
        return value, sets.x.T @ (residual * sets.shares[..., None]) + penalty

    def _factor(self, index: Tensor) -> None:
        """Factor ∇²F_j of models `index`; one that is not positive definite in float32 is factored with more on its
        diagonal, which makes steps shorter and no optimum another."""
        for part in index.split(FACTORED):
            dense = self._hessians(part)
            factors, info = torch.linalg.cholesky_ex(dense)
            lift = 1e-6
            while info.any() and lift < 1.0:
                bad = info.nonzero()[:, 0]
                diagonal = dense.diagonal(dim1=1, dim2=2)
                diagonal[bad] += lift * diagonal[bad].mean(1, keepdim=True)
                factors[bad], info[bad] = torch.linalg.cholesky_ex(dense[bad])
                lift *= 10
            self.factors[part] = factors

    def _curve(self, dense: Tensor, p: Tensor, shares: Tensor) -> None:
        """Σ_i s_i (diag p_i − p_i p_iᵀ) ⊗ x_i x_iᵀ of one model into `dense` (C, D, C, D), not above the diagonal."""
        d, c = dense.shape[1], dense.shape[0]
        counting = shares.nonzero()[:, 0]
        first, second = torch.triu_indices(c, c, device=p.device)
        counted = p[counting].T  # (C, rows)
        curvature = -counted[first] * counted[second]
        curvature[first == second] += counted
        blocks = (curvature * shares[counting]) @ self.outer.products[counting]
        for block, a, b in zip(blocks, first.tolist(), second.tolist(), strict=True):
            dense[b, :, a] = block[self.outer.index].view(d, d)

    def _hessians(self, index: Tensor) -> Tensor:
        """∇²F_j (J, C·D, C·D), float32, indices ordered (class, feature), on and below the diagonal; pinned where an
        intercept is free."""
        sets, j, (d, c) = self.sets.select(index), len(index), self.weights.shape[1:]
        p = (sets.x @ self.weights[index]).softmax(-1).float()  # (J, n, C)
        dense = p.new_zeros(j, c, d, c, d)
        for model in range(j):
            self._curve(dense[model], p[model], sets.shares[model].float())
        if sets.l2[-1] == 0:
            dense[:, :, -1, :, -1] += 1.0 / c
        dense = dense.view(j, c * d, c * d)
        dense.diagonal(dim1=1, dim2=2).add_(sets.l2.float().repeat(c))
        return dense
