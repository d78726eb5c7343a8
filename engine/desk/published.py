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

from engine.experiments import EXPERIMENTS, FULL, Experiment, collinear, contents, language_tables, publish
from engine.experiments import reproduction as studies
from engine.experiments.differences import differences
from engine.experiments.enough import PublishedEvidence
from engine.experiments.scoreboard import ScoreboardRow, entries
from engine.experiments.statements import STATEMENTS, wording
from engine.experiments.statements.findings import findings
from engine.experiments.statements.statement import CONFIRMED, CONTRADICTED, UNDECIDED, Finding
from engine.experiments.statements.wording import VERDICTS
from engine.jobs import job_digest
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


def evidence() -> tuple[list[ScoreboardRow], list[Finding]]:
    """What all published results say together: of every table and figure, and of every statement of the paper.

    Raises `StoreError` where files do not match their manifest.
    """
    written = tuple(path.stat().st_mtime_ns for path in sorted(publish.folder().glob("*/*/*")))
    return _evidence(str(publish.folder()), written)


@lru_cache(maxsize=4)
def _evidence(root: str, written: tuple[int, ...]) -> tuple[list[ScoreboardRow], list[Finding]]:
    known = findings(STATEMENTS.values(), root)
    return entries(known, root), known


def results(name: str, preset: str) -> pd.DataFrame | None:
    """The published table of a reproduction, e.g. ("figure-4", "paper")."""
    published = _published(name, preset)
    return published.table if published else None


def reproduction(name: str, preset: str) -> Published | None:
    """What was published, else what this machine has computed; None where there is neither.

    Raises `StoreError` where files do not match their manifest.
    """
    return _published(name, preset) or _computed_here(name, preset)


def scales(name: str) -> dict[str, Published]:
    """Every result of a study of language models: the name of its folder, the preset's with that of another model, ->
    what was published there, else what this machine has computed."""
    experiment, root = EXPERIMENTS[name], publish.folder() / name
    names = sorted(path.parent.name for path in root.glob(f"*/{publish.TABLE}")) if root.is_dir() else []
    here = {folder: result for folder in names if (result := _published(name, folder)) is not None}
    for preset in experiment.presets:
        if preset not in here and (result := _computed_here(name, preset)) is not None:
            here[preset] = result
    for digest, preset, folder in _others_here(str(home()), name, int(time.monotonic() / FRESH)):
        if folder not in here and Store(home()).has(digest):
            here[folder] = _from_store(str(home()), digest, name, preset)
    return here


def of_model(name: str, preset: str, model: str) -> Published | None:
    """The result of a preset with a language model, by the name that tables give it."""
    return next((result for result in scales(name).values() if result.manifest["preset"] == preset
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
        own = dict(experiment.presets[preset].settings)
        if settings != own and {**settings, "model": ""} == {**own, "model": ""} and contents.unchanged(payload):
            others.append((result.digest, preset, publish.scale_folder(experiment, result.manifest["payload"], preset)))
    return others


def too_small(name: str, preset: str, result: Published) -> str:
    """Why a result cannot show the effect of its experiment; empty where it can."""
    model = str(result.table["model"].iloc[0]) if "model" in result.table else ""

    def of(other: str) -> PublishedEvidence | None:
        beside = result if other == name else of_model(other, preset, model) if model else reproduction(other, preset)
        return None if beside is None else PublishedEvidence(beside.table, beside.manifest, of)

    given = of(name)
    return EXPERIMENTS[name].too_small(given) if given else ""


def with_paper(experiment: Experiment, table: pd.DataFrame | None, model: str = "") -> pd.DataFrame | None:
    """The paper's cells with ours beside them, as `engine.experiments.publish` joins them; without a table, its alone.

    model: whose, where the paper has several language models. None where the paper gives no numbers.
    """
    path = publish.PAPER / experiment.paper_table if experiment.paper_table else None
    if path is None or not path.is_file():
        return None
    if table is None:
        table = publish.read_table(path).head(0).drop(columns="spread").assign(ci95=0.0, n_seeds=0)
    return publish.comparison_with_paper(table, path, experiment.tolerance, model)


def _published(name: str, preset: str) -> Published | None:
    files = [publish.folder() / name / preset / file for file in (publish.TABLE, publish.MANIFEST)]
    if not all(file.is_file() for file in files):
        return None
    return _read(str(publish.folder()), name, preset, *(file.stat().st_mtime_ns for file in files))


@lru_cache(maxsize=16)
def _read(root: str, name: str, preset: str, *changed: int) -> Published | None:
    published = publish.published(name, preset, root)
    return Published(*published, here=False) if published else None


def _computed_here(name: str, preset: str) -> Published | None:
    experiment = EXPERIMENTS[name]
    digest = job_digest(experiment.study, experiment.payload(preset))
    return _from_store(str(home()), digest, name, preset) if Store(home()).has(digest) else None


@lru_cache(maxsize=16)
def _from_store(root: str, digest: str, name: str, preset: str) -> Published:
    experiment, result = EXPERIMENTS[name], Store(root).read(digest)
    table = experiment.view({table: result.table(table) for table in result.tables})
    return Published(table, publish.manifest(experiment, result, preset), here=True)
