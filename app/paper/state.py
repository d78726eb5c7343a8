"""What the Paper page compares, chosen and kept in the address: table, scale, model, data, measure, row."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from app.paper import rows as paper_rows
from app.widgets.choices.selectors import pick, segments
from app.widgets.jobs import reproductions
from app.widgets.words import glossary
from engine.basics.values import capital
from engine.desk import datasets, models
from engine.desk.published import AS_PAPER, EXPERIMENTS, FULL, Published, conventions, reproduction, scales


def choose_conventions() -> str:
    """By which reading of the paper our numbers are computed."""
    return segments("as", "Reading of the paper", list(conventions.TITLES), AS_PAPER,
                    lambda whose: capital(conventions.TITLES[whose]),
                    help="By the text of the paper, or by the authors' public code if the two differ.")


def choose_experiment() -> str:
    """Which table or figure."""
    names = list(EXPERIMENTS)
    return pick("experiment", "Table or figure", names, names[0], lambda name: EXPERIMENTS[name].title, width=640)


def choose_preset(name: str, whose: str) -> str:
    """At which scale; the first that has results is the default, by the paper's words where by no other."""
    presets = EXPERIMENTS[name].presets
    order = sorted(presets, key=lambda preset: (preset != FULL, presets[preset].is_quick_check))
    default = next((preset for reading in (whose, AS_PAPER) for preset in order
                    if reproduction(name, preset, reading) is not None), order[0])
    chosen = segments("preset", "Scale", order, default, reproductions.scale_title)
    title = presets[chosen].title
    glossary.caption(f"{capital(title)}. A full run has {reproductions.seeds(name, chosen)}.")
    return chosen


def choose_model(name: str, preset: str, whose: str) -> str:
    """Which language model ran, by the name that tables give it; empty where the study runs none."""
    experiment = EXPERIMENTS[name]
    if not experiment.models:
        return ""
    own = models.language_model_title(experiment.presets[preset].settings["model"])
    ran = [str(result.table["model"].iloc[0]) for result in scales(name, whose).values()
           if result.manifest["preset"] == preset]
    options = list(dict.fromkeys([own, *(experiment.models if preset == FULL else ()), *ran]))
    if len(options) == 1:
        return own
    return segments("llm", "Language model", options, next((model for model in options if model in ran), own), str)


def choose_dataset(result: Published) -> str | None:
    """On which of a run's datasets; None where it has but one."""
    names = list(result.table["dataset"].unique()) if "dataset" in result.table else []
    if len(names) < 2:
        return None
    return segments("on", "Our data", names, names[-1], datasets.title)


def choose_measure(table: pd.DataFrame) -> str:
    """Which measure of those that a table has."""
    names = paper_rows.measures(table)
    return segments("measure", "Measure", names, names[0], str)


def choose_row(labels: Sequence[str]) -> str:
    """Which row's two questions are shown."""
    return pick("row", "Row", list(labels), labels[0], str, width=640)
