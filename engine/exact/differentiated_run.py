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
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.curvature.graphs import BATCH_BYTES, COLUMNS, flat, pulled_back
from engine.curvature.second_order import explained, refuse_once_differentiable, twice_differentiable
from engine.exact.points import Points
from engine.models.randomness import own_randomness
from engine.models.rules import Columns, Moment
from engine.models.steps import Step, Steps
from engine.models.training import Training


class DifferentiatedRun:
    """A training that has been run once, with what it takes to differentiate its end.

    Raises `InvalidInput` for a model with an operation that cannot be differentiated twice, and as `Steps` does.
    """

    def __init__(self, training: Training, options: Options) -> None:
        self.steps, self.n = Steps(training), len(training.y)
        self.width = 0
        beginning = self.steps.beginning
        each = sum(part.nbytes for part in beginning)
        with own_randomness(training.device):
            self.points = Points(beginning, self._advanced, len(self.steps), each, options.budget // 8, options.check)
        self.end = self.points.end[0]

    def _advanced(self, moment: Moment, place: int) -> Moment:
        return self.steps.advance(moment, self.steps.all[place])

    def adjoint(self, slopes: Tensor, options: Options) -> Tensor:
        """dB/dα of all n examples for ∇B(θ_T) of r behaviors, (r, P): shape (r, n)."""
        return self._in_parts(self._adjoint, slopes, options)

    def tangent(self, candidates: Tensor, options: Options) -> Tensor:
        """dθ_T/dα of training examples (b,): shape (b, P)."""
        return self._in_parts(self._tangent, candidates, options)

    def _in_parts(self, run: Callable[[Tensor, Options], Tensor], asked: Tensor, options: Options) -> Tensor:
        """As many columns at once as a quarter of the budget holds: each as θ and state, before and after a step, with
        the gradient's part and the Hessian's product."""
        column = (2 * (1 + self.steps.rule.remembers) + 2) * self.end.nbytes
        parts = asked.split(max(1, options.budget // 4 // column))
        return torch.cat([run(part, options.share(place, len(parts))) for place, part in enumerate(parts)])

    def _adjoint(self, slopes: Tensor, options: Options) -> Tensor:
        found = slopes.new_zeros(len(slopes), self.n)
        columns: Columns = (slopes, *(torch.zeros_like(slopes) for _ in range(self.steps.rule.remembers)))
        with own_randomness(slopes.device):
            for place, moment in self.points.backwards(options.check):
                step = self.steps.all[place]
                graph = _Graph(self.steps, moment[0], step)
                *before, pull = self.steps.rule.back((*moment, graph.gradient), columns, step.rate, step.count)
                bent, owned = self._pulled(graph, pull)
                before[0] = before[0] + bent
                found.index_add_(1, step.rows, owned, alpha=self.n)
                columns = tuple(before)
                options.progress(1.0 - place / len(self.steps))
        return found

    def _tangent(self, candidates: Tensor, options: Options) -> Tensor:
        moment, b = self.steps.beginning, len(candidates)
        columns: Columns = tuple(part.new_zeros(b, len(part)) for part in moment)
        with own_randomness(moment[0].device):
            for place, step in enumerate(self.steps.all):
                options.check()
                graph = _Graph(self.steps, moment[0], step)
                push = self._pulled(graph, columns[0])[0] if place else torch.zeros_like(columns[0])
                for row, own in graph.own_gradients(candidates):
                    push[row] += self.n / len(step.rows) * own
                columns = self.steps.rule.forward((*moment, graph.gradient), (*columns, push), step.rate, step.count)
                moment = self.steps.advance(moment, step, graph.gradient)
                options.progress((place + 1) / len(self.steps))
        return columns[0]

    def _pulled(self, graph: _Graph, columns: Tensor) -> tuple[Tensor, Tensor]:
        """(H_t u (r, P), ⟨u, ∂g_t/∂w⟩ (r, b)) for u (r, P), as many at once as memory and caches hold."""
        self.width = self.width or max(1, min(COLUMNS, BATCH_BYTES[columns.device.type] // max(1, graph.nbytes)))
        parts = [graph.pulled(part) for part in columns.split(self.width)]
        bent, owned = (torch.cat(side) for side in zip(*parts, strict=True))
        return bent, owned


@dataclass
class _Graph:
    """The graph of g_t(θ, w) on leaves for θ and w."""

    steps: Steps
    theta: Tensor
    step: Step

    def __post_init__(self) -> None:
        steps, rows = self.steps, self.step.rows
        self.leaves = [part.detach().clone().requires_grad_() for part in steps.network.unflatten(self.theta).values()]
        self.weights = steps.weights(self.step).clone().requires_grad_()
        self.nbytes = 0
        try:
            with twice_differentiable(), torch.autograd.graph.saved_tensors_hooks(self._counted, lambda part: part):
                self.losses = steps.losses(dict(zip(steps.network.names, self.leaves, strict=True)), self.step)
                found = torch.autograd.grad((self.weights * self.losses).sum() / len(rows), self.leaves,
                                            create_graph=True, materialize_grads=True)
                # a gradient that does not depend on θ has no graph of its own
                self.gradients = [own + 0 * leaf for own, leaf in zip(found, self.leaves, strict=True)]
        except RuntimeError as error:
            raise explained(error) or error from None
        if self.step.count == 1:
            refuse_once_differentiable(self.gradients)
        self.gradient = torch.cat([own.detach().flatten() for own in self.gradients])

    def _counted(self, part: Tensor) -> Tensor:
        self.nbytes += part.nbytes
        return part

    def pulled(self, columns: Tensor) -> tuple[Tensor, Tensor]:
        """(H_t u (r, P), ⟨u, ∂g_t/∂w⟩ (r, b)) for u (r, P)."""
        cotangents = list(self.steps.network.unflatten(columns).values())
        *bent, owned = pulled_back(self.gradients, [*self.leaves, self.weights], cotangents)
        return flat(bent), owned

    def own_gradients(self, candidates: Tensor) -> list[tuple[int, Tensor]]:
        """(place among the candidates, ∇ℓ(z_k; θ_t) (P,)) of those in this batch."""
        found = []
        for row, place in (candidates[:, None] == self.step.rows).nonzero().tolist():
            parts = torch.autograd.grad(self.losses[place], self.leaves, retain_graph=True, materialize_grads=True)
            found.append((row, torch.cat([part.flatten() for part in parts])))
        return found
