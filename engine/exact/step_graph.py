r"""The gradient of one step of a training as a graph on its parameters and the weights of its examples."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.curvature.graphs import flat, pulled_back, saved_bytes
from engine.curvature.second_order import explained, refuse_once_differentiable, twice_differentiable
from engine.models.steps import Step, Steps


@dataclass
class StepGraph:
    """The graph of g_t(θ, w) on leaves for θ (P,) and w, the weights of the batch's examples (b,).

    gradient (P,): g_t. Raises `InvalidInput` for a model with an operation that cannot be differentiated twice.
    """

    steps: Steps
    theta: Tensor
    step: Step

    def __post_init__(self) -> None:
        steps = self.steps
        self.leaves = [tensor.detach().clone().requires_grad_()
                       for tensor in steps.network.unflatten(self.theta).values()]
        self.weights = steps.weights(self.step).clone().requires_grad_()
        try:
            with twice_differentiable():
                self.losses = steps.losses(dict(zip(steps.network.names, self.leaves, strict=True)), self.step)
                gradients = torch.autograd.grad(steps.mean(self.weights * self.losses, self.step), self.leaves,
                                                create_graph=True, materialize_grads=True)
                # a gradient that does not depend on θ has no graph of its own
                self.gradients = [own if own.requires_grad else own + 0 * leaf
                                  for own, leaf in zip(gradients, self.leaves, strict=True)]
        except RuntimeError as error:
            raise explained(error) or error from None
        if self.step.count == 1:
            refuse_once_differentiable(self.gradients)
        self.gradient = torch.cat([own.detach().flatten() for own in self.gradients])

    def measured(self) -> int:
        """Bytes of the tensors that such a graph reads: of a second one, since the hooks that count them slow a graph
        down."""
        return saved_bytes(lambda: StepGraph(self.steps, self.theta, self.step))

    def held(self) -> int:
        """Bytes of memory that such a graph holds; several of its tensors share some."""
        return saved_bytes(lambda: StepGraph(self.steps, self.theta, self.step), shared=True) + 3 * self.theta.nbytes

    def bent(self, columns: Tensor) -> tuple[Tensor, Tensor]:
        """(H_t u (r, P), ⟨u, ∂g_t/∂w⟩ (r, b)) for u (r, P), in one pass."""
        *bent, owned = pulled_back(self.gradients, [*self.leaves, self.weights], self._shaped(columns))
        return flat(bent), owned

    def owned(self, columns: Tensor) -> Tensor:
        """⟨u, ∂g_t/∂w⟩ (r, b) for u (r, P)."""
        return pulled_back(self.gradients, [self.weights], self._shaped(columns))[0]

    def summed(self, weights: Tensor) -> Tensor:
        """Σ_i shares_i ∇ℓ(z_i; θ_t) (r, P) over the batch, for weights (r, b)."""
        return flat(pulled_back([self.losses], self.leaves, [weights]))

    def _shaped(self, columns: Tensor) -> list[Tensor]:
        return list(self.steps.network.unflatten(columns).values())

    def own_gradients(self, candidates: Tensor) -> list[tuple[int, Tensor]]:
        """(place among the candidates, |M_t| ∂g_t/∂w_k (P,)) of those in this batch."""
        gradients, ratios = [], self.step.ratios
        for row, index in (candidates[:, None] == self.step.rows).nonzero().tolist():
            own = self.losses[index] if ratios is None else self.losses[index] * ratios[index].item()
            slopes = torch.autograd.grad(own, self.leaves, retain_graph=True, materialize_grads=True)
            gradients.append((row, torch.cat([slope.flatten() for slope in slopes])))
        return gradients
