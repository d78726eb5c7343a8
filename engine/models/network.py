r"""A torch module as a pure function of the parameters that count: f_θ(x), θ one flat vector.

The module runs in evaluation mode: dropout is off and BatchNorm uses its stored statistics, so that an
example's logits depend on that example alone and per-example gradients exist. The statistics are part of the
factual model and are not moved by any intervention; a model that is trained anew computes its own.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import cast

import regex
import torch
from torch import Tensor, nn
from torch.func import functional_call

from engine.basics.errors import InvalidInput
from engine.basics.patterns import MOST_SECONDS, fits
from engine.models import layers
from engine.models.readout import readout
from engine.models.wrapped import copied, in_precision

ALL, LAST_BLOCK, LAST_LAYER = "all", "last_block", "last_layer"


class Network:
    """f_θ with the P selected parameters as θ; all others, and all buffers, stay as they are.

    parameters: `all` (that the module does not freeze, unless it freezes all), `last_block` (the head and the block
    before it: of a residual network the last residual block), `last_layer` (the last module with parameters of its
    own), both by the order in which the module registers its parts, patterns over names, as a list or as
    `engine.models.layers` spells them, or a regular expression that is searched for in the parameters' names. The
    module is copied, so that the user's own is left alone, unless it belongs to a network that it is `sharing`
    everything with. lock: to be held by whoever shares the network with other
    threads, because calls with other parameters change the module for a moment.

    Raises `InvalidInput` where nothing is selected or the expression is not one, and as `copied` does.
    """

    def __init__(self, module: nn.Module, parameters: str | Sequence[str] = ALL, *, device: torch.device | str = "cpu",
                 dtype: torch.dtype = torch.float32, sharing: Network | None = None) -> None:
        own = module if sharing else copied(module)
        self.selection = unfrozen(own, layers.spelled(parameters))
        self.module = in_precision(own.to(device=device), dtype).eval().requires_grad_(False)
        self.device, self.dtype = torch.device(device), dtype
        self.lock: AbstractContextManager = sharing.lock if sharing else threading.RLock()
        self._readout: str | None = None
        self.names = selected(self.module, self.selection)
        named = dict(self.module.named_parameters())
        self.shapes = {name: tuple(named[name].shape) for name in self.names}
        self.slices = _slices({name: named[name].numel() for name in self.names})
        self.theta = self.flatten({name: named[name] for name in self.names})

    @property
    def size(self) -> int:
        """P, the number of differentiated parameters."""
        return len(self.theta)

    def read_by(self, module: nn.Module) -> Network:
        """The same parameters, not copied, as another module that is made of this network's own parts reads them."""
        return Network(module, self.selection, device=self.device, dtype=self.dtype, sharing=self)

    def moved(self, theta: Tensor) -> Network:
        """A copy whose selected parameters are θ (P,), in evaluation mode."""
        network = Network(self.module, self.selection, device=theta.device, dtype=theta.dtype)
        with torch.no_grad():
            for name, value in network.unflatten(theta).items():
                network.module.get_parameter(name).copy_(value)
        network.theta = theta.clone()
        return network

    def inputs(self, x: Tensor) -> Tensor:
        """x as the network takes it: on its device, in its precision, and whole numbers as they are."""
        return x.to(device=self.device, dtype=self.dtype if x.is_floating_point() else x.dtype)

    def flatten(self, values: Mapping[str, Tensor]) -> Tensor:
        """One tensor a selected name -> (P,); with a leading batch dimension (b, …) -> (b, P)."""
        batch = values[self.names[0]].ndim - len(self.shapes[self.names[0]])
        return torch.cat([values[name].reshape(*values[name].shape[:batch], -1) for name in self.names], -1)

    def unflatten(self, theta: Tensor) -> dict[str, Tensor]:
        """(…, P) -> one tensor (…, *shape) a selected name."""
        return {name: theta[..., self.slices[name]].reshape((*theta.shape[:-1], *self.shapes[name]))
                for name in self.names}

    def logits(self, x: Tensor, theta: Tensor | None = None) -> Tensor:
        """f_θ(x): x (b, …) -> (b, C); θ (P,) is the factual one where it is left out. Differentiable in θ."""
        return self.module(x) if theta is None else self.at(x, self.unflatten(theta))

    def at(self, x: Tensor, values: Mapping[str, Tensor]) -> Tensor:
        """f(x) with the selected parameters at `values`, one tensor a name."""
        return functional_call(self.module, dict(values), (x,))

    def predict(self, x: Tensor, theta: Tensor | None = None, batch: int = 512) -> Tensor:
        """The logits of many examples, without gradients, a batch at a time."""
        with torch.no_grad():
            return torch.cat([self.logits(part, theta) for part in x.split(batch)])

    def head(self, x: Tensor) -> nn.Linear:
        """The linear layer whose output the logits are, as a forward pass of x (b, …) shows; it is looked for once.

        Raises `InvalidInput` where there is none: see `engine.models.readout`.
        """
        if self._readout is None:
            self._readout = readout(self.module, x[:2])
        return cast(nn.Linear, self.module.get_submodule(self._readout))

    def features(self, x: Tensor, batch: int = 512) -> Tensor:
        """φ(x): the representation (b, F) that the last linear layer reads, with a 1 appended for its bias.

        Raises as `head` does.
        """
        seen: list[Tensor] = []
        layer = self.head(x)
        hook = layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].flatten(1)))
        try:
            self.predict(x, batch=batch)
        finally:
            hook.remove()
        features = torch.cat(seen)
        return features if layer.bias is None else torch.cat([features, features.new_ones(len(features), 1)], 1)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the architecture as printed, the selected names, and every parameter and buffer."""
        digest = hashlib.sha256(f"{self.module}{self.names}{self.dtype}".encode())
        for name, tensor in self.module.state_dict().items():
            digest.update(f"{name}{tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()


def selected(module: nn.Module, which: str) -> tuple[str, ...]:
    """The names of the parameters that `which` selects, in the module's order."""
    names = [name for name, _ in module.named_parameters()]
    if not names:
        raise InvalidInput("The model has no parameters; give one that can be trained.")
    if which in SELECTIONS:
        return SELECTIONS[which](module, names)
    if which.startswith(layers.PREFIX):
        return layers.chosen(layers.patterns(which), names)
    try:
        end = time.thread_time() + MOST_SECONDS
        matching = tuple(name for name in names if fits(which, name, "names of parameters", end - time.thread_time()))
    except regex.error as error:
        raise InvalidInput(f"`{which}` is neither one of {', '.join(SELECTIONS)} nor a regular expression ({error}); "
                           f"names of layers with `*` in them are written as `{layers.PREFIX}blocks.*,head`.") from None
    if not matching:
        raise InvalidInput(f"No parameter's name matches `{which}`; the names are {_listed(names)}.")
    return matching


