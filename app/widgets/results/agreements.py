"""An agreement as the pages write it: as text, and as a number with its definition on hover."""

from __future__ import annotations

import math

from streamlit.delta_generator import DeltaGenerator

from engine.basics.values import signed
from engine.metrics.agreement import MeanAgreement, Metric


def plus_minus(mean: float, half_width: float) -> str:
    """`0.747 ± 0.012`; without an interval where there is none."""
    if math.isnan(mean):
        return "undefined"
    return signed(mean) if math.isnan(half_width) else f"{signed(mean)} ± {half_width:.3f}"


def by_chance(value: float) -> str:
    """What a measure of agreement is by chance."""
    return f"Scores in random order reach {value:.2g} on average."


def number(column: DeltaGenerator, metric: Metric, agreement: MeanAgreement, chance: str) -> None:
    """One agreement, with its definition on hover."""
    interval = "" if math.isnan(agreement.ci95) else f"± {agreement.ci95:.3f} over {agreement.interval_over}"
    column.metric(metric.title, plus_minus(agreement.mean, math.nan), interval or None,
                  delta_color="off", delta_arrow="off", help=f"{metric.definition} {chance}")
