r"""Training from scratch by a recipe, so that an intervention changes nothing but itself.

A seed fixes the initial weights, the order of the batches, the augmentation and the masks of dropout, whatever else the
process drew before. Every epoch permutes all n examples and cuts the permutation into batches M; an example of weight
zero is then left out of its batch, so that a model that is trained without it sees all others in the same batches. The
step on a batch is that of the recipe's optimizer on

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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.basics.noted import note
from engine.models.double import keep_double
from engine.models.losses import Loss, per_example_cross_entropy
from engine.models.pauses import Keeping, Pauses, Reached, State
from engine.models.precision import PassPrecision, passes_of
from engine.models.randomness import own_randomness, seed_generators
from engine.models.recipe import MicroBatch, TrainingRecipe

Normalization = Literal["n-1", "n"]


class Diverged(InvalidInput):
    """The weights grew beyond all bounds, so that there is no trained model."""


@dataclass(frozen=True)
class Trained:
    """What a training run leaves.

    module: on the device, in evaluation mode. checkpoints: (state dict on the CPU, with the optimizer's moments where
    the recipe keeps them, and the learning rate that it stands for) in the order of training. losses: the mean of the
    batch losses in every epoch, without the penalty. names: of all but the parameters that were frozen, which no state
    holds. passes: in which precision they ran, in words.
    """

    module: nn.Module
    checkpoints: tuple[tuple[State, float], ...]
    losses: tuple[float, ...]
    names: frozenset[str]
    passes: str

    @property
    def state_dict(self) -> State:
        """The final parameters and buffers, on the CPU, without what was frozen."""
        return _state(self.module, self.names)


@dataclass(frozen=True, eq=False)
class Training:
    """All that decides the weights of a training, so that it can be replayed: its start, its batches and their losses.

    build: () -> module with fresh weights, drawn from torch's own generator. x (n, …) in the precision to train in, or
    whole numbers; y (n,), weights (n,) or None for ones: on one device. loss: (logits (b, C), labels (b,)) -> (b,).
    dtype: the precision to train in (default: that of x). placed: whether `build` gives a module that is where it is to
    be trained, in the precision that it has; its outputs are not checked. exact: whether what it leads to is subtracted
    from what another training leads to, which keeps bfloat16 out of it on a CPU.
    """

    build: Callable[[], nn.Module]
    x: Tensor
    y: Tensor
    recipe: TrainingRecipe
    seed: int
    weights: Tensor | None = None
    normalization: Normalization = "n-1"
    loss: Loss = per_example_cross_entropy
    dtype: torch.dtype | None = None
    placed: bool = False
    exact: bool = False

    @property
    def precision(self) -> torch.dtype:
        """What the parameters are while they are trained."""
        return self.dtype or self.x.dtype

    @property
    def per_epoch(self) -> int:
        """Batches an epoch."""
        return self.recipe.per_epoch(len(self.y))

    @property
    def updates(self) -> int:
        """Steps from its start to its end."""
        return self.recipe.epochs * self.per_epoch

    @property
    def device(self) -> torch.device:
        return self.x.device

    def start(self) -> nn.Module:
        """A fresh module with the initial weights of the seed, in training mode; reseeds torch's own generators.

        Raises `InvalidInput` where it does not take the batches or has fewer outputs than there are classes.
        """
        seed_generators(self.device, self.seed)
        built = self.build()
        module = (built if self.placed else built.to(device=self.device, dtype=self.precision)).train()
        self.recipe.free(module)
        if self.precision == torch.float64:
            keep_double(module.eval(), self.x[:2])
            module.train()
        if not self.placed:
            _check_outputs(module, self.x, int(self.y.max()) if self.loss is per_example_cross_entropy else 0)
        return module

    def verify(self, check: Callable[[], None] = lambda: None) -> None:
        """Raises `InvalidInput` where its recipe knows where it ends, and it ends elsewhere; see
        `TrainingRecipe.verify`."""
        if self.recipe.knows_its_end:
            self.recipe.verify(replay(self, check=check).module, self, check)

    def passes(self, module: nn.Module) -> PassPrecision:
        """In which precision passes through the module run."""
        return passes_of(module, self.device, self.precision, mixed=self.recipe.mixed, exact=self.exact)

    def batches(self) -> Iterator[tuple[Tensor, ...]]:
        """The rows of every batch, one tuple an epoch; neither weights nor labels change them."""
        for batches in self.recipe.batches(len(self.y), self.seed):
            yield tuple(rows.to(self.device) for rows in batches)

    def micro_batches(self, batch: Tensor, epoch: int, number: int) -> tuple[MicroBatch, ...]:
        """How the rows (b,) of batch 0, 1, … of an epoch go through the model."""
        return self.recipe.micro_batches(batch, self.seed, epoch, number)

    def inputs(self, rows: Tensor, epoch: int) -> Tensor:
        """x (b, …) of rows (b,) as epoch 0, 1, … reads them."""
        return self.recipe.inputs(self.x, rows, self.seed, epoch)

    def batch_loss(self, predict: Callable[[Tensor], Tensor], batch: Tensor, epoch: int) -> Tensor | None:
        """(1/N_M) Σ w_i ℓ(z_i; θ) in an epoch, for the rows M (b,) and predict: inputs -> logits; None where no row has
        a weight."""
        rows = self._weighed(batch)
        if not len(rows):
            return None
        each = self.loss(predict(self.inputs(rows, epoch)).to(self.precision), self.y[rows])
        if self.weights is not None:
            each = each * self.weights[rows]
        return each.sum() / self.counted(batch)

    def counted(self, batch: Tensor) -> int:
        """N_M of rows M (b,)."""
        return len(batch if self.normalization == "n" else self._weighed(batch))

    def weight(self, part: MicroBatch, parts: Sequence[MicroBatch]) -> float:
        """By which the mean loss of a micro-batch is multiplied, among all those of its step."""
        if part.weight is not None:
            return part.weight
        return 1.0 if len(parts) == 1 else self.counted(part.rows) / sum(self.counted(own.rows) for own in parts)

    def _weighed(self, batch: Tensor) -> Tensor:
        return batch if self.weights is None else batch[self.weights[batch] != 0]


class _Run:
    """A training under way: the module with its momentum, and the checkpoints of the epochs that are behind."""

    def __init__(self, training: Training, keeping: Keeping) -> None:
        self.training, recipe = training, training.recipe
        self.module = training.start()
        self.layout, self.passes = recipe.layout(self.module, training.x), training.passes(self.module)
        self.moving = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        self.names = state_names(self.module)
        self.optimizer = recipe.build_optimizer(self.moving)
        self.keeps = dict(zip(recipe.checkpoint_steps(training.per_epoch), recipe.checkpoint_rates(training.per_epoch),
                              strict=True))
        self.losses: list[float] = []
        self.checkpoints: list[tuple[State, float]] = []
        self.keeper = keeping(self.module, self.optimizer)
        self.behind = self.keeper.resume(self.losses, self.checkpoints, tuple(self.keeps.values()), training.per_epoch)
        self.since, self.steps = torch.zeros((), device=training.device, dtype=torch.float64), 0

    def epoch(self, epoch: int, batches: tuple[Tensor, ...], check: Callable[[], None]) -> None:
        """A step on every batch that is not behind; `check` before each."""
        training = self.training
        total = torch.zeros((), device=training.device, dtype=torch.float64)
        for number, batch in enumerate(batches):
            step = epoch * len(batches) + number
            if step < self.behind:
                continue
            check()
            rates = training.recipe.rates_at(step, len(batches))
            for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
                group["lr"] = rate
            value = self._step(training.micro_batches(batch, epoch, number), epoch)
            total += value
            self.since += value
            self.steps += 1
            if step in self.keeps:
                self._reach(step, epoch)
            elif self.keeper.due():
                self.keeper.paused(self._point(step, epoch))
        self.losses.append(_finite(total.item() / len(batches), epoch, training.recipe))
        self.keeper.after(epoch + 1, self.losses, self.checkpoints)

    def _reach(self, step: int, epoch: int) -> None:
        """Keep the checkpoint after a step."""
        point = self._point(step, epoch)
        self.since.zero_()
        self.steps = 0
        if not self.keeper.reached(point):
            self.checkpoints.append((point.state, point.rate))

    def _point(self, step: int, epoch: int) -> Reached:
        recipe = self.training.recipe
        state = _state(self.module, self.names) | recipe.moments(self.optimizer, self.module.named_parameters())
        return Reached(step + 1, self.keeps.get(step, 0.0), _finite(self.since.item() / self.steps, epoch, recipe),
                       self.steps, state)

    def _step(self, parts: Sequence[MicroBatch], epoch: int) -> Tensor | float:
        """One step on a batch; the value of its loss before it."""
        training, total = self.training, list[Tensor]()
        self.optimizer.zero_grad(set_to_none=True)
        for part in parts:
            seed_generators(training.device, part.randomness)
            value = training.batch_loss(self._predict, part.rows, epoch)
            if value is not None:
                weight = training.weight(part, parts)
                weighted = value if weight == 1.0 else weight * value
                weighted.backward()
                total.append(weighted.detach())
        if not total:
            return self._empty_step()
        self.training.recipe.limit(self.moving)
        self.optimizer.step()
        return sum(total[1:], start=total[0])

    def _predict(self, x: Tensor) -> Tensor:
        with self.passes():
            return _logits(self.module, self.layout(x))

    def _empty_step(self) -> float:
        """All of a batch was removed: no batch at all where the mean is over what is left, a loss of zero else."""
        if self.training.normalization == "n":
            for parameter in self.moving:
                parameter.grad = torch.zeros_like(parameter)
            self.optimizer.step()
        return 0.0


def train(build: Callable[[], nn.Module], x: Tensor, y: Tensor, recipe: TrainingRecipe, seed: int, *,
          weights: Tensor | None = None, normalization: Normalization = "n-1", loss: Loss | None = None,
          exact: bool = False, device: torch.device | str = "cpu", dtype: torch.dtype | None = None,
          check: Callable[[], None] = lambda: None, progress: Callable[[float], None] = lambda fraction: None,
          pause: Path | None = None) -> Trained:
    """Train a fresh module by `recipe`; the same seed gives the same weights on the same machine.

    build, x, y, weights, loss, exact and dtype are those of `Training`, on any device. In which precision passes ran is
    noted for the manifest of the run around it.
    check: called before every batch; raises to cancel. progress: called with the fraction done after every epoch.
    pause: a file in which a long training is stored now and then, and from which it goes on as if it had never
    stopped; it is removed at the end. It must belong to this very training: name it by a digest.
    On CUDA, kernels that add in varying order may make two runs differ by rounding.

    Raises `Diverged` where a loss is not finite, `InvalidInput` where the module does not take the batches or has
    fewer outputs than there are classes.
    """
    x, y = x.to(device), y.to(device)
    w = None if weights is None else weights.to(device=device, dtype=dtype or x.dtype)
    trained = replay(Training(build, x, y, recipe, seed, w, normalization, loss or per_example_cross_entropy, dtype,
                              exact=exact), check=check, progress=progress, keeping=partial(Pauses, pause))
    note(trained.passes)
    return trained


def replay(training: Training, *, check: Callable[[], None] = lambda: None,
           progress: Callable[[float], None] = lambda fraction: None,
           keeping: Keeping = partial(Pauses, None)) -> Trained:
    """The training from its start, or from where what `keeping` gives holds it, to its end; see `train`."""
    epochs = training.recipe.epochs
    with own_randomness(training.device), torch.enable_grad():
        run = _Run(training, keeping)
        for epoch, batches in enumerate(training.batches()):
            if (epoch + 1) * training.per_epoch > run.behind:
                run.epoch(epoch, batches, check)
                progress((epoch + 1) / epochs)
        run.keeper.forget()
    return Trained(run.module.eval().requires_grad_(False), tuple(run.checkpoints), tuple(run.losses), run.names,
                   run.passes.description)


def _logits(module: nn.Module, x: Tensor) -> Tensor:
    try:
        return module(x)
    except (RuntimeError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:160]
        raise InvalidInput(f"The model cannot be trained on a batch of shape {tuple(x.shape)} ({reason}); use another "
                           "batch size or another model.") from None


def _check_outputs(module: nn.Module, x: Tensor, top: int) -> None:
    """top: the largest label that the loss takes as a class."""
    with torch.no_grad():
        shape = tuple(_logits(module.eval(), x[:2]).shape)
    module.train()
    if len(shape) != 2 or shape[1] <= top:
        raise InvalidInput(f"The model returns shape {shape} for {len(x[:2])} inputs, but the labels go up to {top}; "
                           f"let it return the logits of at least {top + 1} classes.")


def _finite(value: float, epoch: int, recipe: TrainingRecipe) -> float:
    if not math.isfinite(value):
        raise Diverged(f"Training diverged in epoch {epoch + 1}; choose a learning rate below {recipe.learning_rate}.")
    return value


def state_names(module: nn.Module) -> frozenset[str]:
    """The keys of a module's state without its frozen parameters."""
    frozen = {name for name, parameter in module.named_parameters(remove_duplicate=False)
              if not parameter.requires_grad}
    return frozenset(module.state_dict()) - frozen


def _state(module: nn.Module, names: frozenset[str]) -> State:
    return {key: value.detach().to("cpu", copy=True) for key, value in module.state_dict().items() if key in names}
