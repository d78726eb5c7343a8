r"""Many trainings at once, which differ in the weights and labels of their examples: one program over stacked weights.

Model j makes the steps of `engine.models.training` on

    (1/N_jM) Σ_{i ∈ M} w_ji ℓ(x_i, y_ji; θ_j) + (λ/2)‖θ_j‖²

from the same initial weights, on the same batches M, at the same rates. An example of weight zero stands in its batch
with a factor of zero instead of being left out of it, which gives the same step to rounding as long as the outputs of a
model for an example depend on that example alone.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from engine.models.altered import Altered
from engine.models.randomness import own_randomness, seed_generators
from engine.models.steps import Step, Steps
from engine.models.training import Training

TOGETHER = 25
"""Models at a time: stacked weights of more leave the caches."""
QUERIES = 512


def stands_alone(module: nn.Module, x: Tensor) -> bool:
    """Whether, while it is trained, outputs for an example depend on that example alone, and nothing but its parameters
    moves: no dropout and no statistics of batches. x (n, …): a few inputs."""
    training, buffers = module.training, {name: value.clone() for name, value in module.named_buffers()}
    try:
        with torch.no_grad(), own_randomness(x.device):
            module.train()
            seed_generators(x.device, 0)
            whole = module(x)
            seed_generators(x.device, 1)
            parts = torch.cat([module(part) for part in x.split(1)])
        moved = any(not torch.equal(value, buffers[name]) for name, value in module.named_buffers())
    except (RuntimeError, ValueError):  # BatchNorm refuses a single example
        return False
    finally:
        with torch.no_grad():
            for name, value in module.named_buffers():
                value.copy_(buffers[name])
        module.train(training)
    return not moved and torch.allclose(whole, parts, rtol=1e-3, atol=1e-3 * whole.abs().max().item())


def convolves(module: nn.Module) -> bool:
    """Whether it has convolutions, which a map over stacked weights turns into grouped ones: on a CPU these are no
    faster than one model after the other."""
    return any(isinstance(part, nn.Conv1d | nn.Conv2d | nn.Conv3d) for part in module.modules())


def outputs_of_many(training: Training, altered: Altered, queries: Tensor, check: Callable[[], None] = lambda: None,
                    progress: Callable[[float], None] = lambda fraction: None, together: int | None = None) -> Tensor:
    """f(q) (J, m, C) at the end of every training, in the precision of the training; not finite where one diverged.

    The module must be one that `stands_alone`. training: what they have in common; its own weights are not read.
    together: models at a time, by default TOGETHER.
    """
    steps = Steps(training)
    outputs, done = [], 0
    for part in altered.split(together or TOGETHER):
        run = _Together(steps, part)
        with own_randomness(training.device):
            for number, step in enumerate(steps.all):
                check()
                run.advance(step)
                if (number + 1) % training.per_epoch == 0:
                    progress((done + len(part) * (number + 1) / len(steps)) / len(altered))
        outputs.append(run.outputs(queries))
        done += len(part)
    return torch.cat(outputs)


class _Together:
    """θ and the optimizer's state of some models, each (J, P), under way."""

    def __init__(self, steps: Steps, altered: Altered) -> None:
        self.steps, self.altered = steps, altered
        self.moment = tuple(part.expand(len(altered), -1).clone() for part in steps.beginning)
        self.taken = torch.zeros(len(altered), device=steps.start.device, dtype=torch.int64)

    def advance(self, step: Step) -> None:
        """A step of every model that has a weight in the batch; of the others only where the mean runs over all."""
        steps, altered = self.steps, self.altered
        weights = altered.weights[:, step.rows].to(steps.start)
        gradient = self._gradient(weights, step)
        moves = (weights != 0).any(1) if altered.normalization == "n-1" else torch.ones_like(weights[:, 0]).bool()
        self.taken += moves.to(self.taken)

        def one(theta: Tensor, state: tuple[Tensor, ...], own: Tensor, count: Tensor) -> tuple[Tensor, ...]:
            moved, further = steps.rule.step(theta, state, own, step.rate, count)
            return moved, *further

        theta, *state = self.moment
        after = vmap(one)(theta, tuple(state), gradient, self.taken)
        self.moment = after if moves.all() else tuple(
            torch.where(moves[:, None], new, old) for new, old in zip(after, self.moment, strict=True))

    def _gradient(self, weights: Tensor, step: Step) -> Tensor:
        """(J, P), of the loss on a batch; weights (J, b)."""
        steps, training = self.steps, self.steps.training
        values = {name: part.detach().requires_grad_() for name, part in
                  steps.network.unflatten(self.moment[0]).items()}
        labels = training.y if self.altered.labels is None else self.altered.labels
        with torch.enable_grad():
            logits = self._logits(values, steps.inputs(step.rows, step.epoch))  # (J, b, C)
            each = training.loss(logits.flatten(0, 1), labels[..., step.rows].expand(weights.shape).flatten())
            shares = weights / self.altered.denominators(weights)[:, None].to(weights)
            total = (shares.flatten() * each).sum()
            slopes = torch.autograd.grad(total, list(values.values()), materialize_grads=True)
        return steps.network.flatten(dict(zip(values, slopes, strict=True)))

    def _logits(self, values: dict[str, Tensor], x: Tensor) -> Tensor:
        return vmap(lambda own: functional_call(self.steps.network.module, own, (x,)))(values)

    def outputs(self, queries: Tensor) -> Tensor:
        """(J, m, C) in evaluation mode."""
        module, values = self.steps.network.module, self.steps.network.unflatten(self.moment[0])
        module.eval()
        try:
            with torch.no_grad():
                return torch.cat([self._logits(values, part) for part in queries.split(QUERIES)], 1)
        finally:
            module.train()
