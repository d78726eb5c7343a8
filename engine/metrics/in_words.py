r"""How far two rankings agree, in a word, and only where the numbers allow one.

A word stands for a range of Kendall's τ, of which the fraction of pairs in the same order is (1 + τ)/2:

    |τ| < 0.1   hardly any common order        at least 0.1, 0.3, 0.6, 0.9   slightly, partly, mostly, nearly the same
    (below 0: the opposite) order: 55, 65, 80 and 95 of 100 pairs

It is withheld where

- there is no interval, or the interval covers two ranges;
- chance reaches so far: of unrelated rankings of k candidates τ has variance 2(2k + 5) / (9k(k − 1)) for a query, and a
  mean over queries may have as much, since queries that rank alike are as good as one;
- the top says something else: its overlap lies outside of what the range leads to expect. For a top fraction p and a
  normal copula with this τ that is

    overlap(τ) = p + 1/(2πp) ∫₀^{πτ/2} exp(−z² / (1 + sin u)) du,     z = Φ⁻¹(1 − p)

  which is p at τ = 0 and 1 at τ = 1.

τ near 0 is not "unrelated": two rankings may agree on which examples matter and not on which way.
Sources: Kendall, "Rank Correlation Methods" (1948), for the variance; Plackett, "A reduction formula for normal
multivariate integrals", Biometrika 41 (1954), for the integral.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from engine.basics.errors import InvalidInput
from engine.basics.values import capital, signed
from engine.metrics.agreement import MeanAgreement, top_size

NAMES = {0.0: "hardly any common order", 0.1: "slightly {} order", 0.3: "partly {} order", 0.6: "mostly {} order",
         0.9: "nearly {} order"}
"""The least |τ| of a range -> its word, of the same order or of the opposite one."""
Z95 = 1.959964
POINTS = 400
"""Of the trapezoid rule; its error is below 1e-6."""


@dataclass(frozen=True)
class InWords:
    """word: of the whole ranking, empty where the numbers allow none. sentence: the numbers, after the word if there is
    one. apart: whether the top says something else than the whole."""

    word: str
    sentence: str
    apart: bool = False


def in_words(tau: MeanAgreement, overlap: MeanAgreement, candidates: int, fraction: float = 0.05) -> InWords:
    """What τ and the overlap of the top `fraction`, each a mean over queries, say together of rankings of k candidates.

    Raises `InvalidInput` for fewer than two candidates, or a fraction outside (0, 1].
    """
    if candidates < 2:
        raise InvalidInput(f"There is no order among {candidates} candidates; compare at least two.")
    top = top_size(candidates, fraction)
    whole = f"τ = {_number(tau.mean)}{_half(tau.ci95)}" if tau.mean == tau.mean else "τ is undefined"
    shared = (f"the top {100 * fraction:.3g}% shares {_percent(overlap.mean)}{_half_percent(overlap.ci95)} "
              f"(chance {_percent(top / candidates)})") if overlap.mean == overlap.mean else ""
    tau_range = _range_of(tau, candidates)
    apart = tau_range is not None and shared != "" and not _fits(overlap, tau_range, top / candidates)
    if tau_range is None or apart or not shared or math.isnan(overlap.ci95):
        joint = ", yet " if apart else "; "
        return InWords("", f"{whole}{joint if shared else ''}{shared}.", apart)
    word = _word(tau_range)
    return InWords(word, f"{capital(word)}: {whole}, and {shared}.")


def chance_tau(candidates: int) -> float:
    """What |τ| of unrelated rankings of k candidates stays below in 95% of the queries."""
    return Z95 * math.sqrt(2 * (2 * candidates + 5) / (9 * candidates * (candidates - 1)))


def expected_overlap(tau: float, fraction: float) -> float:
    """The overlap of the top `fraction` under a normal copula with this τ."""
    if fraction >= 1 or tau >= 1:
        return 1.0
    z, angle = float(ndtri(1 - fraction)), math.pi * min(max(tau, -1.0), 1.0) / 2
    at = np.linspace(0.0, angle, POINTS)
    height = np.exp(-z * z / np.maximum(1 + np.sin(at), 1e-300))
    return min(1.0, max(0.0, fraction + float(np.trapezoid(height, at)) / (2 * math.pi * fraction)))


def _range_of(tau: MeanAgreement, candidates: int) -> tuple[float, float] | None:
    """The range in which the whole interval lies; None where there is none, or where chance reaches as far."""
    if not (math.isfinite(tau.mean) and math.isfinite(tau.ci95)):
        return None
    low, high = max(tau.mean - tau.ci95, -1.0), min(tau.mean + tau.ci95, 1.0)
    bounds = [*NAMES, 1.0]
    if -bounds[1] < low and high < bounds[1]:
        return -bounds[1], bounds[1]
    near, far = (low, high) if tau.mean > 0 else (-high, -low)
    for least, most in zip(bounds[1:-1], bounds[2:], strict=True):
        if least <= near and (far < most or most == 1.0) and abs(tau.mean) > chance_tau(candidates):
            return (least, most) if tau.mean > 0 else (-most, -least)
    return None


def _fits(overlap: MeanAgreement, tau_range: tuple[float, float], fraction: float) -> bool:
    """Whether the overlap, by its interval where it has one, is one that a τ in this range leads to expect."""
    half = overlap.ci95 if math.isfinite(overlap.ci95) else 0.0
    low = 0.0 if tau_range[1] <= 0 else expected_overlap(tau_range[0], fraction)
    return overlap.mean + half >= low and overlap.mean - half <= expected_overlap(tau_range[1], fraction)


def _word(tau_range: tuple[float, float]) -> str:
    if tau_range[0] < 0 < tau_range[1]:
        return NAMES[0.0]
    least = min(abs(end) for end in tau_range)
    return NAMES[least].format("the same" if tau_range[0] > 0 else "the opposite")


def _number(value: float) -> str:
    return signed(value, 3)


def _half(width: float) -> str:
    return f" ± {width:.3f}" if math.isfinite(width) else ""


def _half_percent(width: float) -> str:
    """Whole percent, and a digit more where they would round to none."""
    return f" ± {100 * width:.{int(0 < width < 0.005)}f}%" if math.isfinite(width) else ""


def _percent(value: float) -> str:
    """Whole percent, and a digit more where they would round to none or all."""
    return f"{100 * value:.{int(0 < value < 0.005 or 0.995 < value < 1)}f}%"


