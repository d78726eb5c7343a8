"""What a reproduction is: a named table or figure of the paper, a study that computes it, and its presets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from engine.basics.errors import InvalidInput
from engine.experiments import conventions as readings
from engine.experiments.contents import contents
from engine.experiments.enough import PublishedEvidence, no_minimum
from engine.scoring.scoring import Scoring

QUICK, FULL = "small", "paper"
"""The preset that takes minutes, and the one at the paper's own scale, which every table and figure of it has."""


@dataclass(frozen=True)
class StudyPreset:
    """Sizes of one scale of a study, and what to say of it. `settings` is the study's own plain data."""

    name: str
    title: str
    seeds: int
    settings: Mapping[str, Any]

    @property
    def is_quick_check(self) -> bool:
        """Whether it only shows that the machinery works: its results stand in where nothing larger is published."""
        return self.name == QUICK

    @property
    def averages_images(self) -> bool:
        """Whether a source of it averages pixels, which the paper's images are not."""
        sources = self.settings.get("sources") or [self.settings.get("source", {})]
        return any(source.get("pool", 1) > 1 for source in sources)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper.

    study: the job kind that computes it (several experiments may share one run). view: from the
    study's stored tables to the published table. keys: the columns that join it to the paper's.
    paper_table: file name under assets/paper, or None where the paper gives no numbers.
    pairs: the two scorings that a row compares, by its (axis, comparison, parameter). tolerance: how far a row
    may lie from the paper's before it has to be explained, set before anything ran; NaN where none was.
    models: the language models that the paper ran, by its names; empty where it ran none.
    too_small: why a published run cannot show the effect, empty where it can.
    """

    name: str
    title: str
    study: str
    presets: Mapping[str, StudyPreset]
    view: Callable[[Mapping[str, pd.DataFrame]], pd.DataFrame]
    keys: tuple[str, ...]
    paper_table: str | None = None
    note: str = ""
    pairs: Mapping[tuple[str, str, str], tuple[Scoring, Scoring]] = field(default_factory=dict)
    tolerance: Callable[[Mapping[str, str]], float] = lambda row: math.nan
    models: tuple[str, ...] = ()
    too_small: Callable[[PublishedEvidence], str] = no_minimum

    def beside(self, model: str) -> str:
        """A sentence where the paper did not run `model`, on whose numbers stand beside ours; empty where it did."""
        if not self.models or model in self.models:
            return ""
        return f"The paper has no numbers for {model}; ours are shown with those of {self.models[0]}."

    def payload(self, preset: str, seeds: int | None = None, model: str | None = None, first_seed: int = 0,
                conventions: str = readings.AS_PAPER) -> dict[str, Any]:
        """The job's payload: what determines the numbers, the content of data and model too. seeds: how many, from
        `first_seed` on. model: another language model than the preset's. conventions: of `conventions.TITLES`.

        Raises `InvalidInput` where the study runs no language model, or does not compute by these conventions.
        """
        readings.check(self.name, self.study, conventions)
        chosen = self.presets[preset]
        settings = readings.settings(chosen.settings, conventions)
        if model is not None:
            if "model" not in settings:
                raise InvalidInput(f"`{self.name}` uses no language model; leave it out.")
            settings["model"] = model
        return {"study": self.study, "preset": preset, "settings": settings,
                "contents": contents(settings),
                "seeds": list(range(first_seed, first_seed + (seeds or chosen.seeds)))}
