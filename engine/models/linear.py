"""Softmax regression as a network, so that it is trained and scored as all others are."""

from __future__ import annotations

from collections import OrderedDict
from math import prod

from torch import nn


def linear(shape: tuple[int, ...], classes: int) -> nn.Sequential:
    """Softmax regression by stochastic gradient descent: (b, *shape) -> (b, classes)."""
    return nn.Sequential(OrderedDict(flatten=nn.Flatten(), head=nn.Linear(prod(shape), classes)))
