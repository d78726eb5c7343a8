"""The consensus: what most methods find suspicious, each with the trusted behavior that suits the training.

Which behavior finds most wrong labels depends on the training, as the published Tables 5-1, A-8 and A-9 tell. Where a
deep network has learned its labels by heart, wrong ones too, GradSim and LiSSA find more with the trusted loss than
with the target logit, and RepSim finds less than either. In a small network, and in a deep one that has not learned its
labels by heart, GradSim finds more with the target logit (LiSSA too, but for two networks on digits), and RepSim more
than GradSim with the trusted loss. TracIn is best with the target logit in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.applications.noisy_labels.pairs import CONSENSUS, NONE, Pair, pairs_of
from engine.applications.noisy_labels.rankings import flagged
from engine.metrics.ranking import ranks
from engine.models.catalogue import LOGISTIC, OWN, PRETRAINED

MOST = 0.8
"""From which share of the labels that it would miss a deep network counts as one that has learned them by heart; those
of the published tables have at most 0.7 of them, or at least 0.95."""
_AFTER = (Pair("GradSim", "Trusted loss"), Pair("TracIn", "Target logit"), Pair("LiSSA", "Trusted loss"),
          Pair("Confident learning"))
_BEFORE = tuple(pair for pair in pairs_of(("repsim", "ntk", "gradsim", "tracin", "lissa", "confident"))
                if pair.behavior in (NONE, "Target logit"))


def fraction_by_heart(seen: float, unseen: float) -> float:
    """(seen − unseen) / (1 − unseen): of the labels that a model misses on examples that it has not seen, the share
    that it agrees with where it was trained on them; 0 where it misses none.

    seen, unseen: fraction of labels that the model agrees with, on examples that it was trained on and on others.
    """
    return (seen - unseen) / (1 - unseen) if unseen < 1 else 0.0


def by_heart(model: str, seen: float, unseen: float) -> bool:
    """Whether a deep network has learned its labels by heart; False where nothing unseen was there to measure on.

    model: its name in the catalogue; seen, unseen: as in `fraction_by_heart`.
    """
    return model not in (*OWN, LOGISTIC, PRETRAINED) and fraction_by_heart(seen, unseen) >= MOST


def voting(suspicion: Mapping[Pair, np.ndarray], learned: bool) -> list[Pair]:
    """The rankings that make the consensus. learned: `by_heart` of the model that judges."""
    return [pair for pair in suspicion if pair in (_AFTER if learned else _BEFORE)]


def with_consensus(suspicion: Mapping[Pair, np.ndarray], learned: bool) -> dict[Pair, np.ndarray]:
    """The rankings, and last the consensus where two or more vote: n minus the mean rank over `voting`."""
    voters = voting(suspicion, learned)
    if len(voters) < 2:
        return dict(suspicion)
    mean = np.mean([ranks(suspicion[pair]) for pair in voters], axis=0)
    return {**suspicion, CONSENSUS: len(mean) - mean}


def votes(suspicion: Mapping[Pair, np.ndarray], learned: bool, fraction: float) -> np.ndarray:
    """How many of `voting` have an example (n,) in the most suspicious share of their ranking."""
    counts = np.zeros(len(next(iter(suspicion.values()))), dtype=np.int64)
    for pair in voting(suspicion, learned):
        counts[flagged(suspicion, pair, fraction)] += 1
    return counts
