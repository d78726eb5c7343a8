"""The paper's studies as declared tables of runs. A new one is one file and its lines here."""

from engine.basics.registry import Registry
from engine.experiments import backdoor, controlled, network, noisy_labels, removal, response_corruption
from engine.experiments.experiment import Experiment, Preset
from engine.jobs import KINDS
from engine.runs import (
    datamodels as datamodel_runs,
)
from engine.runs import language as language_run
from engine.runs import noisy_labels as runs
from engine.runs import noisy_retraining as retraining
from engine.runs import (
    scores as score_runs,
)
from engine.runs import (
    self_influence as self_influence_runs,
)
from engine.runs import (
    training as training_runs,
)

EXPERIMENTS: Registry[Experiment] = Registry("experiment")
for _experiment in (
        controlled.TABLE_A6, controlled.FIGURE_4, network.TABLE_A7, network.FIGURE_A1, network.FIGURE_A2,
        noisy_labels.TABLE_5_1, noisy_labels.TABLE_A8, noisy_labels.TABLE_A9, removal.TABLE_A10,
        noisy_labels.TABLE_A16, noisy_labels.FIGURE_5_1,
        response_corruption.FIGURE_5_2, backdoor.TABLE_5_2, backdoor.TABLE_A11, backdoor.TABLE_A14,
        backdoor.TABLE_A15, response_corruption.TABLE_A17):
    EXPERIMENTS.add(_experiment.name, _experiment)

for _study in (
        controlled.STUDY, network.STUDY, score_runs.JOB, training_runs.JOB, datamodel_runs.JOB,
        self_influence_runs.JOB,
        noisy_labels.STUDY, removal.STUDY, runs.JOB, retraining.JOB, retraining.WHAT_IF_JOB,
        response_corruption.STUDY, backdoor.STUDY, backdoor.REMOVAL, backdoor.QUALITY, language_run.JOB,
        language_run.TOKENS_JOB):
    KINDS.add(_study.name, _study)

__all__ = ["EXPERIMENTS", "Experiment", "Preset"]
