r"""Which tokens of a training record its score comes from, and which of a query.

A record's loss is a sum over its response tokens (`engine.models.causal.marked`), so a score that is linear in the
record's gradients,

    score(z_k) = Σ_c ⟨u_c, R∇ℓ(z_k; θ_c)⟩     with R the projection and c the checkpoints,

is a sum over tokens t of the response:

    Σ_t w_t Σ_c ∂/∂ε log p_t(θ_c + ε d_c),     d_c = Rᵀ u_c,     w_t = −1/|R|.

A score that is linear in the gradient of a query's mean log-likelihood is the same sum over the query's tokens, with
d_c out of the record's gradient and w_t = 1/|R|. The derivatives of all tokens come from one pass in forward mode:
`pushed` adds the tangent d x to what an adapter makes of its input x, as `gradients.Tap` reads its gradient there. No
weight is touched.

Adam's update Γ = m̂/(√v̂ + ε) is linear in the gradient once its denominator is held where the record puts it:

    Γ = (β₁ m + (1 − β₁) ∇ℓ)/((1 − β₁ᵗ)(√v̂ + ε)),

so LESS, of which ‖RΓ‖ is held as well, is a sum over tokens and a rest that the optimizer's momentum m brings.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel

from engine.applications.language import gradients
from engine.applications.language.projection import Adam, Projection, parameter_seed
from engine.gradients.projectors import PROJECTORS
from engine.gradients.taps import tapped
from engine.models.adam import BETAS
from engine.models.causal import lora, passes
from engine.models.causal.encoding import Batch, Encoded, Encoder
from engine.models.causal.marked import Mark, Weights, loss
from engine.models.causal.readouts import token_log_probabilities
from engine.models.precision import at_least_single

Direction = Mapping[str, Tensor]
"""Parameter -> tangent, as large as the parameter, or (b, …) with one for each record of a batch."""


def backwards(projection: Projection, u: np.ndarray, shapes: Mapping[str, torch.Size], device) -> dict[str, Tensor]:
    """Rᵀ u by parameter: the direction whose inner product with a gradient is that of u, (k,), with its projection."""
    directions, start = {}, 0
    whole = torch.as_tensor(np.asarray(u, dtype=np.float32), device=device)
    for index, (name, shape) in enumerate(shapes.items()):
        size = shape.numel()
        if projection.projector == "identity":
            directions[name] = whole[start:start + size].reshape(shape)
            start += size
            continue
        zero = torch.zeros(1, size, device=device, requires_grad=True)
        with torch.enable_grad():
            image = PROJECTORS[projection.projector].project(zero, projection.dimension,
                                                             parameter_seed(projection, index))
            directions[name] = torch.autograd.grad(image[0] @ whole, zero)[0].reshape(shape)
    return directions


def pushed(model, towards: Direction) -> AbstractContextManager:
    """The model with the tangents `towards` at the adapters that it names; only within `forward_ad.dual_level()`."""
    def push(name: str, _module, inputs: Tensor, output: Tensor) -> Tensor:
        x, d = forward_ad.unpack_dual(inputs).primal, towards[name].to(inputs.device)
        tangent = (at_least_single(x) @ d.transpose(-1, -2)).to(output.dtype)
        return output + forward_ad.make_dual(torch.zeros_like(tangent), tangent)

    return tapped(_named(model, towards), push)


def contributions(model, encoder: Encoder, records: Sequence[Encoded],
                  towards: Direction | Callable[[int, Batch], Direction], weights: Mapping[str, Weights], size: int = 8,
                  check=lambda: None) -> dict[str, list[np.ndarray]]:
    """name -> for each record w_t ∂/∂ε log p_t(θ + ε d) of every response token, in order, by the weights of that name;
    they add up to ⟨d, ∇Σ_t w_t log p_t⟩.

    towards: the direction d, or a function that gives that of one record, by its index and its batch of one.
    """
    model.eval()
    values: dict[str, list] = {name: [None] * len(records) for name in weights}
    for rows, batch in passes.batched(model, encoder, records, 1 if callable(towards) else size, check=check):
        slopes = _slopes(model, batch, towards(rows[0], batch) if callable(towards) else towards).double()
        for name, weights_of in weights.items():
            weighted = weights_of(batch) * slopes
            for index, row in enumerate(rows):
                values[name][row] = weighted[index][batch.response[index]].cpu().numpy()
    return values


def _slopes(model, batch: Batch, towards: Direction) -> Tensor:
    """∂/∂ε log p of every target, (b, R): in forward mode, or where an operation has none backwards, twice."""
    try:
        tangent = _forward(model, batch, towards)
    except NotImplementedError:
        tangent = _backward(model, batch, towards)
    return torch.zeros_like(batch.response, dtype=torch.float32) if tangent is None else tangent


def _forward(model, batch: Batch, towards: Direction) -> Tensor | None:
    with (warnings.catch_warnings(), torch.no_grad(), forward_ad.dual_level(), sdpa_kernel(SDPBackend.MATH),
          pushed(model, towards)):
        warnings.simplefilter("ignore", FutureWarning)  # torch's own use of an old name, the first time
        logits, _ = passes.forward(model, batch)
        return forward_ad.unpack_dual(token_log_probabilities(logits, batch)).tangent


def _backward(model, batch: Batch, towards: Direction) -> Tensor:
    """Of Σ_t u_t log p_t(θ + ε d) the derivative by ε, and of that the one by u, which is the same for every u."""
    epsilon = torch.zeros((), device=batch.ids.device, requires_grad=True)

    def push(name: str, _module, inputs: Tensor, output: Tensor) -> Tensor:
        return output + epsilon * (inputs.detach() @ towards[name].to(inputs).transpose(-1, -2))

    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH), tapped(_named(model, towards), push):
        logits, _ = passes.forward(model, batch)
        log_likelihoods = token_log_probabilities(logits, batch)
        weights = torch.zeros_like(log_likelihoods, requires_grad=True)
        slope, = torch.autograd.grad(log_likelihoods, epsilon, weights, create_graph=True)
    return torch.autograd.grad(slope, weights)[0]


def _named(model, names: Collection[str]) -> list[tuple[str, nn.Module]]:
    """The modules of the adapters whose parameters are named."""
    return [(name, module) for name, module in lora.adapters(model) if name in names]


def gradient(model, batch: Batch, mark: Mark, names: Collection[str]) -> dict[str, Tensor]:
    """∇ℓ_M of a batch of one record, by parameter, each (1, …)."""
    own: dict[str, Tensor] = {}
    with gradients.tapped(model, names) as tap:
        gradients.record_gradients(tap, batch, [loss(mark)], [own.__setitem__])
    return own


class UpdateDirections:
    """Directions of Adam's update on one record: what it makes of each of its tokens, and of its momentum."""

    def __init__(self, model, towards: Direction, moments: tuple[dict[str, Tensor], dict[str, Tensor]],
                 step: int, mark: Mark = "response") -> None:
        """towards: Rᵀ u. moments: AdamW's at the checkpoint, after `step` steps. mark: of the tokens that are read."""
        self.model, self.towards, self.mark = model, towards, mark
        self.adam = Adam(*moments, step)
        self.momentum: dict[int, float] = {}

    def __call__(self, row: int, batch: Batch) -> Direction:
        """The direction of one record; ⟨Rᵀ u, what momentum makes⟩ goes into `momentum`."""
        (one, _), direction, rest = BETAS, {}, 0.0
        for name, own in gradient(self.model, batch, self.mark, self.towards).items():
            scale = self.towards[name].to(own.device) / self.adam.spread(name, own[0])
            scale /= 1 - one ** (self.adam.step + 1)
            direction[name] = (1 - one) * scale
            rest += one * float((scale * self.adam.first[name].to(scale.device)).sum())
        self.momentum[row] = rest
        return direction
