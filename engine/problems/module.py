r"""The problem of any differentiable classifier: a torch module with its data, loss and selected parameters.

The factual objective is L_D(θ) = (1/n) Σ_i ℓ(z_i; θ) + (λ/2)‖θ‖² over the selected parameters θ, with everything
else in the module frozen. Nothing assumes that θ_D is a stationary point of it: the norm of ∇L_D(θ_D) is part of
every manifest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.basics.fingerprint import fingerprint
from engine.models.losses import Loss, per_example_cross_entropy
from engine.models.network import ALL, Network
from engine.problems.problem import Problem, pick_device

DTYPES = {"float32": torch.float32, "float64": torch.float64}
BATCH = 512


@dataclass(frozen=True)
class Checkpoint:
    """A point of the training run: the selected parameters θ_t (P,) and the learning rate there."""

    theta: Tensor
    learning_rate: float


class ModuleProblem(Problem):
    """A module that maps inputs (b, …) to class logits (b, C), in evaluation mode, on one device.

    x_train (n, …) float, y_train (n,), x_query (m, …), y_query (m,), candidates (k,) indices into the training
    set (default: all n). parameters: which parameters count, as `engine.models.network.Network` reads it. loss:
    (logits (b, C), labels (b,)) -> (b,), per example. l2: λ. checkpoints: of the training run, in its order, for
    `trajectory`. recipe, build () -> untrained module, and seed: how it was trained, for `retrain`; see
    `engine.models.training`.

    Raises `InvalidInput` for a device that is not there, no selected parameters, shapes that do not match, more
    labels than classes, or logits or losses that are not finite.
    """

    kind, noun = "module", "a neural network"
    live_seconds, live_device = 2.0, "auto"

    def __init__(self, module: nn.Module, x_train, y_train, x_query, y_query, candidates=None, *,
                 parameters: str = ALL, loss: Loss = per_example_cross_entropy, l2: float = 0.0,
                 checkpoints: Sequence[Checkpoint] = (), recipe=None, build=None, seed: int = 0,
                 device: str = "cpu", dtype: str = "float32") -> None:
        if not 0 <= l2 < float("inf"):
            raise InvalidInput(f"l2 is {l2}; give zero or a positive number, such as 1e-4.")
        if dtype not in DTYPES:
            raise InvalidInput(f"The precision `{dtype}` is not known; use {' or '.join(DTYPES)}.")
        self.device = pick_device(device)
        self.network = Network(module, parameters, device=self.device, dtype=DTYPES[dtype])
        self.l2, self.loss = float(l2), loss
        self.recipe, self.build, self.seed = recipe, build, seed
        self.checkpoints = tuple(checkpoints)
        self.y, self.query_labels = self._labels(y_train), self._labels(y_query)
        self.x, self.queries = self._inputs(x_train), self._inputs(x_query)
        self._check_shapes()
        self.candidates = self._labels(range(len(self.y)) if candidates is None else candidates)

    def keep_checkpoints(self, states: Sequence[tuple[Mapping[str, Tensor], float]]) -> None:
        """Set the training run's checkpoints from state dicts and learning rates, in the order of training.

        Only the selected parameters are taken: everything else stays as in the factual model.
        """
        names = self.network.names
        self.checkpoints = tuple(
            Checkpoint(self.network.flatten({name: state[name] for name in names}).to(self.theta), rate)
            for state, rate in states)

    def with_labels(self, rows: Tensor, label: int) -> ModuleProblem:
        """The same model on training data in which `rows` carry `label`; only for what is computed of those rows."""
        other = object.__new__(ModuleProblem)
        other.__dict__.update(self.__dict__)
        other.y = self.y.clone()
        other.y[rows] = label
        for kept in ("fingerprint", "factual", "_memory"):
            other.__dict__.pop(kept, None)
        return other

    def double(self) -> ModuleProblem:
        """The same problem in float64."""
        if self.network.dtype == torch.float64:
            return self
        return ModuleProblem(self.network.module, self.x, self.y, self.queries, self.query_labels, self.candidates,
                             parameters=self.network.selection, loss=self.loss, l2=self.l2, recipe=self.recipe,
                             build=self.build, seed=self.seed, device=str(self.device), dtype="float64")

    def _inputs(self, x) -> Tensor:
        x = x if isinstance(x, Tensor) else torch.as_tensor(np.asarray(x))
        return x.to(device=self.device, dtype=self.network.dtype)

    def _check_shapes(self) -> None:
        for x, y, name in ((self.x, self.y, "training"), (self.queries, self.query_labels, "query")):
            if len(x) != len(y) or len(y) == 0:
                raise InvalidInput(f"There are {len(x):,} {name} inputs and {len(y):,} {name} labels; give one label "
                                   "an input, and at least one.")
        try:
            logits = self.network.predict(self.queries[:2])
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            reason = " ".join(str(error).split())[:160]
            raise InvalidInput(f"The model does not take inputs of shape {tuple(self.queries.shape[1:])}: {reason}"
                               ) from None
        if logits.ndim != 2:
            raise InvalidInput(f"The model returns shape {tuple(logits.shape)} for two inputs; let it return class "
                               "logits, (2, C).")
        self.classes = logits.shape[1]
        top = int(max(self.y.max(), self.query_labels.max()))
        if top >= self.classes or int(min(self.y.min(), self.query_labels.min())) < 0:
            raise InvalidInput(f"The labels go up to {top}, but the model has {self.classes} classes; use a model with "
                               f"at least {top + 1} outputs, and number the classes from 0.")

    @property
    def parameters(self) -> int:
        """P, the number of parameters that count."""
        return self.network.size

    @property
    def theta(self) -> Tensor:
        """θ_D, shape (P,)."""
        return self.network.theta

    @cached_property
    def query_logits(self) -> Tensor:
        """f(q; θ_D), shape (m, C)."""
        logits = self.network.predict(self.queries, batch=BATCH)
        if not logits.isfinite().all():
            raise InvalidInput("The model returns logits that are not finite for some queries; check its weights and "
                               "the scale of the inputs.")
        return logits

    @property
    def gradient_bytes(self) -> int:
        return self.parameters * self.theta.element_size()

    @property
    def exclusive(self) -> AbstractContextManager:
        return self.network.lock

    @cached_property
    def probabilities(self) -> Tensor:
        """softmax f(x_i; θ_D) of all training examples, shape (n, C)."""
        with self.exclusive:
            return self.network.predict(self.x, batch=BATCH).softmax(-1)

    def training_signal(self, rows: Tensor, theta: Tensor | None = None) -> Tensor:
        """s_ℓ(z_k) = ∂ℓ/∂f at the logits of `rows` (b,): shape (b, C)."""
        return self.loss_signal(self.network.predict(self.x[rows], theta, BATCH), self.y[rows])

    def loss_signal(self, logits: Tensor, labels: Tensor) -> Tensor:
        """∂ℓ/∂f (b, C) at given logits (b, C) and labels (b,)."""
        leaf = logits.detach().requires_grad_(True)
        with torch.enable_grad():
            return torch.autograd.grad(self.loss(leaf, labels).sum(), leaf)[0]

    @cached_property
    def factual(self) -> tuple[float, Tensor]:
        """(L_D(θ_D), ∇L_D(θ_D) (P,)), in one pass over the training data."""
        network, value, gradient = self.network, 0.0, torch.zeros_like(self.theta)
        # a leaf a parameter: through one flat vector, each of many tensors would pass a gradient of size P back
        leaves = {name: part.clone().requires_grad_(True) for name, part in network.unflatten(self.theta).items()}
        for rows in torch.arange(self.n, device=self.device).split(BATCH):
            part = self.loss(network.at(self.x[rows], leaves), self.y[rows]).sum() / self.n
            slopes = torch.autograd.grad(part, list(leaves.values()), materialize_grads=True)
            gradient += network.flatten(dict(zip(leaves, slopes, strict=True)))
            value += part.item()
        if not np.isfinite(value):
            raise InvalidInput("The training loss is not finite; check the model's weights, the inputs and the loss.")
        penalty = 0.5 * self.l2 * self.theta.double().square().sum().item()
        return value + penalty, gradient + self.l2 * self.theta

    @property
    def sizes(self) -> dict[str, int]:
        return {"parameters": self.parameters, "classes": self.classes}

    @property
    def facts(self) -> dict[str, float | str]:
        loss, gradient = self.factual
        return {"l2": self.l2, "selection": self.network.selection, "precision": str(self.network.dtype)[6:],
                "factual_loss": loss, "factual_gradient_norm": gradient.double().norm().item(),
                "model": self.network.fingerprint}

    @property
    def described(self) -> str:
        recipe = "" if self.recipe is None else self.recipe.canonical_json
        return f"module:{self.network.fingerprint}:{self.l2!r}:{fingerprint(self.loss)}:{recipe}"

    def accuracy(self, x=None, y=None) -> float:
        """The share classified correctly: of the queries, or of (x, y) given as arrays."""
        logits = self.query_logits if x is None else self.network.predict(self._inputs(x), batch=BATCH)
        labels = self.query_labels if y is None else self._labels(y)
        return (logits.argmax(-1) == labels).double().mean().item()
