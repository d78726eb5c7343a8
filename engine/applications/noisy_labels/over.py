"""Over which trusted examples a score is put together, and how: what makes one suspicion of many scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.applications.noisy_labels.evidence import Evidence
from engine.scoring.aggregate import Aggregate, Mean, Weighted


@dataclass(frozen=True)
class Over:
    """title: over what, in a few words. sentence: when a label is suspicious. aggregate: of the evidence at hand."""

    title: str
    sentence: str
    aggregate: Callable[[Evidence], Aggregate]


def _everywhere(evidence: Evidence) -> Aggregate:
    return Mean()


def _own_label(evidence: Evidence) -> Aggregate:
    """w(q, k) = 1 where the trusted example q has the observed label of z_k.

    For a score that is linear in the query's representation (the tangent kernel) this is the score for their mean; the
    cosine of RepSim is not linear, and is taken with the mean itself (`similarity_scores`).
    """
    return Weighted(evidence.trusted_y[:, None] == evidence.y)


MEAN = Over("the mean over all trusted examples",
            "A label is suspicious where the answer, averaged over the trusted examples, is low.", _everywhere)
OF_ITS_LABEL = Over("the trusted examples of its own class",
                    "A label is suspicious where the answer for the mean of its own class's trusted examples is low.",
                    _own_label)
