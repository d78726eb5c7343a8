"""The paper's studies as runs: what they cost, whether they are done, and how to start one."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from app.widgets import published
from app.widgets.desk import desk
from app.widgets.times import spell
from engine import data
from engine.applications.language import catalogue
from engine.data import scienceqa
from engine.experiments import EXPERIMENTS
from engine.jobs import KINDS, Job, job_digest


@dataclass(frozen=True)
class Cost:
    """Seconds that a run takes; `device`: where they were measured, empty where they are guessed."""

    seconds: float
    device: str = ""
    language: bool = False

    @property
    def text(self) -> str:
        if self.device:
            return f"it took {spell(self.seconds)} on {self.device}"
        text = f"it takes about {spell(self.seconds)} on two processor cores"
        return f"{text} with a model of 135 million parameters, and larger models want a GPU" if self.language else text


def cost(name: str, preset: str, model: str | None = None) -> Cost:
    """What a run takes: as measured where it was published or computed here, else guessed."""
    experiment = EXPERIMENTS[name]
    done = published.reproduction(name, preset) if model is None else None
    if done is not None and done.manifest.get("wall_seconds"):
        return Cost(float(done.manifest["wall_seconds"]), str(done.manifest.get("device") or "another machine"))
    kind, payload = KINDS[experiment.study], experiment.payload(preset)
    return Cost(sum(kind.weight(payload, key) if kind.weight else 1.0 for key in kind.plan(payload)),
                language="model" in payload["settings"] and bool(experiment.models))


def digest(name: str, preset: str, model: str | None = None) -> str:
    """The id of its job. model: another language model than the preset's."""
    experiment = EXPERIMENTS[name]
    return job_digest(experiment.study, experiment.payload(preset, model=model))


def title(name: str, preset: str, model: str | None = None) -> str:
    """The run's title: every table and figure that comes out of it, and its scale."""
    asked = digest(name, preset)
    heads = [experiment.title.partition(":")[0] for other, experiment in EXPERIMENTS.items()
             if preset in experiment.presets and digest(other, preset) == asked]
    return " · ".join([" and ".join(heads), preset, *([catalogue.model_title(model)] if model else [])])


def command(name: str, preset: str, model: str | None = None) -> str:
    other = f" --model {shlex.quote(model)}" if model else ""
    return f"python -m engine reproduce {name} --preset {preset}{other}"


def missing_data(name: str, preset: str) -> str:
    """A sentence on data that this run needs and this machine lacks; empty where all is there."""
    settings = EXPERIMENTS[name].presets[preset].settings
    for source in settings.get("sources", ()):
        found, said = data.DATASETS[source["dataset"]].available()
        if not found:
            return said
    if "task" in settings or "backdoor" in settings:
        found, said = scienceqa.available()
        if not found:
            return said
    return ""


def start(name: str, preset: str, model: str | None = None) -> Job:
    """Queue the run, or take it up again where it stopped; whoever asks for the same shares it."""
    experiment = EXPERIMENTS[name]
    return desk().jobs.take_up(experiment.study, experiment.payload(preset, model=model), title(name, preset, model))
