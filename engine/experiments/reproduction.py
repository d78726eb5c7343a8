"""One reproduction of a table or figure at a scale: its job, its title, its command, what it takes and lacks."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from engine import data
from engine.data import questions
from engine.experiments import EXPERIMENTS, Experiment
from engine.experiments.contents import datasets
from engine.experiments.conventions import AS_PAPER, CHANGES, TITLES, of
from engine.jobs import job_digest
from engine.models.causal import catalogue


def digest(name: str, preset: str, model: str | None = None, conventions: str = AS_PAPER) -> str:
    """The id of its job. model: another language model than the preset's."""
    experiment = EXPERIMENTS[name]
    return job_digest(experiment.study, experiment.payload(preset, model=model, conventions=conventions))


def offered(name: str) -> list[str]:
    """By which conventions it can be computed."""
    return [own for own in TITLES if own == AS_PAPER or EXPERIMENTS[name].study in CHANGES]


def of_job(job: str, kind: str, payload: Mapping[str, Any]) -> dict[str, Experiment]:
    """Tables and figures that a study's job is the very reproduction of; empty where its settings are others."""
    preset, conventions = payload.get("preset", ""), of(payload.get("settings", {}))
    return {name: experiment for name, experiment in EXPERIMENTS.items()
            if experiment.study == kind and preset in experiment.presets and conventions in offered(name)
            and digest(name, preset, conventions=conventions) == job}


def title(name: str, preset: str, model: str | None = None, conventions: str = AS_PAPER) -> str:
    """The run's title: every table and figure that comes out of it, its scale, and whose conventions it follows."""
    job = digest(name, preset)
    heads = [experiment.title.partition(":")[0] for other, experiment in EXPERIMENTS.items()
             if preset in experiment.presets and digest(other, preset) == job]
    whose = [] if conventions == AS_PAPER else [TITLES[conventions]]
    return " · ".join([" and ".join(heads), preset, *([catalogue.model_title(model)] if model else []), *whose])


def command(name: str, preset: str, model: str | None = None, conventions: str = AS_PAPER) -> str:
    """The command line that runs it."""
    other = f" --model {shlex.quote(model)}" if model else ""
    whose = "" if conventions == AS_PAPER else f" --as {conventions}"
    return f"python -m engine reproduce {name} --preset {preset}{other}{whose}"


def other_model(name: str, preset: str, model: str) -> str | None:
    """What a command takes for a language model by the name that tables give it; None for the preset's own."""
    own = EXPERIMENTS[name].presets[preset].settings.get("model")
    return None if own is None or catalogue.model_title(own) == model else catalogue.HUB.get(model, model)


def trains_language_model(name: str, preset: str) -> bool:
    """Whether it runs a language model that the reader may choose."""
    experiment = EXPERIMENTS[name]
    return "model" in experiment.presets[preset].settings and bool(experiment.models)


def missing_data(name: str, preset: str) -> str:
    """A sentence on data that this run needs and this machine lacks; empty where all is there."""
    settings = EXPERIMENTS[name].presets[preset].settings
    for dataset in datasets(settings):
        available, said = data.DATASETS[dataset].available()
        if not available:
            return said
    task = settings.get("task") or settings.get("backdoor", {}).get("task")
    if task:
        available, said = questions.of(task).available()
        if not available:
            return said
    return ""
