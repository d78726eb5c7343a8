"""Published results: the small files under assets/results, and a reproduction that this machine has finished.

WHICHFLUENCE_RESULTS names another folder in place of assets/results.
"""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd

from engine.experiments import (
    EXPERIMENTS,
    FULL,
    Experiment,
    collinear,
    contents,
    conventions,
    language_tables,
    paper_numbers,
    publish,
)
from engine.experiments import reproduction as studies
from engine.experiments.conventions import AS_PAPER
from engine.experiments.differences import differences
from engine.experiments.enough import PublishedEvidence
from engine.experiments.paper_numbers import STORED
from engine.experiments.scoreboard import ScoreboardRow, entries
from engine.experiments.statements import STATEMENTS, wording
from engine.experiments.statements.findings import findings
from engine.experiments.statements.statement import CONFIRMED, CONTRADICTED, ONE_SEED, UNDECIDED, Finding
from engine.experiments.statements.wording import VERDICTS
from engine.store.results import Store, home

FOLDER = publish.FOLDER
FRESH = 5.0
"""Seconds for which the list of finished runs is not read again."""


@dataclass(frozen=True)
class Published:
    """A reproduction: its table, its manifest, and whether it came with the program or was computed here."""

    table: pd.DataFrame
    manifest: dict[str, Any]
    here: bool


def evidence(whose: str = AS_PAPER) -> tuple[list[ScoreboardRow], list[Finding]]:
    """What all results published by some conventions say together: of every table and figure, and of every statement of
    the paper.

    Raises `StoreError` where files do not match their manifest.
    """
    written = tuple(path.stat().st_mtime_ns for path in sorted(publish.folder().glob("*/*/*")))
    return _evidence(str(publish.folder()), whose, written)


@lru_cache(maxsize=4)
def _evidence(root: str, whose: str, written: tuple[int, ...]) -> tuple[list[ScoreboardRow], list[Finding]]:
    known = findings(STATEMENTS.values(), root, whose)
    return entries(known, root, whose), known


def results(name: str, preset: str) -> pd.DataFrame | None:
    """The published table of a reproduction, e.g. ("figure-4", "paper")."""
    published = _published(name, preset)
    return published.table if published else None


def reproduction(name: str, preset: str, whose: str = AS_PAPER) -> Published | None:
    """What was published by some conventions, else what this machine has computed; None where there is neither.

    Raises `StoreError` where files do not match their manifest.
    """
    return _published(name, conventions.folder(preset, whose)) or _computed_here(name, preset, whose)


def scales(name: str, whose: str = AS_PAPER) -> dict[str, Published]:
    """Every result of a study of language models: the name of its folder, the preset's with that of another model, ->
    what was published there, else what this machine has computed."""
    names = publish.scales(name, publish.folder(), whose)
    here = {folder: result for folder in names if (result := _published(name, folder)) is not None}
    for preset in EXPERIMENTS[name].presets:
        folder = conventions.folder(preset, whose)
        if folder not in here and (result := _computed_here(name, preset, whose)) is not None:
            here[folder] = result
    for digest, preset, folder in _others_here(str(home()), name, int(time.monotonic() / FRESH)):
        if folder not in here and conventions.of_folder(folder) == whose and Store(home()).has(digest):
            here[folder] = _from_store(str(home()), digest, name, preset)
    return here


def of_model(name: str, preset: str, model: str, whose: str = AS_PAPER) -> Published | None:
    """The result of a preset with a language model, by the name that tables give it."""
    return next((result for result in scales(name, whose).values() if result.manifest["preset"] == preset
                 and str(result.table["model"].iloc[0]) == model), None)


@lru_cache(maxsize=16)
def _others_here(root: str, name: str, moment: int) -> list[tuple[str, str, str]]:
    """(digest, preset, folder) of finished runs of a study with a model that is not the preset's own."""
    experiment, others = EXPERIMENTS[name], []
    for result in Store(root).entries():
        payload = result.manifest.get("payload") or {}
        preset, settings = str(payload.get("preset")), payload.get("settings") or {}
        if result.manifest.get("kind") != experiment.study or preset not in experiment.presets:
            continue
        own = conventions.settings(experiment.presets[preset].settings, conventions.of(settings))
        if settings != own and {**settings, "model": ""} == {**own, "model": ""} and contents.unchanged(payload):
            others.append((result.digest, preset, publish.scale_folder(experiment, result.manifest["payload"], preset)))
    return others


def too_small(name: str, preset: str, result: Published) -> str:
    """Why a result cannot show the effect of its experiment; empty where it can."""
    model = str(result.table["model"].iloc[0]) if "model" in result.table else ""
    whose = str(result.manifest.get(conventions.KEY, AS_PAPER))

    def of(other: str) -> PublishedEvidence | None:
        beside = (result if other == name else of_model(other, preset, model, whose) if model
                  else reproduction(other, preset, whose))
        return None if beside is None else PublishedEvidence(beside.table, beside.manifest, of)

    given = of(name)
    return EXPERIMENTS[name].too_small(given) if given else ""


def with_paper(experiment: Experiment, table: pd.DataFrame | None, model: str = "", whose: str = AS_PAPER
               ) -> pd.DataFrame | None:
    """The paper's cells with ours beside them, as `engine.experiments.publish` joins them; without a table, its alone.

    model: which, where the paper has several language models. whose: the conventions of the table. None where neither
    the paper nor its authors' files give numbers.
    """
    cells = paper_numbers.cells(experiment)
    if cells is None:
        return None
    if table is None:
        own = [column for column in cells if column not in ("spread", paper_numbers.ORIGIN, paper_numbers.FLAG)]
        table = cells.head(0)[own].assign(ci95=0.0, n_seeds=0)
    table = paper_numbers.in_paper_names(table, whose, cells)
    return publish.comparison_with_paper(table, cells, experiment.tolerance, model)


def _published(name: str, preset: str) -> Published | None:
    files = [publish.folder() / name / preset / file for file in (publish.TABLE, publish.MANIFEST)]
    if not all(file.is_file() for file in files):
        return None
    return _read(str(publish.folder()), name, preset, *(file.stat().st_mtime_ns for file in files))


@lru_cache(maxsize=16)
def _read(root: str, name: str, preset: str, *changed: int) -> Published | None:
    published = publish.published(name, preset, root)
    return Published(*published, here=False) if published else None


def _computed_here(name: str, preset: str, whose: str) -> Published | None:
    if whose not in studies.offered(name):
        return None
    digest = studies.digest(name, preset, conventions=whose)
    return _from_store(str(home()), digest, name, preset) if Store(home()).has(digest) else None


@lru_cache(maxsize=16)
def _from_store(root: str, digest: str, name: str, preset: str) -> Published:
    experiment, result = EXPERIMENTS[name], Store(root).read(digest)
    table = experiment.view({table: result.table(table) for table in result.tables})
    return Published(table, publish.manifest(experiment, result, preset), here=True)
