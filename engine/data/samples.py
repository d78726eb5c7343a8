"""A few examples of an upload, for a small picture of it."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from engine.data import originals, uploads
from engine.data.image_folder import EXTENSIONS
from engine.store.sketch import Pictures, Sketch, Words

EXAMPLES, SIDE, LONGEST = 4, 56, 120
MOST_LOADED = 20_000_000
"""Bytes of a file that is loaded whole for this."""


def sketch(name: str) -> Sketch | None:
    """Pictures of as many classes, or the first words; None for numbers, and for a file that is too large to be
    loaded for this. Raises as loading does."""
    path = uploads.base(name)
    if path.suffix == uploads.PICTURES:
        return _of_folders(name)
    if path.stat().st_size > MOST_LOADED:
        return None
    dataset = uploads.load(name)
    if uploads.holds_records(name):
        record = dataset.record("train", 0)
        return words(record.prompt) if record else None
    rows = _of_classes(dataset.y_train.tolist())
    images = [image for row in rows if (image := dataset.image("train", row)) is not None]
    return Pictures(tuple(map(_png, images)), f"{len(images)} of its images") if images else None


def words(text: str) -> Words:
    """The first words of a text."""
    line = " ".join(text.split())
    return Words(line if len(line) <= LONGEST else f"{line[:LONGEST - 1]}…")


def _of_folders(name: str) -> Sketch | None:
    """The first picture of each of a few folders of a zip."""
    path = uploads.base(name)
    files = originals.first_of_folders(path, EXTENSIONS, EXAMPLES)
    images = [image for file in files if (image := originals.thumbnail(path, file, (file,), SIDE))]
    return Pictures(tuple(images), f"{len(images)} of its images") if images else None


def _of_classes(labels: list[int]) -> list[int]:
    """The first row of each of a few classes."""
    first: dict[int, int] = {}
    for row, label in enumerate(labels):
        first.setdefault(label, row)
        if len(first) == EXAMPLES:
            break
    return list(first.values())


def _png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()
