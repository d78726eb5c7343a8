"""A user's own data by the path of a zip, a folder or an npz, as the source of a search for noisy labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine import data
from engine.applications.noisy_labels import limits
from engine.applications.noisy_labels.source import NoisySource
from engine.data import uploads


def own_source(path: Path, given: Mapping[str, Any]) -> NoisySource:
    """The source of the data at a path, which are kept as an upload is. given: what else is said of the source.

    What is not said fits the data: a model that reads them, and 20 trusted examples of every class or as many as half
    of the scarcest class. Raises `InvalidInput` or `MissingData` with what to do.
    """
    name = uploads.keep_path(path)
    dataset = data.load(name)
    usual = {"model": "mlp" if dataset.image_shape is None else "cnn",
             "trusted": min(20, limits.most_trusted(dataset, own=True))}
    return NoisySource.parse({**usual, **given, "dataset": name})
