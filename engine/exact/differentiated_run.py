r"""The derivative of where a training ends by the weights of its examples, in both directions through its steps.

With w_k = 1 + nα the objective is L_D + α ℓ(z_k), and of a step (`engine.models.steps`)

    ∂g_t/∂θ = H_t = (1/|M_t|) Σ_{i ∈ M_t} ∇²ℓ(z_i; θ_t),      ∂g_t/∂w_k = [k ∈ M_t] ∇ℓ(z_k; θ_t)/|M_t|

    tangent   ẋ_{t+1} = ∂(step)(ẋ_t, H_t θ̇_t + n ∂g_t/∂w_k), ẋ_0 = 0: a column a candidate
    adjoint   x̄_t = ∂(step)ᵀ x̄_{t+1} + (H_t ḡ_t, 0), dB/dα gains n ⟨ḡ_t, ∂g_t/∂w_k⟩: a column a query

x = (θ, s) are the parameters with the optimizer's state, ḡ_t the part of the derivative that belongs to the gradient
(Maclaurin et al. 2015; Engstrom et al. 2025). A tangent serves all queries at once, an adjoint all examples. Both are
exact; H_t and the derivatives by w come out of one pass back through the graph of g_t.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.curvature.graphs import BATCH_BYTES, COLUMNS
from engine.exact.points import Points
from engine.exact.step_curvature import HESSIAN, StepCurvature
from engine.exact.step_graph import StepGraph
from engine.models.randomness import own_randomness
from engine.models.rules import Columns, Moment
from engine.models.steps import Steps
from engine.models.training import Training


class DifferentiatedRun:
    """A training that has been run once, with what it takes to differentiate its end.

    Raises `InvalidInput` for a model with an operation that cannot be differentiated twice, and as `Steps` does.
    curvature, of both directions: what stands for H_t; its own Hessian makes the derivative exact. backwards: whether
    an adjoint follows at once; the graphs of as many of the last steps as half of the budget holds are then stored,
    and not built a second time.
    """

    def __init__(self, training: Training, options: Options, backwards: bool = False) -> None:
        self.steps, self.n = Steps(training), len(training.y)
        self.width, self.graphs = 0, dict[int, StepGraph]()
        beginning, self.built_from = self.steps.beginning, len(self.steps)
        each = sum(tensor.nbytes for tensor in beginning)
        with own_randomness(training.device):
            if backwards and self.built_from:
                held = StepGraph(self.steps, beginning[0], self.steps.all[0]).held()
                self.built_from -= min(self.built_from, options.budget // 2 // held)
            self.points = Points(beginning, self._advanced, len(self.steps), each, options.budget // 8, options.check)
        self.end = self.points.end[0]

    def _advanced(self, moment: Moment, index: int) -> Moment:
        step = self.steps.all[index]
        if index < self.built_from:
            return self.steps.advance(moment, step)
        graph = self.graphs[index] = self._graph(moment, index)
        return self.steps.advance(moment, step, graph.gradient)

    def _graph(self, moment: Moment, index: int) -> StepGraph:
        return self.graphs.get(index) or StepGraph(self.steps, moment[0], self.steps.all[index])

    def adjoint(self, slopes: Tensor, options: Options, during: Tensor | None = None,
                curvature: StepCurvature = HESSIAN) -> Tensor:
        """dB/dα of all n examples for ∇B(θ_T) of r behaviors, (r, P): shape (r, n).

        during (T, s): which steps see the weight, for s derivatives at once: shape (r, s, n).
        """
        marks = torch.ones(len(self.steps), 1, dtype=torch.bool) if during is None else during
        derivatives = self._in_chunks(lambda some, own: self._adjoint(some, marks, curvature, own), slopes, options)
        return derivatives[:, 0] if during is None else derivatives

    def tangent(self, candidates: Tensor, options: Options, during: Tensor | None = None,
                curvature: StepCurvature = HESSIAN) -> Tensor:
        """dθ_T/dα of training examples (b,): shape (b, P). during (T,): which steps see the weight, by default all."""
        marks = torch.ones(len(self.steps), dtype=torch.bool) if during is None else during
        return self._in_chunks(lambda some, own: self._tangent(some, marks, curvature, own), candidates, options)

    def _in_chunks(self, run: Callable[[Tensor, Options], Tensor], columns: Tensor, options: Options) -> Tensor:
        """As many columns at once as a quarter of the budget holds: each as θ and state, before and after a step, with
        the gradient's part and the Hessian's product."""
        column = (2 * (1 + self.steps.rule.remembers) + 2) * self.end.nbytes
        chunks = columns.split(max(1, options.budget // 4 // column))
        return torch.cat([run(chunk, options.stage(index, len(chunks))) for index, chunk in enumerate(chunks)])

    def _adjoint(self, slopes: Tensor, marks: Tensor, curvature: StepCurvature, options: Options) -> Tensor:
        totals = slopes.new_zeros(len(slopes), marks.shape[1], self.n)
        columns: Columns = (slopes, *(torch.zeros_like(slopes) for _ in range(self.steps.rule.remembers)))
        with own_randomness(slopes.device):
            for index, moment in self.points.backwards(options.check):
                step = self.steps.all[index]
                graph = self._graph(moment, index)
                *before, pull = self.steps.rule.back((*moment, graph.gradient), columns, step.rate, step.count)
                bent, owned = self.pulled(graph, pull, curvature)
                before[0] = before[0] + bent
                for slot in marks[index].nonzero()[:, 0].tolist():
                    totals[:, slot].index_add_(1, step.rows, owned, alpha=self.n)
                columns = tuple(before)
                options.progress(1.0 - index / len(self.steps))
        return totals

    def _tangent(self, candidates: Tensor, marks: Tensor, curvature: StepCurvature, options: Options) -> Tensor:
        moment, b = self.steps.beginning, len(candidates)
        columns: Columns = tuple(tensor.new_zeros(b, len(tensor)) for tensor in moment)
        with own_randomness(moment[0].device):
            for index, step in enumerate(self.steps.all):
                options.check()
                graph = StepGraph(self.steps, moment[0], step)
                push = self.pulled(graph, columns[0], curvature)[0] if index else torch.zeros_like(columns[0])
                for row, own in graph.own_gradients(candidates) if marks[index] else ():
                    push[row] += self.n / len(step.rows) * own
                columns = self.steps.rule.forward((*moment, graph.gradient), (*columns, push), step.rate, step.count)
                moment = self.steps.advance(moment, step, graph.gradient)
                options.progress((index + 1) / len(self.steps))
        return columns[0]

    def pulled(self, graph: StepGraph, columns: Tensor, curvature: StepCurvature) -> tuple[Tensor, Tensor]:
        """(H_t u (r, P), ⟨u, ∂g_t/∂w⟩ (r, b)) for u (r, P), as many at once as memory and caches hold."""
        if len(columns) == 1:
            return curvature.of_graph(graph, columns)
        self.width = self.width or max(1, min(COLUMNS, BATCH_BYTES[columns.device.type] // max(1, graph.measured())))
        chunks = [curvature.of_graph(graph, chunk) for chunk in columns.split(self.width)]
        bent, owned = (torch.cat(side) for side in zip(*chunks, strict=True))
        return bent, owned
