"""What this machine has, as `doctor` prints it."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from engine import data
from engine.basics.folders import writable
from engine.basics.provenance import device_name, versions
from engine.basics.sizes import spell_bytes
from engine.cli.section import section
from engine.data.questions import QUESTIONS
from engine.models.causal import catalogue, loading, stored_trainings
from engine.store.results import home

MODELS_FOLDER = "WHICHFLUENCE_MODELS"


def diagnosis() -> str:
    """Device, versions, the folders in use, and which datasets and models are found."""
    return "\n\n".join([
        section("device", _devices()),
        section("versions", versions().items()),
        section("datasets", ((name, f"{'yes' if available else 'no '}  {text}")
                              for name, available, text in [*data.describe(), *_questions()])),
        section("models", [*_models(), *_embedded()]),
        section("results", [_home(), _trainings()]),
    ])


def _devices() -> list[tuple[str, str]]:
    rows = [("cpu", f"{device_name()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads")]
    rows += [(f"cuda:{number}", device_name(f"cuda:{number}")) for number in range(torch.cuda.device_count())]
    return [*rows, ("auto", "cuda" if torch.cuda.is_available() else "cpu")]


def _models() -> list[tuple[str, str]]:
    named = os.environ.get(MODELS_FOLDER, "").strip()
    if not named:
        return [(MODELS_FOLDER, "is not set; set it to a folder of local language models.")]
    folder = Path(named).expanduser()
    if not folder.is_dir():
        return [(MODELS_FOLDER, f"names `{named}`, which is not a folder; correct it.")]
    return [(path.name, f"found under {MODELS_FOLDER}") for path in sorted(folder.iterdir()) if path.is_dir()] or [
        (MODELS_FOLDER, f"names `{named}`, which holds no folder of a model.")]


def _questions() -> list[tuple[str, bool, str]]:
    return [(name, *source.available()) for name, source in QUESTIONS.items()]


def _embedded() -> list[tuple[str, str]]:
    there = loading.available()
    return [(name, "embedded, needs no download" if name in there else "is missing; restore assets/embedded.")
            for name in catalogue.EMBEDDED]


def _trainings() -> tuple[str, str]:
    trainings = stored_trainings.trainings()
    return "language trainings", f"{len(trainings)}, {spell_bytes(sum(training.size for training in trainings))}"


def _home() -> tuple[str, str]:
    return str(home()), "writable" if writable(home()) else "not writable; set WHICHFLUENCE_HOME"
