"""A module whose outputs for an example are no function of that example is refused, with the layer's name."""

from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.nn import functional

from engine.basics.errors import InvalidInput
from engine.models.alone import check_alone


class Forward(nn.Module):
    """A layer and what a forward pass does with what it returns."""

    def __init__(self, then):
        super().__init__()
        self.layer, self.then = nn.Linear(4, 3), then

    def forward(self, x):
        return self.then(self.layer(x))


class Doubling(nn.Module):
    """An operation in place."""

    def forward(self, x):
        return x.mul_(2)


X = torch.randn(4, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("module, said", [
    (Forward(lambda out: functional.dropout(out, 0.5)), "passes over the same inputs differ .* pass of `Forward` its"),
    (Forward(lambda out: out - out.mean(0)), "the rest of its batch, first in the forward pass of `Forward` itself"),
    (nn.Sequential(nn.Unflatten(1, (1, 4)), nn.BatchNorm1d(1, track_running_stats=False), nn.Flatten()),
     "the rest of its batch, first in the layer `1` .BatchNorm1d."),
    (nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, track_running_stats=False)), "does not accept a single input"),
    (nn.Sequential(Doubling(), nn.Linear(4, 3)), "changes its inputs in place"),
    (nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout()), None)])
def test_two_passes_and_single_rows_are_compared(module, said):
    with pytest.raises(InvalidInput, match=said) if said else nullcontext():
        check_alone(module.eval(), X)
