"""The paper's studies as runs that a page shows or starts: what they cost in words, and the start of one."""

from __future__ import annotations

from dataclasses import dataclass

from app.widgets.jobs import guesses
from app.widgets.jobs.desk import desk
from app.widgets.results import manifest_view
from app.widgets.words.times import spell
from engine.desk import published
from engine.desk.published import AS_PAPER, EXPERIMENTS, FULL, studies
from engine.desk.shelves import Job

SCALES = {"small": "Small (quick check)", "pooled": "Pooled (16×16 pixels)", "desk": "Desk (hours on two cores)",
          FULL: "As in the paper"}


@dataclass(frozen=True)
class ReproductionCost:
    """Seconds that a run takes; `device`: where they were measured, empty where they are estimated for this machine,
    with `expected` in words; `without`: what they leave out."""

    seconds: float
    device: str = ""
    without: str = ""
    expected: str = ""
    language: bool = False

    @property
    def text(self) -> str:
        if self.device:
            return f"it took {spell(self.seconds)} on {self.device}{self.without}"
        text = f"it takes {self.expected}"
        return f"{text}; larger language models need a GPU" if self.language else text


def cost(name: str, preset: str, model: str | None = None, whose: str = AS_PAPER) -> ReproductionCost:
    """What a run takes: as measured where it was published or computed here, and no less than its trainings, which
    another run may have left on disk; else guessed. Other work that lay on disk is said to be left out."""
    done = published.reproduction(name, preset, whose) if model is None else None
    if done is not None and (wall := done.manifest.get("wall_seconds")):
        trainings = sum(run.get("facts", {}).get("training_seconds", 0.0) for run in done.manifest.get("runs") or ())
        without = manifest_view.reused(done.manifest) if wall > trainings else ""
        device = str(done.manifest.get("device") or "another machine")
        return ReproductionCost(max(float(wall), trainings), device, without)
    experiment = EXPERIMENTS[name]
    payload = experiment.payload(preset, model=model, conventions=whose)
    estimate = desk().jobs.queue.traces.estimate(experiment.study, payload)
    return ReproductionCost(estimate.seconds if estimate else 0.0, expected=guesses.described(estimate),
                            language=studies.trains_language_model(name, preset))


def seeds(name: str, preset: str) -> str:
    """How many seeds a full run has, in words."""
    n = EXPERIMENTS[name].presets[preset].seeds
    return "one seed" if n == 1 else f"{n} seeds"


def scale_title(preset: str) -> str:
    """A preset in a few words."""
    return SCALES.get(preset, preset.capitalize())


def start(name: str, preset: str, model: str | None = None, whose: str = AS_PAPER) -> Job:
    """Queue the run, or take it up again where it stopped; whoever asks for the same shares it."""
    experiment = EXPERIMENTS[name]
    return desk().jobs.take_up(experiment.study, experiment.payload(preset, model=model, conventions=whose),
                               studies.title(name, preset, model, whose))
