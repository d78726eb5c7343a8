"""A multilayer perceptron with one hidden layer, for inputs of any shape."""

from __future__ import annotations

from collections import OrderedDict
from math import prod

from torch import nn

HIDDEN = 128


def mlp(shape: tuple[int, ...], classes: int) -> nn.Sequential:
    """One hidden layer of 128 ReLU units: (b, *shape) -> (b, classes)."""
    return nn.Sequential(OrderedDict(
        flatten=nn.Flatten(),
        hidden=nn.Linear(prod(shape), HIDDEN), relu=nn.ReLU(),
        head=nn.Linear(HIDDEN, classes),
    ))
