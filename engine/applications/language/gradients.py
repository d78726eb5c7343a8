r"""Gradients of adapters for each record, from the inputs and output gradients of their layers.

With a = A x and b = B a at every token t, and g = ∂/∂a, h = ∂/∂b of a record's scalar,

    ∂/∂A = Σ_t g_t x_tᵀ   (r, in),        ∂/∂B = Σ_t h_t a_tᵀ   (out, r).

Records of a batch do not touch each other, so one backward pass of their sum gives g and h of them all. All weights
stay frozen during it: no gradient of a frozen weight exists at any time, and those of the adapters exist for one layer
at a time, handed on as soon as backward reaches it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.gradients import taps
from engine.models.causal import lora, passes
from engine.models.causal.encoding import Batch
from engine.models.causal.padding import Padding
from engine.models.precision import at_least_single

Receiver = Callable[[str, Tensor], None]
"""Called with a parameter's name and its gradients (b, …), float32, or float64 of such a model."""


class Tap:
    """Hands the gradients of a model's adapters to `receiver` while a scalar of the batch is differentiated; of a layer
    that a pass calls several times their sum, at its end. names: of which parameters (default: all)."""

    def __init__(self, model, names: Collection[str] | None = None) -> None:
        self.model, self.names = model, names
        self.calls: Counter[str] = Counter()
        self.sums: dict[str, Tensor] = {}
        self.receiver: Receiver | None = None
        self.padding = Padding((), torch.device("cpu"))
        self.shape = torch.Size((0, 0))

    def arrived(self, name: str, x: Tensor, g: Tensor) -> None:
        """The inputs (b, T, in) and output gradients (b, T, out) of an adapter's call, or (1, N, …) of the tokens of
        all records one after another; (b·T, …) of a model that flattens them, (b, 1, T, …) of one that has heads apart.

        Raises `InvalidInput` for a layer whose tokens are not those of its records.
        """
        if self.names is not None and name not in self.names:
            return
        if x.dim() == 2 and len(x) == self.shape.numel():
            x, g = x.unflatten(0, self.shape), g.unflatten(0, self.shape)
        apart = len(x) == self.shape[0] and x.shape[:-1].numel() == self.shape.numel() or x.shape[:2] == (1, 1)
        if x.dim() > 3 and apart:
            x, g = x.flatten(1, -2), g.flatten(1, -2)
        if x.dim() != 3:
            raise InvalidInput(f"The layer `{name}` mixes tokens of different records, as experts do; adapt only "
                               "layers that do not, with `targets` such as `q_proj,v_proj`.")
        if self.receiver is None:
            return
        if len(x) == len(self.padding.lengths):
            own = torch.bmm(at_least_single(g).transpose(1, 2), at_least_single(x))
        else:
            own = products(x[0], g[0], self.padding, together=x.device.type != "cpu")
        if self.calls[name.rpartition(".")[0]] > 1:
            self.sums[name] = own if name not in self.sums else self.sums[name] + own
        else:
            self.receiver(name, own)

    def called(self, name: str, *_: object) -> None:
        """A layer is called in the forward pass."""
        self.calls[name] += 1

    def end(self) -> None:
        """The backward pass is over: hand on the sums."""
        for name, own in self.sums.items():
            if self.receiver is not None:
                self.receiver(name, own)
        self.sums = {}


def products(before: Tensor, after: Tensor, padding: Padding, *, together: bool) -> Tensor:
    """Σ_t after_t before_tᵀ of every record, (b, out, in), of (N, in) and (N, out) of all their tokens.

    together: in one product of padded records, which a GPU is faster at, and not one by one.
    """
    if together:
        wide = (padding.padded(at_least_single(one)) for one in (after, before))
        return torch.bmm(next(wide).transpose(1, 2), next(wide))
    own = zip(after.split(padding.lengths), before.split(padding.lengths), strict=True)
    return torch.stack([at_least_single(one).T @ at_least_single(other) for one, other in own])


@contextmanager
def tapped(model, names: Collection[str] | None = None) -> Iterator[Tap]:
    """The model with frozen weights, gradients running along activations only, and a `Tap` on its adapters."""
    from engine.models.causal import adapted  # PEFT takes seconds to import

    tap, parameters = Tap(model, names), list(model.parameters())
    states = [parameter.requires_grad for parameter in parameters]
    training = model.training
    model.eval()
    for parameter in parameters:
        parameter.requires_grad_(False)
    try:
        layers = [(layer.name, model.get_submodule(layer.name)) for layer in lora.layers(model)]
        with (taps.tapped([("embeddings", model.get_input_embeddings())], _needs_gradient),
              taps.tapped(layers, tap.called), taps.streamed(lora.adapters(model), tap.arrived),
              adapted.streamed(model, tap.arrived)):
            yield tap
    finally:
        for parameter, state in zip(parameters, states, strict=True):
            parameter.requires_grad_(state)
        model.train(training)


def _needs_gradient(_key, _module, _inputs: Tensor, output: Tensor) -> Tensor:
    return output.requires_grad_().clone()  # which a model may scale in place


def record_gradients(tap: Tap, batch: Batch, readers, receivers) -> Tensor:
    """Differentiate several scalars of every record of a batch; the forward pass is shared.

    readers: functions (logits, batch) -> (b,). receivers: one for each, given the gradients layer by layer.
    Returns the values, (b, len(readers)).
    """
    tap.padding, tap.shape = Padding(batch.mask.sum(1).tolist(), batch.mask.device), batch.mask.shape
    tap.calls.clear()
    values = _read(tap.model, batch, readers)
    for index, (value, receiver) in enumerate(zip(values, receivers, strict=True)):
        tap.receiver = receiver
        value.sum().backward(retain_graph=index + 1 < len(values))
        tap.end()
    tap.receiver = None
    return torch.stack([value.detach() for value in values], 1)


def _read(model, batch: Batch, readers) -> list[Tensor]:
    """What every reader says of the batch; the logits are given up, of which slopes need no more than readers keep."""
    logits, _ = passes.forward(model, batch)
    return [reader(logits, batch) for reader in readers]
