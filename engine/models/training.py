r"""Training from scratch by stochastic gradient descent, so that an intervention changes nothing but itself.

A seed fixes the initial weights, the order of the batches and the masks of dropout, whatever else the process drew
before. Every epoch permutes all n examples and cuts the permutation into batches M; an example of weight zero is
then left out of its batch, so that a model that is trained without it sees all others in the same batches. The
step on a batch is that of

    (1/N_M) Σ_{i ∈ M} w_i ℓ(z_i; θ) + (λ/2)‖θ‖²,     λ the weight decay, over all parameters,

with N_M the number of examples in M that have a weight (the mean over n−1 of a removal) or of all of them (the mean
over n). In expectation over batches it is the objective of `engine.exact.objectives`:

    upweight(α)        w_k = 1 + nα
    remove, over n−1   w_k = 0, normalization "n-1"
    remove, over n     w_k = 0, normalization "n"
    relabel(y')        another label in y
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import Field, model_serializer, model_validator
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from engine.basics.errors import InvalidInput
from engine.basics.values import Count, Number, Value, canonical_json
from engine.models.layout import layout_for
from engine.models.pauses import Pauses


class Diverged(InvalidInput):
    """The weights grew beyond all bounds, so that there is no trained model."""


class Recipe(Value):
    """How a model is trained: stochastic gradient descent with momentum (paper, Appendix A-1).

    learning_rate η: constant, or η (1 + cos(π e / epochs)) / 2 in epoch e = 0, 1, … (`cosine`). weight_decay: λ.
    checkpoints: how many states are kept, evenly spaced, each at the end of an epoch and the last one at the end of
    training; 0 for none. precision: `mixed` computes the passes in bfloat16 on a GPU, with weights, loss and steps in
    the precision of the data; on a CPU it changes nothing. The seed is no part of it.
    """

    epochs: Annotated[Count, Field(ge=1, le=100_000)]
    batch_size: Annotated[Count, Field(ge=1, le=1_000_000)]
    learning_rate: Annotated[Number, Field(gt=0, le=100)]
    momentum: Annotated[Number, Field(ge=0, lt=1)] = 0.0
    weight_decay: Annotated[Number, Field(ge=0, le=100)] = 0.0
    schedule: Literal["constant", "cosine"] = "constant"
    checkpoints: Annotated[Count, Field(ge=0, le=1_000)] = 0
    precision: Literal["full", "mixed"] = "full"

    @model_serializer(mode="wrap")
    def _without_full_precision(self, serialize) -> dict:
        """Full precision is not written: recipes keep the digests they had."""
        return {key: value for key, value in serialize(self).items() if (key, value) != ("precision", "full")}

    @model_validator(mode="after")
    def _no_more_checkpoints_than_epochs(self) -> Recipe:
        if self.checkpoints > self.epochs:
            raise InvalidInput(f"{self.checkpoints} checkpoints do not fit into {self.epochs} epochs, at whose ends "
                               "they are kept; ask for fewer.")
        return self

    @property
    def canonical_json(self) -> str:
        """One text for one recipe."""
        return canonical_json(self.model_dump(mode="json"))

    def rate(self, epoch: int) -> float:
        """The learning rate in epoch 0, 1, …."""
        return self.learning_rate * SCHEDULES[self.schedule](epoch / self.epochs)

    @property
    def kept_epochs(self) -> tuple[int, ...]:
        """The epochs at whose ends a checkpoint is kept, ascending."""
        return tuple((self.epochs * (place + 1) + self.checkpoints // 2) // self.checkpoints - 1
                     for place in range(self.checkpoints))


SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda share: 1.0,
    "cosine": lambda share: 0.5 * (1.0 + math.cos(math.pi * share)),
}
"""The factor of the learning rate at a share of the training, in [0, 1)."""

PAPER_RESNET = Recipe(epochs=40, batch_size=128, learning_rate=0.05, momentum=0.9, weight_decay=5e-4, schedule="cosine",
                      checkpoints=4, precision="mixed")
"""The networks of noisy label detection (paper, Table A-3 and Appendix A-2): a checkpoint every ten epochs."""

PAPER_CNN = Recipe(epochs=50, batch_size=128, learning_rate=0.01, momentum=0.9, weight_decay=1e-4)
"""The CNN of the non-convex check (paper, Appendix A-1)."""


@dataclass(frozen=True)
class Trained:
    """What a training run leaves.

    module: on the device, in evaluation mode. checkpoints: (state dict on the CPU, learning rate of the epoch) in the
    order of training. losses: the mean of the batch losses in every epoch, without the penalty.
    """

    module: nn.Module
    checkpoints: tuple[tuple[dict[str, Tensor], float], ...]
    losses: tuple[float, ...]

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """The final parameters and buffers, on the CPU."""
        return _state(self.module)


def train(build: Callable[[], nn.Module], x: Tensor, y: Tensor, recipe: Recipe, seed: int, *,
          weights: Tensor | None = None, normalization: Literal["n-1", "n"] = "n-1",
          loss: Callable[[Tensor, Tensor], Tensor] | None = None, device: torch.device | str = "cpu",
          check: Callable[[], None] = lambda: None, progress: Callable[[float], None] = lambda share: None,
          pause: Path | None = None) -> Trained:
    """Train a fresh module by `recipe`; the same seed gives the same weights on the same machine.

    build: () -> module with fresh weights, drawn from torch's own generator. x (n, …) in the precision to train in,
    y (n,), weights (n,): w_i (default: ones). loss: (logits (b, C), labels (b,)) -> (b,), by default cross-entropy.
    check: called before every batch; raises to cancel. progress: called with the share done after every epoch.
    pause: a file in which a long training is kept now and then, and from which it goes on as if it had never
    stopped; it is removed at the end. It must belong to this very training: name it by a digest.
    On CUDA, kernels that add in varying order may make two runs differ by rounding.

    Raises `Diverged` where a loss is not finite, `InvalidInput` where the module does not take the batches or has
    fewer outputs than there are classes.
    """
    device = torch.device(device)
    x, y = x.to(device), y.to(device)
    w = None if weights is None else weights.to(device=device, dtype=x.dtype)
    loss = loss or _cross_entropy
    losses, kept = [], []
    with _own_randomness(device), torch.enable_grad():
        _seed(device, seed)
        module = build().to(device=device, dtype=x.dtype).train().requires_grad_(True)
        _check_outputs(module, x, y)
        layout = layout_for(module, x)
        order = torch.Generator().manual_seed(seed)
        optimizer = torch.optim.SGD(module.parameters(), lr=recipe.learning_rate, momentum=recipe.momentum,
                                    weight_decay=recipe.weight_decay)
        pauses = Pauses(pause, module, optimizer)
        begun = pauses.resume(losses, kept, recipe)
        for epoch in range(recipe.epochs):
            optimizer.param_groups[0]["lr"] = recipe.rate(epoch)
            batches = torch.randperm(len(y), generator=order).to(device).split(recipe.batch_size)
            if epoch < begun:
                continue
            total = torch.zeros((), device=device, dtype=torch.float64)
            for number, batch in enumerate(batches):
                check()
                _seed(device, (seed * 1_000_003 + epoch) * 1_000_003 + number)
                total += _step(module, optimizer, loss, layout, x, y, w, batch, normalization,
                               mixed=recipe.precision == "mixed")
            losses.append(_finite(total.item() / len(batches), epoch, recipe))
            if epoch in recipe.kept_epochs:
                kept.append((_state(module), recipe.rate(epoch)))
            pauses.keep(epoch + 1, losses, kept)
            progress((epoch + 1) / recipe.epochs)
        pauses.forget()
    return Trained(module.eval().requires_grad_(False), tuple(kept), tuple(losses))


def _step(module: nn.Module, optimizer: torch.optim.Optimizer, loss, layout, x: Tensor, y: Tensor,
          weights: Tensor | None, batch: Tensor, normalization: str, mixed: bool = False) -> Tensor | float:
    """One step on the batch; the value of its loss before it."""
    rows = batch if weights is None else batch[weights[batch] != 0]
    if not len(rows):
        return _empty_step(module, optimizer, normalization)
    with torch.autocast(x.device.type, torch.bfloat16, enabled=mixed and x.device.type == "cuda"):
        logits = _logits(module, layout(x[rows]))
    each = loss(logits.to(x.dtype), y[rows])
    if weights is not None:
        each = each * weights[rows]
    value = each.sum() / len(batch if normalization == "n" else rows)
    optimizer.zero_grad(set_to_none=True)
    value.backward()
    optimizer.step()
    return value.detach()


def _empty_step(module: nn.Module, optimizer: torch.optim.Optimizer, normalization: str) -> float:
    """All of a batch was removed: no batch at all where the mean is over what is left, a loss of zero else."""
    if normalization == "n":
        for parameter in module.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
    return 0.0


def _logits(module: nn.Module, x: Tensor) -> Tensor:
    try:
        return module(x)
    except (RuntimeError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:160]
        raise InvalidInput(f"The model cannot be trained on a batch of shape {tuple(x.shape)} ({reason}); use another "
                           "batch size or another model.") from None


def _check_outputs(module: nn.Module, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        shape, top = tuple(_logits(module.eval(), x[:2]).shape), int(y.max())
    module.train()
    if len(shape) != 2 or shape[1] <= top:
        raise InvalidInput(f"The model returns shape {shape} for {len(x[:2])} inputs, but the labels go up to {top}; "
                           f"let it return the logits of at least {top + 1} classes.")


def _finite(value: float, epoch: int, recipe: Recipe) -> float:
    if not math.isfinite(value):
        raise Diverged(f"Training diverged in epoch {epoch + 1}; choose a learning rate below {recipe.learning_rate}.")
    return value


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(logits, labels, reduction="none")


def _state(module: nn.Module) -> dict[str, Tensor]:
    return {key: value.detach().to("cpu", copy=True) for key, value in module.state_dict().items()}


@contextmanager
def _own_randomness(device: torch.device) -> Iterator[None]:
    """torch's generators and settings are as before afterwards; within, convolutions are computed alike every time."""
    cuda = device.type == "cuda"
    index = device.index if device.index is not None or not cuda else torch.cuda.current_device()
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    with torch.random.fork_rng([index] if cuda else []):
        cudnn.deterministic, cudnn.benchmark = True, False
        try:
            yield
        finally:
            cudnn.deterministic, cudnn.benchmark = before


def _seed(device: torch.device, seed: int) -> None:
    """Seed the generators that initialisation and dropout draw from."""
    seed %= 2**63
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)
