"""A user's own data by the path of a zip, a folder or an npz, as the source of a search for noisy labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine import data
from engine.applications.noisy_labels import limits
from engine.applications.noisy_labels.learners import learner
from engine.applications.noisy_labels.origin import IN_TURN
from engine.applications.noisy_labels.source import NoisyData, NoisySource
from engine.data import uploads
from engine.data.image_folder import UNREADABLE
from engine.models.catalogue import LOGISTIC, PRETRAINED
from engine.problems.families.pretrained import reads_pretrained


def own_source(path: Path, given: Mapping[str, Any], read: Mapping[str, Any] | None = None) -> NoisySource:
    """The source of the data at a path, which are kept as an upload is. given: what else is said of the source; read:
    how the data are read, fields of `UploadOptions`.

    What is not said fits the data: a model that reads them, and 20 trusted examples of every class or as many as half
    of the scarcest class; where the data bring no verified labels, none is trusted, and each part of them is held out
    in turn. Raises `InvalidInput` or `MissingData` with what to do.
    """
    name = uploads.keep_path(path, **read or {})
    return NoisySource.parse({**usual(data.load(name), given.get("model", "")), **given, "dataset": name})


def usual(dataset: data.Dataset, model: str = "") -> dict[str, Any]:
    """What fits a user's own data and a model, by default `usual_model`, where nothing else is said."""
    chosen = {"model": model or usual_model(dataset)}
    if limits.goes_in_turn(dataset):
        return {**chosen, "trusted_from": IN_TURN, "folds": limits.most_folds(dataset, learner(chosen["model"]).folds)}
    return {**chosen, "trusted": min(20, limits.most_trusted(dataset, own=True))}


def usual_model(dataset: data.Dataset) -> str:
    """What judges a user's own data where nothing else is said: a regression on pretrained features of pictures and
    texts, and on the columns of other tables."""
    return PRETRAINED if reads_pretrained(dataset) else LOGISTIC


def coverage(data: NoisyData) -> str:
    """Which of a user's own examples are searched, and why others are not, as a sentence or two."""
    dataset, searched = data.dataset, len(data.rows)
    beside = {
        "beyond the number to search": len(dataset.y_train) - searched,
        "verified, or held out to measure accuracy": 0 if dataset.test_from_train else len(dataset.y_test),
        "held out to be trusted or to measure accuracy, with labels that are unverified too":
            len(dataset.y_test) if dataset.test_from_train else 0,
        "not readable": sum(why == UNREADABLE for _, why in dataset.left_out),
        "in classes that are left out": _left_out(data)}
    whole = searched + sum(beside.values())
    reasons = "; ".join(f"{count:,} {why}" for why, count in beside.items() if count)
    return f"{searched:,} of {whole:,} examples are searched." + (f" Not searched: {reasons}." if reasons else "")


def _left_out(data: NoisyData) -> int:
    """How many examples the reading leaves out."""
    chosen = uploads.reading(data.source.dataset)
    if not any(name == "" for name in chosen.classes.values()):
        return 0
    before = uploads.read(chosen.model_copy(update={"classes": {}, "trusted": {}}), data.source.dataset)
    return (len(before.y_train) + len(before.y_test)) - (len(data.dataset.y_train) + len(data.dataset.y_test))