def unfrozen(module: nn.Module, selection: str) -> str:
    """`all` as the parameters that the module does not freeze; a module that freezes all has them all read."""
    free = {parameter.requires_grad for parameter in module.parameters()}
    return free_names(module) if selection == ALL and free == {True, False} else selection


def free_names(module: nn.Module) -> str:
    """The parameters that require gradients, as a selection; `all` where none is frozen. Raises `InvalidInput` where
    all are."""
    named = dict(module.named_parameters())
    free = [name for name, parameter in named.items() if parameter.requires_grad]
    if not free:
        raise InvalidInput("No parameter of the model requires a gradient; set `requires_grad` for those to "
                           "differentiate, or name them by `parameters`.")
    return ALL if len(free) == len(named) else exactly(free)


def exactly(names: Sequence[str]) -> str:
    """The parameters of these names, as a selection."""
    return "|".join(f"^{re.escape(name)}$" for name in names)


def _last_block(module: nn.Module, names: list[str]) -> tuple[str, ...]:
    prefix = ""
    while len(children := _trainable_children(module)) == 1:
        name, module = children[0]
        prefix += f"{name}."
    if not children:
        return tuple(names)
    (body, block), (head, _) = children[-2:]
    if isinstance(block, nn.Sequential) and (blocks := _trainable_children(block)):
        body = f"{body}.{blocks[-1][0]}"
    return tuple(name for name in names if name.startswith((f"{prefix}{body}.", f"{prefix}{head}.")))


def _trainable_children(module: nn.Module) -> list[tuple[str, nn.Module]]:
    return [(name, child) for name, child in module.named_children() if next(child.parameters(), None) is not None]


def _last_layer(module: nn.Module, names: list[str]) -> tuple[str, ...]:
    prefix = names[-1].rpartition(".")[0]
    return tuple(name for name in names if name.rpartition(".")[0] == prefix)


SELECTIONS: dict[str, Callable[[nn.Module, list[str]], tuple[str, ...]]] = {
    ALL: lambda module, names: tuple(names),
    LAST_BLOCK: _last_block,
    LAST_LAYER: _last_layer,
}


def _listed(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 8 else f"{', '.join(names[:8])} and {len(names) - 8} more"


def _slices(sizes: Mapping[str, int]) -> dict[str, slice]:
    slices, start = {}, 0
    for name, size in sizes.items():
        slices[name] = slice(start, start + size)
        start += size
    return slices
