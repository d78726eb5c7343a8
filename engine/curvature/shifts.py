"""λ + δ on the diagonal of a curvature matrix: one number, or one an entry of θ (P,), where groups of parameters have
weight decays of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.models.network import Network

Shift = float | Tensor


def decay_of(given: float | Mapping[str, float], names: Sequence[str]) -> float | dict[str, float]:
    """λ of the parameters `names`, one number or by name, 0 for one that is not given: one number where all are equal.
    Raises `InvalidInput` for one that is negative or not finite."""
    own = [given.get(name, 0.0) for name in names] if isinstance(given, Mapping) else [float(given)]
    for value in own:
        if not 0 <= value < float("inf"):
            raise InvalidInput(f"l2 is {value}; give zero or a positive number, such as 1e-4.")
    return own[0] if len(set(own)) == 1 else dict(zip(names, own, strict=True))


def each_entry(decay: float | Mapping[str, float], network: Network) -> Shift:
    """λ of the parameters by name -> that of every entry of θ, (P,); one number of all stays one number."""
    if isinstance(decay, float):
        return decay
    zeros = network.unflatten(network.theta.new_zeros(network.size))
    return network.flatten({name: own + decay[name] for name, own in zeros.items()})


def smallest(shift: Shift) -> float:
    """Over all entries."""
    return shift if isinstance(shift, float) else shift.min().item()


def mean_over(shift: Shift, *parts: slice) -> float:
    """Over the entries of θ in `parts`, for a layer whose factors take one number."""
    return shift if isinstance(shift, float) else (
        sum(shift[part].sum().item() for part in parts) / sum(part.stop - part.start for part in parts))


def times(shift: Shift, vectors: Tensor) -> Tensor:
    """diag(λ + δ) V for V (P,) or (P, b)."""
    if isinstance(shift, Tensor) and 0 < shift.ndim < vectors.ndim:
        shift = shift[:, None]
    return shift * vectors
