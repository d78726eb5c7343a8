r"""Full-batch descent of softmax regression from zero, W_{t+1} = W_t − η ∇L_D(W_t), and the derivative of its end.

In closed form, in float64, for many columns at once (paper, the objective of Eq. 2; the run is that of `trajectory`):

    tangent   D_{t+1} = D_t − η (H_t D_t + x_k ⊗ s_ℓ(z_k; W_t)),     D_0 = 0, a column a candidate
    adjoint   U_t = U_{t+1} − η H_t U_{t+1}, dB/dα gains −η ⟨U_{t+1}, x_k ⊗ s_ℓ(z_k; W_t)⟩, a column a query

with H_t V = (1/n) Xᵀ (w ∘ p ∘ (XV − Σ_c p_c (XV)_c)) + λ ∘ V, and s_ℓ = p − e_y; the weights w of the examples are 1
unless others are given. As t grows, D_t tends to the local response −H⁻¹∇ℓ(z_k) where η is below 2 over the largest
eigenvalue of the Hessian.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.exact.points import Points
from engine.exact.step_curvature import HESSIAN, StepCurvature
from engine.problems import SoftmaxProblem


class DifferentiatedDescent:
    """The descent of a problem in so many steps of size η, run once. weights: w (n,), by default 1.

    curvature, of both directions: what stands for the Hessian of the data's loss in a step.
    """

    def __init__(self, problem: SoftmaxProblem, eta: float, steps: int, options: Options,
                 weights: Tensor | None = None) -> None:
        self.problem, self.eta, self.steps = problem, eta, steps
        self.weights = problem.x.new_ones(problem.n) if weights is None else weights
        start = problem.x.new_zeros(problem.dimension, problem.classes)
        self.points = Points(start, self._advanced, steps, start.nbytes, options.budget // 8, options.check)
        self.end = self.points.end

    def _advanced(self, weights: Tensor, place: int) -> Tensor:
        problem = self.problem
        signals = self.weights[:, None] * self.read(weights)[1]
        return weights - self.eta * (problem.x.T @ signals / problem.n + problem.penalty[:, None] * weights)

    def tangent(self, candidates: Tensor, options: Options, during: Tensor | None = None,
                curvature: StepCurvature = HESSIAN) -> Tensor:
        """The first-order change of the query logits at the end by α of training examples (b,): (m, b, C).

        during (T,): which steps see the weight, by default all.
        """
        problem, weights = self.problem, self.points.kept[0]
        x, columns = problem.x[candidates], problem.x.new_zeros(problem.dimension, problem.classes, len(candidates))
        for place in range(self.steps):
            options.check()
            probabilities, signal = self.read(weights)
            read = (problem.x @ columns.flatten(1)).view(problem.n, problem.classes, -1)
            bent = curvature.of_logits(read, probabilities[..., None], signal[..., None])
            pushed = self._curved(columns, bent)
            if during is None or during[place]:
                pushed += x.T[:, None] * signal[candidates].T
            columns = columns - self.eta * pushed
            weights = self._advanced(weights, place)
            options.progress((place + 1) / self.steps)
        moved = problem.queries @ columns.flatten(1)
        return moved.view(-1, problem.classes, len(candidates)).transpose(1, 2)

    def adjoint(self, signal: Tensor, options: Options, during: Tensor | None = None,
                curvature: StepCurvature = HESSIAN) -> Tensor:
        """dB/dα of all n examples for signals s_B (m, C) at the end: (m, n), with `during` as `pulled` says."""
        return self.pulled(self.problem.queries.T[:, None] * signal.T, options, during, curvature)

    def pulled(self, columns: Tensor, options: Options, during: Tensor | None = None,
               curvature: StepCurvature = HESSIAN) -> Tensor:
        """dB/dα of all n examples for ∇B at the end of r behaviors, (D, C, r): shape (r, n).

        during (T, s): which steps see the weight, for s derivatives at once: shape (r, s, n).
        """
        problem = self.problem
        marks = torch.ones(self.steps, 1, dtype=torch.bool) if during is None else during
        found = columns.new_zeros(columns.shape[-1], marks.shape[1], problem.n)
        for place, weights in self.points.backwards(options.check):
            probabilities, signals = self.read(weights)
            read = (problem.x @ columns.flatten(1)).view(problem.n, problem.classes, -1)
            if marks[place].any():
                owned = self.eta * torch.einsum("ncm,nc->mn", read, signals)
                for slot in marks[place].nonzero()[:, 0].tolist():
                    found[:, slot] -= owned
            bent = curvature.of_logits(read, probabilities[..., None], signals[..., None])
            columns = columns - self.eta * self._curved(columns, bent)
            options.progress(1.0 - place / self.steps)
        return found[:, 0] if during is None else found

    def _curved(self, columns: Tensor, bent: Tensor) -> Tensor:
        """H V for V (D, C, r), with what the examples' own Hessians make of XV (n, C, r) at hand."""
        problem = self.problem
        pulled = (problem.x.T @ (self.weights[:, None, None] * bent).flatten(1)).view_as(columns)
        return pulled / problem.n + problem.penalty[:, None, None] * columns

    def read(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """p and s_ℓ of all training examples, (n, C) each."""
        probabilities = (self.problem.x @ weights).softmax(-1)
        signals = probabilities.clone()
        signals[torch.arange(self.problem.n, device=signals.device), self.problem.y] -= 1.0
        return probabilities, signals
