r"""Similarity and the two signals: who finds wrong labels, and with what?

Digits with a share ρ of labels replaced by another class; softmax regression is trained on the labels as they stand,
and clean queries tell what a training example does to them. The scores are, for a query q with label y,

    similarity      x_qᵀ x_k
    training        x_qᵀ x_k · (−s_ℓ(z_k))_y          the training signal added: representer points
    both            −s_B(q)ᵀ (x_qᵀ x_k) s_ℓ(z_k)      the behavior signal added: gradient similarity of the query loss

with s_ℓ = ∂ℓ/∂f and s_B = ∂B/∂f. An example is the more suspicious the lower its mean score over the queries is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score

from engine import data
from engine.metrics.intervals import t_interval
from engine.problems import SoftmaxProblem
from engine.question.class_behaviors import query_loss_signal

STAGES = {"similarity": "similarity alone", "training": "+ training signal", "both": "+ behavior signal"}
TRAIN, QUERIES, L2 = 500, 200, 1e-2
DRAWS = 5


@dataclass(frozen=True, eq=False)
class Detection:
    """flags (n,): whose label is wrong; suspicion: stage -> (n,), larger for the more suspicious."""

    flags: np.ndarray
    suspicion: dict[str, np.ndarray]

    def auprc(self, stage: str) -> float:
        """Average precision of the wrong labels in the order of suspicion; chance is their share."""
        return float(average_precision_score(self.flags, self.suspicion[stage]))

    def detection_curve(self, stage: str) -> pd.DataFrame:
        """inspected, found: how many wrong labels are among the first so many, most suspicious first."""
        order = np.argsort(-self.suspicion[stage], kind="stable")
        return pd.DataFrame({"inspected": np.arange(1, len(order) + 1), "found": self.flags[order].cumsum()})


@lru_cache(maxsize=16)
def detections(rho: float = 0.2, seed: int = 0) -> Detection:
    """The three scores on digits with a share `rho` of wrong labels."""
    digits = data.load("digits")
    sample = data.draw(digits, n_train=TRAIN, n_queries=QUERIES, n_test=QUERIES, seed=seed)
    rng = np.random.default_rng(seed)
    flags = np.zeros(TRAIN, dtype=bool)
    flags[rng.choice(TRAIN, round(rho * TRAIN), replace=False)] = True
    shift = rng.integers(1, sample.n_classes, TRAIN)
    labels = np.where(flags, (sample.y_train + shift) % sample.n_classes, sample.y_train)
    problem = SoftmaxProblem(sample.x_train, labels, sample.x_query, sample.y_query, l2=L2, classes=sample.n_classes)
    kernel, signal = problem.kernel(problem.candidates), problem.training_signal(problem.candidates)
    behavior = query_loss_signal(problem.query_logits, problem.query_labels)
    scores = {"similarity": kernel, "training": -kernel * signal[:, problem.query_labels].T,
              "both": -kernel * (behavior @ signal.T)}
    return Detection(flags, {stage: -score.mean(0).numpy() for stage, score in scores.items()})


def over_draws(rho: float = 0.2) -> dict[str, tuple[float, float]]:
    """stage -> average precision over `DRAWS` draws: mean, and half width of the 95% t interval."""
    tables = [detections(rho, seed) for seed in range(DRAWS)]
    return {stage: t_interval([one.auprc(stage) for one in tables]) for stage in STAGES}
