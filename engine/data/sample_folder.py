"""A zip of an image folder to try things with: pictures of the FashionMNIST extract, some in the wrong folder."""

from __future__ import annotations

import io
import zipfile
from functools import lru_cache

import numpy as np
from PIL import Image

from engine.data import fashion_small
from engine.data.image_folder import WRONG_LABELS

NAME = "sample-clothing.zip"
EACH, TESTED, SHARE = 60, 30, 0.1
"""Training and test pictures of each class, and the fraction of the former that lies in another class's folder."""
DATED = (2026, 1, 1, 0, 0, 0)


@lru_cache(maxsize=1)
def sample_zip() -> bytes:
    """The same bytes each time: `train/CLASS/ROW.png`, `test/CLASS/ROW.png` in the right folders, and
    `wrong_labels.txt` with the paths of the misplaced pictures, which is for measuring only.

    Raises `MissingData` where the extract is missing.
    """
    dataset, rng = fashion_small.load(), np.random.default_rng(0)
    names = [name.lower().replace("/", "-").replace(" ", "-") for name in dataset.class_names]
    rows, tested = (np.concatenate([np.flatnonzero(labels == label)[:each] for label in range(len(names))])
                    for labels, each in ((dataset.y_train, EACH), (dataset.y_test, TESTED)))
    wrong = set(rng.choice(rows, round(SHARE * len(rows)), replace=False).tolist())
    listed, buffer = [], io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as packed:
        for row in rows.tolist():
            shift = int(rng.integers(1, len(names))) if row in wrong else 0
            path = f"train/{names[(dataset.y_train[row] + shift) % len(names)]}/{row:04d}.png"
            listed += [path] if row in wrong else []
            packed.writestr(zipfile.ZipInfo(path, DATED), _png(dataset.image("train", row)))
        for row in tested.tolist():
            path = f"test/{names[dataset.y_test[row]]}/{row:04d}.png"
            packed.writestr(zipfile.ZipInfo(path, DATED), _png(dataset.image("test", row)))
        packed.writestr(zipfile.ZipInfo(WRONG_LABELS, DATED), "\n".join(sorted(listed)) + "\n")
    return buffer.getvalue()


def _png(pixels: np.ndarray | None) -> bytes:
    assert pixels is not None, "the extract holds images"
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()
