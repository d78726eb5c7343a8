"""Every public name, from where it is defined; `whichfluence.__all__` lists them."""
# ruff: noqa: F401

from engine import __version__
from engine.basics.errors import InvalidInput, MissingData, WhichfluenceError
from engine.basics.options import Options
from engine.models.causal.recipe import FineTuning
from engine.models.recipe import Recipe
from engine.models.recorded import Recorder
from engine.problems import Problem
from engine.question.behaviors import register_behavior
from engine.question.interventions import (
    AddOccurrence,
    Auxiliary,
    Infinitesimal,
    InfinitesimalDuring,
    Relabel,
    Remove,
    Upweight,
)
from engine.question.processes import (
    LocalResponse,
    LocalSearch,
    OneStep,
    Reoptimize,
    Trajectory,
    Unrolled,
)
from engine.question.runs import Replay, Retrain
from whichfluence.agreements import Agreement, compare
from whichfluence.dashboards import Dashboard, dashboard
from whichfluence.explanations import explain
from whichfluence.external import imported
from whichfluence.influences import influence, self_influence
from whichfluence.labels import noisy_labels
from whichfluence.listing import behaviors, datasets, estimators
from whichfluence.problems import draw, problem
from whichfluence.requests import analyse, analyses
from whichfluence.scores import Scores
from whichfluence.specifications import Specification
from whichfluence.streams import stream
