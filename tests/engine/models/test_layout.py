"""Layouts in memory: the numbers are the same, and a module that cannot take one is left alone."""

import pytest
import torch
from torch import nn

from engine.models.layout import channels_last, layout_for


class Viewing(nn.Module):
    """Joins its features by `view`, which channels-last features refuse."""

    def __init__(self):
        super().__init__()
        self.convolution, self.head = nn.Conv2d(2, 3, 3), nn.Linear(3 * 2 * 3, 2)

    def forward(self, x):
        return self.head(self.convolution(x).view(len(x), -1))


@pytest.mark.parametrize("channels", [1, 2])
def test_channels_last_changes_no_number(channels):
    x = torch.randn(3, channels, 4, 5)
    found = channels_last(x)
    assert torch.equal(found, x) and found.stride() == (20 * channels, 1, 5 * channels, channels)
    convolution = nn.Conv2d(channels, 4, 3)
    torch.testing.assert_close(convolution(found), convolution(x))


def test_only_convolutions_that_take_it_get_it():
    x = torch.randn(3, 2, 4, 5)
    convolutional = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(18, 2))
    before = [value.clone() for value in convolutional.state_dict().values()]
    assert layout_for(convolutional, x) is channels_last
    assert convolutional.training
    assert all(torch.equal(a, b) for a, b in zip(before, convolutional.state_dict().values(), strict=True))
    assert layout_for(Viewing(), x)(x) is x
    assert layout_for(nn.Flatten(), x)(x) is x
    one = x[0]
    assert layout_for(nn.Conv2d(2, 3, 3), one)(one) is one
