"""The convolutional network of the non-convex check, for images of any size (paper, Appendix A-1)."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from engine.basics.errors import InvalidInput

CHANNELS = (32, 64)
HIDDEN = 128


def cnn(image_shape: tuple[int, ...], classes: int) -> nn.Sequential:
    """Two 3 × 3 convolutions (padding 1) with ReLU and 2 × 2 max-pooling, 128 hidden units, C logits.

    image_shape: (channels, height, width). The module maps (b, channels, height, width) to (b, classes).
    Raises `InvalidInput` for images below 4 × 4, of which the two poolings leave nothing.
    """
    if len(image_shape) != 3 or min(image_shape[1:]) < 4:
        raise InvalidInput(f"The model `cnn` needs images of at least 4 × 4 pixels, (channels, height, width), not "
                           f"inputs of shape {tuple(image_shape)}; use `mlp`.")
    channels, height, width = image_shape
    first, second = CHANNELS
    return nn.Sequential(OrderedDict(
        conv1=nn.Conv2d(channels, first, 3, padding=1), relu1=nn.ReLU(), pool1=nn.MaxPool2d(2),
        conv2=nn.Conv2d(first, second, 3, padding=1), relu2=nn.ReLU(), pool2=nn.MaxPool2d(2),
        flatten=nn.Flatten(),
        hidden=nn.Linear(second * (height // 4) * (width // 4), HIDDEN), relu3=nn.ReLU(),
        head=nn.Linear(HIDDEN, classes),
    ))
