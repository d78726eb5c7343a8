"""The colour ramps of both themes, as `.streamlit/config.toml` has them, for what is drawn without a chart."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

CONFIG = Path(__file__).parents[1] / ".streamlit" / "config.toml"
THEMES = ("light", "dark")
DIVERGING, SEQUENTIAL = "chartDivergingColors", "chartSequentialColors"


@cache
def theme(name: str) -> dict[str, Any]:
    """What the configuration says of a theme."""
    return tomllib.loads(CONFIG.read_text("utf-8"))["theme"][name]


def shade(value: float, low: float, high: float) -> tuple[str, str]:
    """The colours of a value in [low, high], in the light and in the dark theme: of the diverging ramp where the range
    has both signs, with 0 in its middle, else of the sequential one."""
    fraction = min(1.0, max(0.0, (value - low) / (high - low)))
    light, dark = (_between(theme(name)[DIVERGING if low < 0 else SEQUENTIAL], fraction) for name in THEMES)
    return light, dark


def ink(fill: str) -> str:
    """Black or white on a colour, whichever has more contrast by WCAG, which is 4.58:1 or more: with the relative
    luminance Y of the colour, (Y + 0.05) / 0.05 for black and 1.05 / (Y + 0.05) for white."""
    linear = [channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
              for channel in (int(fill[start:start + 2], 16) / 255 for start in (1, 3, 5))]
    luminance = sum(weight * channel for weight, channel in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "#FFFFFF"


def _between(stops: list[str], fraction: float) -> str:
    """The colour at a fraction of the path along the stops, between its neighbours."""
    at = fraction * (len(stops) - 1)
    index = min(int(at), len(stops) - 2)
    ends = [[int(stop[start:start + 2], 16) for start in (1, 3, 5)] for stop in stops[index:index + 2]]
    mixed = (round(first + (at - index) * (second - first)) for first, second in zip(*ends, strict=True))
    return "#" + "".join(f"{channel:02X}" for channel in mixed)
