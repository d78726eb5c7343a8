"""A balanced extract of FashionMNIST that is part of the project: 2,000 training and 500 test images of clothing.

`extract` draws it from the whole dataset, `write` puts it beside its manifest; the command `extract-fashion` does both.
The pictures are by Zalando SE, under the MIT licence that lies beside them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from engine.basics.contents import content as digest_of_file
from engine.basics.errors import MissingData
from engine.basics.files import atomic_write, make_folder
from engine.basics.provenance import versions
from engine.data import fashion_mnist
from engine.data.dataset import Dataset, digest

NAME, TITLE = "fashion_small", "FashionMNIST, an extract"
FOLDER = Path(__file__).parents[2] / "assets" / "embedded"
FILE, MANIFEST = f"{NAME}.npz", f"{NAME}.json"
CLASSES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
SIZES = {"train": 2_000, "test": 500}


@dataclass(frozen=True, eq=False)
class Extract:
    """Of both splits: pixels (n, 784) uint8, labels (n,) and rows (n,) of the original split, ascending."""

    pixels: dict[str, np.ndarray]
    labels: dict[str, np.ndarray]
    rows: dict[str, np.ndarray]
    manifest: dict


def extract(seed: int = 0) -> Extract:
    """As many pictures of every class, sampled without replacement from the split of that name. Raises `MissingData`
    where FashionMNIST cannot be had."""
    whole, rng = fashion_mnist.load(), np.random.default_rng(seed)
    pixels, labels, rows = {}, {}, {}
    for split, size in SIZES.items():
        own = whole.labels(split)
        each = size // whole.n_classes
        rows[split] = np.sort(np.concatenate([
            rng.choice(np.flatnonzero(own == label), each, replace=False) for label in range(whole.n_classes)]))
        labels[split] = own[rows[split]]
        pixels[split] = (whole.raw_train if split == "train" else whole.raw_test)[rows[split]]
    manifest = {"source": {"dataset": "fashion_mnist", "content": fashion_mnist.content()}, "seed": seed,
                "sizes": SIZES, "content": digest(*pixels.values(), *labels.values()), "licence": "MIT, Zalando SE",
                "versions": versions()}
    return Extract(pixels, labels, rows, manifest)


def write(sample: Extract, folder: Path) -> None:
    """Pictures and manifest into a folder."""
    arrays: dict[str, Any] = {}
    for split in SIZES:
        arrays |= {f"x_{split}": sample.pixels[split], f"y_{split}": sample.labels[split].astype(np.uint8),
                   f"rows_{split}": sample.rows[split].astype(np.uint16)}
    buffer = BytesIO()
    np.savez_compressed(buffer, **arrays)
    make_folder(folder)
    atomic_write(folder / FILE, buffer.getvalue())
    atomic_write(folder / MANIFEST, json.dumps(sample.manifest, indent=1) + "\n")


def load() -> Dataset:
    """2,000 training and 500 test images, as many of each class; features are pixels / 255, d = 784.

    Raises `MissingData` where its file is missing or damaged.
    """
    try:
        with np.load(FOLDER / FILE, allow_pickle=False) as held:
            arrays = {name: held[name] for name in ("x_train", "y_train", "x_test", "y_test")}
        expected = json.loads((FOLDER / MANIFEST).read_text(encoding="utf-8"))["content"]
    except (OSError, ValueError, KeyError, BadZipFile):
        raise MissingData(_RESTORE) from None
    labels = [arrays[f"y_{split}"].astype(np.int64) for split in SIZES]
    if digest(arrays["x_train"], arrays["x_test"], *labels) != expected:
        raise MissingData(_RESTORE)
    return Dataset(
        name=NAME, title=TITLE, raw_train=arrays["x_train"], y_train=labels[0], raw_test=arrays["x_test"],
        y_test=labels[1], class_names=CLASSES, image_shape=fashion_mnist.SHAPE, scale=255.0,
        note="2,000 training and 500 test images of FashionMNIST, 28 × 28 pixels divided by 255, the same number of "
             "each class, by Zalando SE (MIT licence).")


_RESTORE = ("The file of the FashionMNIST extract is missing or damaged; restore assets/embedded from a fresh copy of "
            "this project.")


def available() -> tuple[bool, str]:
    """Whether its file is here, and a sentence on it."""
    return (True, "Part of the project; no download is needed.") if content() else (False, _RESTORE)


def content() -> str:
    """The digest of its file; empty where it is not here."""
    path = FOLDER / FILE
    return digest_of_file(path) if path.is_file() else ""
