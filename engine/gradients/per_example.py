r"""Per-example gradients: g_k = ∇_θ ℓ(z_k; θ) and J_qᵀ s, one row of P numbers an example, without the regulariser.

Linear layers and convolutions are written out from their factors, everything else by `torch.func` (see
`engine.gradients.factors`). The network is in evaluation mode, where BatchNorm uses its stored statistics, so that an
example's gradient does not depend on its batch.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from engine.gradients.chunks import BUDGET, allocated, fitting, in_chunks, unchecked
from engine.gradients.factors import gradient_forms, pass_bytes
from engine.gradients.model import Differentiable
from engine.gradients.vectorised import Read, along_signal
from engine.models.losses import differentiable
from engine.models.network import Network


def loss_gradients(problem: Differentiable, rows: Tensor, theta: Tensor | None = None, budget: int = BUDGET, *,
                   check: Callable[[], None] = unchecked) -> Tensor:
    """∇_θ ℓ(z_k; θ) of the training examples `rows` (b,): shape (b, P).

    theta (P,): θ_D where it is left out. budget: bytes beside the result. check: called often; raises to cancel.
    Raises `InvalidInput` where memory holds neither the result nor one example's work.
    """
    loss = differentiable(problem.loss)
    return _gradients(problem.network, *problem.units(rows), loss, theta, budget, check)


def behavior_gradients(problem: Differentiable, x: Tensor, signal: Tensor, theta: Tensor | None = None,
                       budget: int = BUDGET, *, check: Callable[[], None] = unchecked) -> Tensor:
    """J_xᵀ s of inputs x (m, …) for signals s (m, C) = ∂B/∂f: shape (m, P). Otherwise as `loss_gradients`."""
    return _gradients(problem.network, x, signal.to(problem.network.dtype), along_signal, theta, budget, check)


def _gradients(network: Network, x: Tensor, targets: Tensor, read: Read, theta: Tensor | None, budget: int,
               check: Callable[[], None]) -> Tensor:
    out = allocated("per-example gradients", len(x), network.size, like=network.theta)

    def run(chunk: slice) -> None:
        for form in gradient_forms(network, x[chunk], targets[chunk], read, theta):
            form.write(out[chunk])

    in_chunks(run, len(x), fitting(pass_bytes(network, x), budget, out.device), check)
    return out
