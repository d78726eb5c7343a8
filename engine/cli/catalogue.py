"""What there is to choose from, as `list` prints it."""

from __future__ import annotations

import re
from typing import Any

from engine import data
from engine.applications.language.methods import METHODS as LANGUAGE_METHODS
from engine.applications.noisy_labels.pairs import METHODS as LABEL_METHODS
from engine.basics.settings import Settings
from engine.basics.values import Value, capital
from engine.cli.section import section
from engine.data.questions import QUESTIONS
from engine.data.tasks import TASKS
from engine.estimators import ESTIMATORS
from engine.estimators.estimator import Estimator
from engine.experiments import EXPERIMENTS
from engine.experiments.reproduction import offered
from engine.models.catalogue import MODELS, torchvision_names
from engine.models.causal.readouts import READOUTS
from engine.models.causal.recipe import FineTuning
from engine.models.recipe import Recipe
from engine.problems import PROBLEMS
from engine.question.behaviors import BEHAVIORS, reading
from engine.question.interventions import INTERVENTIONS
from engine.question.processes import PROCESSES
from engine.question.worded_behaviors import KINDS


def catalogue() -> str:
    """Behaviors, interventions, processes, estimators, datasets, models and experiments, by the names to write."""
    return "\n\n".join([
        section("behaviors", ((name, BEHAVIORS[name].clause) for name in reading("classes"))),
        section("interventions", ((kind, f"{_parameters(cls)}with {', '.join(cls.fits)}")
                                   for kind, cls in INTERVENTIONS.items())),
        section("processes", ((kind, f"{_parameters(cls)}{_first_sentence(cls)}") for kind, cls in PROCESSES.items())),
        section("estimators", ((name, f"{_settings(estimator)}{estimator.note} ({_models_of(estimator)})")
                                for name, estimator in ESTIMATORS.items() if estimator.implies)),
        section("baselines, which imply no specification", ((name, f"{estimator.note} ({_models_of(estimator)})")
                                                            for name, estimator in ESTIMATORS.items()
                                                            if not estimator.implies)),
        section("datasets", ((name, source.note) for name, source in data.DATASETS.items())),
        section("models", [("softmax", "Softmax regression, trained to its optimum."),
                            *((name, _first_sentence(build)) for name, build in MODELS.items()),
                            ("…", f"any of torchvision's {len(torchvision_names())} classification models, such as "
                                  "resnet18")]),
        section("noisy label methods", ((name, method.asks()) for name, method in LABEL_METHODS.items())),
        section("language questions", ((name, source.note) for name, source in QUESTIONS.items())),
        section("language tasks", ((name, kind.note) for name, kind in TASKS.items())),
        section("language behaviors", (*((name, behavior.sentence) for name, behavior in READOUTS.items()),
                                       *((kind, f"{capital(text)}.") for kind, text in KINDS.items()))),
        section("language estimators", ((name, method.named.note) for name, method in LANGUAGE_METHODS.items())),
        section("experiments", ((name, f"{experiment.title} ({', '.join(experiment.presets)}{_readings(name)})")
                                 for name, experiment in EXPERIMENTS.items())),
    ])


def _readings(name: str) -> str:
    """By what other reading of the paper it can be computed, as its option."""
    return "".join(f"; --as {whose}" for whose in offered(name)[1:])


def _models_of(estimator: Estimator) -> str:
    """For which kind of model an estimator answers."""
    nouns = [kind.noun for kind in PROBLEMS.values() if estimator.serves(kind)]
    return " and ".join(nouns)


def schemas() -> dict[str, Any]:
    """The JSON schema of what a specification consists of, by the names to write: interventions, processes, and the
    settings of estimators and of trainings, with default, its source, range, cost and description each."""
    return {"interventions": {kind: cls.model_json_schema() for kind, cls in INTERVENTIONS.items()},
            "processes": {kind: cls.model_json_schema() for kind, cls in PROCESSES.items()},
            "behaviors": list(BEHAVIORS),
            "estimators": {name: (one.settings or Settings).model_json_schema() for name, one in ESTIMATORS.items()},
            "recipes": {"network": Recipe.model_json_schema(), "language model": FineTuning.model_json_schema()}}


def _settings(estimator: Estimator) -> str:
    return _parameters(estimator.settings) if estimator.settings else ""


def _parameters(cls: type[Value]) -> str:
    """A value's parameters with their defaults, as `(alpha) ` or `(damping=0.0) `."""
    fields = {name: field for name, field in cls.model_fields.items() if name != "kind"}
    shown = [name if field.is_required() else f"{name}={field.default}" for name, field in fields.items()]
    return f"({', '.join(shown)}) " if shown else ""


def _first_sentence(documented: object) -> str:
    return re.split(r"\.\s+(?=[A-Z])", " ".join((documented.__doc__ or "").split()))[0].rstrip(".") + "."
