"""The colours of values, and what is written on them."""

import colorsys

import numpy as np
import pytest

from app.charts import palette


def luminance(color):
    """Of WCAG 2.1, relative."""
    channels = np.array([int(color[start:start + 2], 16) for start in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(first, second):
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("low", [-1.0, 0.0])
def test_ink_is_read_on_every_value_in_both_themes(low):
    fills = {fill for value in np.linspace(low, 1, 201) for fill in palette.shade(value, low, 1.0)}
    assert min(contrast(fill, palette.ink(fill)) for fill in fills) >= 4.5


def test_ink_is_the_better_one_of_black_and_white():
    for hue in np.linspace(0, 1, 25):
        fill = "#" + "".join(f"{round(255 * one):02X}" for one in colorsys.hsv_to_rgb(hue, 0.8, 0.7))
        assert palette.ink(fill) == max(("#000000", "#FFFFFF"), key=lambda ink: contrast(fill, ink))
