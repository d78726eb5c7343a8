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


def _between(stops: list[str], fraction: float) -> str:
    """The colour at a fraction of the path along the stops, between its neighbours."""
    at = fraction * (len(stops) - 1)
    index = min(int(at), len(stops) - 2)
    ends = [[int(stop[start:start + 2], 16) for start in (1, 3, 5)] for stop in stops[index:index + 2]]
    mixed = (round(first + (at - index) * (second - first)) for first, second in zip(*ends, strict=True))
    return "#" + "".join(f"{channel:02X}" for channel in mixed)
