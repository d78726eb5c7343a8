"""Which method to look at first, and why: by the labels known to be wrong here, else by a trial on these data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engine.applications.noisy_labels.pairs import Pair
from engine.applications.noisy_labels.trial import Trial
from engine.metrics.detection import detection

METRIC = "AUPRC"


@dataclass(frozen=True)
class Recommended:
    """A ranking, and why it is the one, as a sentence."""

    pair: Pair
    why: str


def by_flags(suspicion: Mapping[Pair, np.ndarray], noisy: np.ndarray) -> Recommended:
    """The ranking that finds the labels known to be wrong best, by average precision."""
    scores = {pair: detection(noisy, values)[METRIC] for pair, values in suspicion.items()}
    best = max(scores, key=lambda pair: scores[pair])
    return Recommended(best, f"of all rankings it detects the labels known to be wrong best ({METRIC} "
                             f"{scores[best]:.2f}; a random order has about {noisy.mean():.2f})")


def by_trial(suspicion: Mapping[Pair, np.ndarray], trial: Trial) -> Recommended | None:
    """The ranking at hand that the trial on these data finds best; None where no ranking took part in it."""
    fitting = [Pair(str(method), str(behavior)) for method, behavior in
               zip(trial.table["method"], trial.table["behavior"], strict=True)]
    best = next((pair for pair in fitting if pair in suspicion), None)
    return None if best is None else Recommended(best, trial.why)
