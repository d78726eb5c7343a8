r"""What stands for the Hessian of a step's loss in the derivative of a training: H_t itself, or an approximation.

    hessian   H_t = (1/|M_t|) Σ_i w_i ∇²ℓ(z_i; θ_t), which is exact
    fisher    (1/|M_t|) Σ_i w_i ∇ℓ(z_i; θ_t) ∇ℓ(z_i; θ_t)ᵀ, the products of the batch's own gradients (Wang et al. 2024)
    nothing   0: what a step does to later gradients is left out

Penalties and an optimizer's memory are part of the step itself, and none of this touches them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.exact.step_graph import StepGraph


@dataclass(frozen=True)
class StepCurvature:
    """of_graph: the graph of g_t, u (r, P) -> (H_t u (r, P), ⟨u, ∂g_t/∂w⟩ (r, b)). of_logits: for softmax regression,
    what u does to the logits (n, C, r), p (n, C, 1) and s_ℓ (n, C, 1) -> what the batch's Hessian makes of it there,
    (n, C, r), an example's weight left out, in the place of what it was given."""

    name: str
    of_graph: Callable[[StepGraph, Tensor], tuple[Tensor, Tensor]]
    of_logits: Callable[[Tensor, Tensor, Tensor], Tensor]


def _fisher(graph: StepGraph, columns: Tensor) -> tuple[Tensor, Tensor]:
    owned = graph.owned(columns)
    return graph.summed(owned * graph.weights.detach()), owned


HESSIAN = StepCurvature("hessian", StepGraph.bent, lambda read, p, signal: read.sub_(p.mT @ read).mul_(p))
FISHER = StepCurvature("fisher", _fisher, lambda read, p, signal: torch.mul(signal, signal.mT @ read, out=read))
NOTHING = StepCurvature("nothing", lambda graph, columns: (torch.zeros_like(columns), graph.owned(columns)),
                        lambda read, p, signal: torch.zeros_like(read))
