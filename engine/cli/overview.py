"""`list` and `doctor`: what there is to choose from, and what this machine has."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import torch

from engine import data
from engine.applications.language import kept
from engine.applications.language.behaviors import LANGUAGE_BEHAVIORS
from engine.applications.language.estimators import LANGUAGE_ESTIMATORS
from engine.applications.language.tasks import TASKS
from engine.applications.noisy_labels.pairs import METHODS
from engine.basics.provenance import device_name, versions
from engine.basics.sizes import spell_bytes
from engine.data import scienceqa
from engine.estimators import ESTIMATORS
from engine.experiments import EXPERIMENTS
from engine.models.catalogue import MODELS, torchvision_names
from engine.problems import PROBLEMS
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import INTERVENTIONS
from engine.question.processes import PROCESSES
from engine.store.results import home

MODELS_FOLDER = "WHICHFLUENCE_MODELS"


def catalogue() -> str:
    """Behaviors, interventions, processes, estimators, datasets, models and experiments, by the names to write."""
    return "\n\n".join([
        _section("behaviors", ((name, behavior.clause) for name, behavior in BEHAVIORS.items())),
        _section("interventions", ((kind, f"{_parameters(cls)}with {', '.join(cls.fits)}")
                                   for kind, cls in INTERVENTIONS.items())),
        _section("processes", ((kind, f"{_parameters(cls)}{_first_sentence(cls)}") for kind, cls in PROCESSES.items())),
        _section("estimators", ((name, f"{estimator.note} ({_models_of(estimator)})")
                                for name, estimator in ESTIMATORS.items())),
        _section("datasets", ((name, source.note) for name, source in data.DATASETS.items())),
        _section("models", [("softmax", "Softmax regression, trained to its optimum."),
                            *((name, _first_sentence(build)) for name, build in MODELS.items()),
                            ("…", f"any of torchvision's {len(torchvision_names())} classification models, such as "
                                  "resnet18")]),
        _section("noisy label methods", ((name, method.question) for name, method in METHODS.items())),
        _section("language tasks", ((name, kind.note) for name, kind in TASKS.items())),
        _section("language behaviors", ((name, behavior.sentence) for name, behavior in LANGUAGE_BEHAVIORS.items())),
        _section("language estimators", ((name, estimator.note) for name, estimator in LANGUAGE_ESTIMATORS.items())),
        _section("experiments", ((name, f"{experiment.title} ({', '.join(experiment.presets)})")
                                 for name, experiment in EXPERIMENTS.items())),
    ])


def _models_of(estimator) -> str:
    """For which kind of model an estimator answers."""
    nouns = [kind.noun for kind in PROBLEMS.values() if estimator.serves(kind)]
    return " and ".join(nouns)


def diagnosis() -> str:
    """Device, versions, the folders in use, and which datasets and models are found."""
    return "\n\n".join([
        _section("device", _devices()),
        _section("versions", versions().items()),
        _section("datasets", ((name, f"{'yes' if found else 'no '}  {text}")
                              for name, found, text in [*data.describe(), ("scienceqa", *scienceqa.available())])),
        _section("models", _models()),
        _section("results", [_home(), _kept()]),
    ])


def _section(title: str, rows: Iterable[tuple[str, str]]) -> str:
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {text}".rstrip() for name, text in rows)])


def _parameters(cls) -> str:
    """A value's parameters with their defaults, as `(alpha) ` or `(damping=0.0) `."""
    fields = {name: field for name, field in cls.model_fields.items() if name != "kind"}
    shown = [name if field.is_required() else f"{name}={field.default}" for name, field in fields.items()]
    return f"({', '.join(shown)}) " if shown else ""


def _first_sentence(cls) -> str:
    return re.split(r"\.\s+(?=[A-Z])", " ".join(cls.__doc__.split()))[0].rstrip(".") + "."


def _devices() -> list[tuple[str, str]]:
    rows = [("cpu", f"{device_name()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads")]
    rows += [(f"cuda:{number}", device_name(f"cuda:{number}")) for number in range(torch.cuda.device_count())]
    return [*rows, ("auto", "cuda" if torch.cuda.is_available() else "cpu")]


def _models() -> list[tuple[str, str]]:
    named = os.environ.get(MODELS_FOLDER, "").strip()
    if not named:
        return [(MODELS_FOLDER, "is not set; let it name a folder of local language models.")]
    folder = Path(named).expanduser()
    if not folder.is_dir():
        return [(MODELS_FOLDER, f"names `{named}`, which is not a folder; correct it.")]
    return [(path.name, f"found under {MODELS_FOLDER}") for path in sorted(folder.iterdir()) if path.is_dir()] or [
        (MODELS_FOLDER, f"names `{named}`, which holds no folder of a model.")]


def _kept() -> tuple[str, str]:
    found = kept.trainings()
    return "language trainings", f"{len(found)}, {spell_bytes(sum(training.size for training in found))}"


def _home() -> tuple[str, str]:
    folder = home()
    standing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return str(folder), "writable" if os.access(standing, os.W_OK) else "not writable; set WHICHFLUENCE_HOME"
