r"""Suspicion by any scoring: minus its oriented scores, put together over the trusted examples.

    suspicion(k) = −A_q s(q, k),   s the scores, A an aggregate over queries (the mean)

What `gradient_scores` finds is this for GradSim, TracIn and LiSSA, up to a positive factor. What cannot be pooled
(`engine.scoring.pooled`) forms the gradient of every example, so that large networks take long.
"""

from __future__ import annotations

import numpy as np

from engine.applications.noisy_labels.over import MEAN, Over
from engine.applications.noisy_labels.source import TrainedModel
from engine.basics.options import Options
from engine.scoring.pooled import aggregated
from engine.scoring.scoring import Scoring


def suspicion(model: TrainedModel, scoring: Scoring, over: Over = MEAN, options: Options | None = None) -> np.ndarray:
    """Suspicion (n,) of every training example, NaN where its score is unknown for every trusted example it counts for.

    A trajectory visits the checkpoints of the run with the parameters that scores read; all else stays as at the end.
    Raises `InvalidInput` where the scoring does not fit the model, or asks for more checkpoints than the run kept.
    """
    problem = model.problem.with_candidates(np.arange(model.problem.n))
    if model.checkpoints:
        problem.keep_checkpoints(model.checkpoints)
    return -aggregated(problem, [scoring], over.aggregate(model.evidence), options)[0]
