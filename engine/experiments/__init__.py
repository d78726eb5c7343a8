"""The paper's studies as declared tables of runs. A new one is one file and its lines here."""

from engine import datamodel_runs, score_runs, training_runs
from engine.experiments import controlled, network
from engine.experiments.experiment import Experiment, Preset
from engine.jobs import KINDS
from engine.registry import Registry

EXPERIMENTS: Registry[Experiment] = Registry("experiment")
for _experiment in (controlled.TABLE_A6, controlled.FIGURE_4, network.TABLE_A7, network.FIGURE_A1, network.FIGURE_A2):
    EXPERIMENTS.add(_experiment.name, _experiment)
for _study in (controlled.STUDY, network.STUDY, score_runs.JOB, training_runs.JOB, datamodel_runs.JOB):
    KINDS.add(_study.name, _study)

__all__ = ["EXPERIMENTS", "Experiment", "Preset"]
