"""What the paper concludes about noisy labels: Tables 5-1, A-8, A-9, A-10 and A-16, Figure 5-1."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.experiments.statements.preferred import same_preference
from engine.experiments.statements.rows import Row, TableRows
from engine.experiments.statements.statement import Clause, Statement

LOSS, LOGIT, MARGIN = "Trusted loss", "Target logit", "Hard margin"
LEARNING_BASED = {"GradSim": MARGIN, "TracIn": LOGIT, "LiSSA": MARGIN}
"""Estimators that read labels, each with the behavior that the paper prefers for its AUPRC."""


def _auprc(rows: TableRows) -> TableRows:
    return rows.where(metric="AUPRC")


def preferred(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """The count of groups of Table 5-1 that agree with the paper's shading."""
    return [same_preference(experiments["table-5-1"], "table_5_1_noisy_label_rho02.csv")]


def opposite_preferences(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """TracIn gains from the target logit in place of the loss, and LiSSA loses."""
    rows = _auprc(experiments["table-5-1"])
    gain = {method: rows.seeds(method=method, behavior=LOGIT) - rows.seeds(method=method, behavior=LOSS)
            for method in ("TracIn", "LiSSA")}
    return [Clause.of("TracIn, target logit − trusted loss", gain["TracIn"]),
            Clause.of("LiSSA, trusted loss − target logit", -gain["LiSSA"])]


def labels_beat_similarity(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """Each learning-based estimator with its preferred behavior − representation similarity."""
    rows = _auprc(experiments["table-5-1"])
    similarity = rows.seeds(method="RepSim")
    return [Clause.of(f"{method} − RepSim", rows.seeds(method=method, behavior=behavior) - similarity)
            for method, behavior in LEARNING_BASED.items()]


def _steady(rows: TableRows, column: str, mark: str) -> list[Clause]:
    """Of each word of a column: TracIn with the target logit − with each of the two other behaviors.

    Both have to be exceeded. The better of the two in each seed would be larger than either is by chance alone.
    """
    return [Clause.of(f"{mark}{word}, target logit − {other.lower()}",
                      own.seeds(behavior=LOGIT) - own.seeds(behavior=other))
            for word, own in _auprc(rows).where(method="TracIn").split(column) for other in (LOSS, MARGIN)]


def steady_over_rates(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """Table A-8, rate by rate."""
    return _steady(experiments["table-a8"], "rho", "ρ = ")


def steady_over_networks(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """Table A-9, network by network."""
    return _steady(experiments["table-a9"], "architecture", "")


def removal_gains(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """Accuracy after removing the top 10% by TracIn with the target logit − at random, and − with the trusted loss."""
    rows = experiments["table-a10"].where(topk="10%")
    best = rows.seeds(method="TracIn", behavior=LOGIT)
    return [Clause.of("against removal at random", best - rows.seeds(method="Random")),
            Clause.of("against the trusted loss", best - rows.seeds(method="TracIn", behavior=LOSS))]


def training_signal_helps(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """RepSim with the training signal − RepSim alone."""
    rows = _auprc(experiments["table-a16"])
    return [Clause.of("with the training signal − alone",
                      rows.seeds(method="RepSim + train (logit)") - rows.seeds(method="RepSim"))]


def shared_parts_agree(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """Mean τ over pairs with the same estimator, or the same behavior, − over pairs that share neither."""
    rows = experiments["figure-5-1"].where(metric="Kendall tau")

    def of(estimator: bool, behavior: bool) -> np.ndarray:
        def keep(row: Row) -> bool:
            (a, _, behavior_a), (b, _, behavior_b) = row["a"].partition(" · "), row["b"].partition(" · ")
            return bool(behavior_a and behavior_b) and (a == b) == estimator and (behavior_a == behavior_b) == behavior

        return rows.where(keep).mean()

    neither = of(False, False)
    return [Clause.of("same estimator", of(True, False) - neither),
            Clause.of("same behavior", of(False, True) - neither)]


_AUPRC = "difference of AUPRC"
STATEMENTS = (
    Statement("preferred-noisy-labels", "In most (method, metric) groups wrong labels are detected best with the "
              "trusted behavior that the paper names.", ("table-5-1",),
              "fraction of (method, metric) groups that prefer it", preferred),
    Statement("opposite-preferences", "No trusted behavior is best for every estimator: the target logit detects more "
                                      "than the trusted loss for TracIn, and less for LiSSA.",
              ("table-5-1",), _AUPRC, opposite_preferences),
    Statement("labels-beat-similarity", "GradSim, TracIn and LiSSA, each with the behavior that the paper prefers "
              "for it, detect wrong labels better than similarity.",
              ("table-5-1",), _AUPRC, labels_beat_similarity),
    Statement("steady-over-rates", "TracIn is best with the target logit at every noise rate.",
              ("table-a8",), _AUPRC, steady_over_rates),
    Statement("steady-over-networks", "TracIn is best with the target logit in every network.", ("table-a9",), _AUPRC,
              steady_over_networks),
    Statement("removal-gains", "Retraining without the top of TracIn with the target logit gives more accuracy than "
                               "random removal, and than the top with the trusted loss.",
              ("table-a10",), "percentage points of accuracy", removal_gains),
    Statement("training-signal-helps", "Similarity detects wrong labels better with the training signal.",
              ("table-a16",), _AUPRC, training_signal_helps),
    Statement("shared-parts-agree", "Rankings agree more if they share the estimator or the behavior than if they "
                                    "share neither.",
              ("figure-5-1",), "difference of Kendall τ", shared_parts_agree),
)
