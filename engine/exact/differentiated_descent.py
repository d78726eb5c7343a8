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
from engine.question.likelihood import slope_at

TOGETHER = {"cpu": 1 << 18, "cuda": 1 << 26}
"""Numbers of XV (n, C, r) at a time: on a processor what stays in a cache from one matrix product to the next."""


class DifferentiatedDescent:
    """The descent of a problem in so many steps of size η, run once. weights: w (n,), by default 1.

    curvature, of both directions: what stands for the Hessian of the data's loss in a step.
    """

    def __init__(self, problem: SoftmaxProblem, eta: float, steps: int, options: Options,
                 weights: Tensor | None = None) -> None:
        self.problem, self.eta, self.steps = problem, eta, steps
        self.weighed = weights is not None
        self.weights = problem.x.new_ones(problem.n) if weights is None else weights
        start = problem.x.new_zeros(problem.dimension, problem.classes)
        self.points = Points(start, self._advanced, steps, start.nbytes, options.budget // 8, options.check)
        self.end = self.points.end

    def _advanced(self, weights: Tensor, step: int) -> Tensor:
        problem = self.problem
        signals = self.weights[:, None] * self.read(weights)[1]
        return weights - self.eta * (problem.x.T @ signals / problem.n + problem.penalty[:, None] * weights)

    def tangent(self, candidates: Tensor, options: Options, during: Tensor | None = None,
                curvature: StepCurvature = HESSIAN) -> Tensor:
        """The first-order change of the query logits at the end by α of candidates (b,): (m, b, C).

        during (T,): which steps see the weight, by default all.
        """
        problem, weights = self.problem, self.points.states[0]
        chunks = candidates.split(self._width)
        moved = [problem.x.new_zeros(problem.dimension, problem.classes, len(chunk)) for chunk in chunks]
        for step in range(self.steps):
            options.check()
            probabilities, signals = self.read(weights)
            for number, (chunk, columns) in enumerate(zip(chunks, moved, strict=True)):
                after = self._stepped(columns, self._read_by(columns), probabilities, signals, curvature)
                if during is None or during[step]:
                    after.addcmul_(problem.units(chunk).x.T[:, None],
                                   self.signals_of(chunk, weights, signals).T, value=-self.eta)
                moved[number] = after
            weights = self._advanced(weights, step)
            options.progress((step + 1) / self.steps)
        ends = [(problem.queries @ columns.flatten(1)).view(-1, *columns.shape[1:]) for columns in moved]
        return torch.cat(ends, 2).transpose(1, 2)

    def adjoint(self, signal: Tensor, options: Options, during: Tensor | None = None,
                curvature: StepCurvature = HESSIAN) -> Tensor:
        """dB/dα of all n examples for signals s_B (m, C) at the end: (m, n), with `during` as `pulled` says."""
        return self.pulled(self.problem.queries.T[:, None] * signal.T, options, during, curvature)

    def pulled(self, columns: Tensor, options: Options, during: Tensor | None = None,
               curvature: StepCurvature = HESSIAN) -> Tensor:
        """dB/dα of all n examples for ∇B at the end of r behaviors, (D, C, r): shape (r, n).

        during (T, s): which steps see the weight, for s derivatives at once: shape (r, s, n).
        """
        marks = torch.ones(self.steps, 1, dtype=torch.bool) if during is None else during
        totals = columns.new_zeros(columns.shape[-1], marks.shape[1], self.problem.n)
        held, owners = ([*whole.split(self._width, axis)] for whole, axis in ((columns, -1), (totals, 0)))
        for step, weights in self.points.backwards(options.check):
            probabilities, signals = self.read(weights)
            for number, (own, chunk) in enumerate(zip(owners, held, strict=True)):
                read = self._read_by(chunk)
                if marks[step].any():
                    owned = self.eta * torch.einsum("ncm,nc->mn", read, signals)
                    for slot in marks[step].nonzero()[:, 0].tolist():
                        own[:, slot] -= owned
                held[number] = self._stepped(chunk, read, probabilities, signals, curvature)
            options.progress(1.0 - step / self.steps)
        return totals[:, 0] if during is None else totals

    @property
    def _width(self) -> int:
        return max(1, TOGETHER[self.problem.x.device.type] // (self.problem.n * self.problem.classes))

    def _read_by(self, columns: Tensor) -> Tensor:
        """XV (n, C, r) for V (D, C, r)."""
        return (self.problem.x @ columns.flatten(1)).view(self.problem.n, *columns.shape[1:])

    def _stepped(self, columns: Tensor, read: Tensor, probabilities: Tensor, signals: Tensor, curvature: StepCurvature
                 ) -> Tensor:
        """(I − ηH) V for V (D, C, r) and XV, which is lost."""
        problem = self.problem
        bent = curvature.of_logits(read, probabilities[..., None], signals[..., None])
        if self.weighed:
            bent *= self.weights[:, None, None]
        pulled = (problem.x.T @ bent.flatten(1)).view_as(columns)
        return (columns * (1 - self.eta * problem.penalty[:, None, None])).sub_(pulled, alpha=self.eta / problem.n)

    def signals_of(self, rows: Tensor, weights: Tensor, signals: Tensor) -> Tensor:
        """s_ℓ of candidates `rows` (b,) at W (D, C), where those of all training examples are `signals`: (b, C)."""
        if not self.problem.adds(rows):
            return signals[rows]
        x, y = self.problem.units(rows)
        return -slope_at((x @ weights).softmax(-1), y)

    def read(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """p and s_ℓ of all training examples, (n, C) each."""
        probabilities = (self.problem.x @ weights).softmax(-1)
        return probabilities, -slope_at(probabilities, self.problem.y)
