r"""The trusted behavior's gradient: ∇B̄ = (1/m) Σ_q J_qᵀ s_B(q) over the trusted set, for several behaviors at once.

A batch is passed forward once and back once a behavior. No gradient of a single example is formed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from engine.exact.response import signal_of
from engine.gradients.chunks import BUDGET, activation_bytes, fitting, in_chunks, unchecked
from engine.gradients.layout import arranged
from engine.problems.module import ModuleProblem
from engine.question.behaviors import BEHAVIORS


def trusted_gradients(problem: ModuleProblem, behaviors: Sequence[str], budget: int = BUDGET, *,
                      check: Callable[[], None] = unchecked) -> Tensor:
    """∇B̄ of each behavior over the problem's queries, shape (r, P), at its θ_D."""
    network, labels = problem.network, problem.query_labels
    x, total = arranged(network, problem.queries), problem.theta.new_zeros(len(behaviors), problem.parameters)
    leaves = {name: value.detach().requires_grad_() for name, value in network.unflatten(problem.theta).items()}

    def run(part: slice) -> None:
        with torch.enable_grad():
            logits = network.at(x[part], leaves)
        for row, name in zip(total, behaviors, strict=True):
            signal = signal_of(BEHAVIORS[name], logits.detach(), labels[part]) / len(x)
            found = torch.autograd.grad(logits, list(leaves.values()), signal, retain_graph=True,
                                        materialize_grads=True)
            row.add_(network.flatten(dict(zip(leaves, found, strict=True))))

    in_chunks(run, len(x), fitting(4 * activation_bytes(network, x), budget, problem.device), check)
    return total
