"""Models as a front end offers them: what they are called, a user's own weights, and what trainings left on disk."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from torch import nn

from engine.applications.language.trainings import busy
from engine.applications.language.trainings import delete as delete_training
from engine.applications.language.trainings import title as training_title
from engine.models import layers, own_weights
from engine.models.catalogue import OWN, OWNED, model_title
from engine.models.causal.catalogue import HUB, PAPER_MODEL, SMALL_MODEL, is_embedded
from engine.models.causal.catalogue import model_title as language_model_title
from engine.models.causal.loading import absolute
from engine.models.causal.loading import available as local_models
from engine.models.causal.loading import check as check_language_model
from engine.models.causal.recipe import FineTuning
from engine.models.causal.stored_trainings import StoredTraining as Training
from engine.models.causal.stored_trainings import trainings
from engine.models.cifar_forms import FORMS
from engine.models.network import ALL, LAST_BLOCK, LAST_LAYER
from engine.models.recipe import Recipe, TrainingRecipe
from engine.models.recorded import stored_recordings as recordings
from engine.problems.source import SOFTMAX, problem_class

WEIGHT_FILES = (*own_weights.SUFFIXES, recordings.SUFFIX)

is_recording = recordings.is_recording


def own_models() -> tuple[str, ...]:
    """The models that a user's own code registered."""
    return tuple(OWNED)


def recorded_runs() -> list[str]:
    """The names of the recordings on this machine, the newest first."""
    return [name for name, _, _ in sorted(recordings.FOLDERS.all(), key=lambda entry: -entry[1])]


def weights_sentence(name: str, recipe: TrainingRecipe | None = None) -> str:
    """What is known of how a user's own weights were trained. Raises `MissingData` where they are not there."""
    if not recordings.is_recording(name):
        return ("They are assumed to have been trained by the recipe given at start-up; trajectories are not available."
                if recipe else
                "It is unknown how they were trained, so trajectories and retraining are not available.")
    return recordings.facts(name).sentence


def keep_weights(file: BinaryIO, filename: str, build: Callable[[], nn.Module]) -> str:
    """The name under which weights or a zipped recording are kept. Raises `InvalidInput` where they do not fit."""
    if filename.lower().endswith(recordings.SUFFIX):
        return recordings.keep_zip(file, build)
    return own_weights.keep(file, filename, build())
