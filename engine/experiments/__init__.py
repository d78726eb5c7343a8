"""The paper's studies as declared tables of runs. A new one is one file and its lines here."""

from engine.applications import kinds  # noqa: F401  # which studies run within their chunks
from engine.basics.registry import Registry
from engine.experiments import (
    backdoor,
    controlled,
    exact_language,
    label_methods,
    label_trials,
    language_explained,
    leaderboards,
    method_agreement,
    mixed_precision,
    name_audit,
    network,
    noisy_labels,
    poison,
    poison_records,
    removal,
    response_corruption,
    scorecards,
)
from engine.experiments.experiment import FULL, Experiment, StudyPreset

EXPERIMENTS: Registry[Experiment] = Registry("experiment", (
        controlled.TABLE_A6, controlled.FIGURE_4, network.TABLE_A7, network.FIGURE_A1, network.FIGURE_A2,
        noisy_labels.TABLE_5_1, noisy_labels.TABLE_A8, noisy_labels.TABLE_A9, removal.TABLE_A10,
        noisy_labels.TABLE_A16, noisy_labels.FIGURE_5_1,
        response_corruption.FIGURE_5_2, backdoor.TABLE_5_2, backdoor.TABLE_A11, backdoor.TABLE_A14,
        backdoor.TABLE_A15, response_corruption.TABLE_A17, exact_language.LANGUAGE_STEPS,
        exact_language.LANGUAGE_CURVE, exact_language.LANGUAGE_REMOVAL, exact_language.LANGUAGE_SUBSETS,
        language_explained.LANGUAGE_EXPLAINED,
        label_methods.LABEL_METHODS, label_trials.LABEL_TRIALS, poison.POISON, poison_records.POISON_RECORDS,
        mixed_precision.MIXED_PRECISION, method_agreement.METHOD_AGREEMENT,
        scorecards.SCORECARD, leaderboards.LEADERBOARD, name_audit.PAPER_NAMES))

__all__ = ["EXPERIMENTS", "FULL", "Experiment", "StudyPreset"]
