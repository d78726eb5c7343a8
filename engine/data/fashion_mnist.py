"""FashionMNIST in torchvision's layout: from WHICHFLUENCE_DATA, from our own folder, or from a download."""

from __future__ import annotations

import gzip
import shutil
import socket
import tempfile
import zlib
from pathlib import Path

import numpy as np

from engine.basics.errors import MissingData
from engine.basics.folders import DATA, HOME, home_name
from engine.data.dataset import Dataset
from engine.data.locations import Location, downloads

RAW = Path("FashionMNIST") / "raw"
FILES = tuple(f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1"))
SHAPE = (28, 28)
LOCATION = Location("FashionMNIST", RAW, FILES, "31 MB",
                    f"set {DATA} to a folder that holds {RAW.as_posix()}/*-ubyte.gz", packed=".gz")
available = LOCATION.available
content = LOCATION.content
SILENCE = 30.0  # seconds without a byte after which a download is given up


def load(*, download: bool = True) -> Dataset:
    """60,000 training and 10,000 test images of clothing; features are pixels / 255, d = 784.

    Looked for under WHICHFLUENCE_DATA, then under WHICHFLUENCE_HOME, and if `download` is allowed fetched there.
    Raises MissingData if it is nowhere, cannot be fetched, or is damaged.
    """
    from torchvision.datasets import FashionMNIST

    paths = LOCATION.sources(LOCATION.ready(download, _download))
    (raw_train, y_train), (raw_test, y_test) = _split(*paths[:2]), _split(*paths[2:])
    return Dataset(
        name="fashion_mnist", title="FashionMNIST", raw_train=raw_train, y_train=y_train, raw_test=raw_test,
        y_test=y_test, class_names=tuple(FashionMNIST.classes), image_shape=SHAPE, scale=255.0,
        note=f"{len(y_train):,} training and {len(y_test):,} test images of 28 × 28 pixels divided by 255, "
        "by Zalando SE (MIT licence).")


def _download() -> None:
    """The plain files, all of them or none: they move to our own folder when all are there."""
    from torchvision.datasets import FashionMNIST

    target, silence = downloads() / "FashionMNIST", socket.getdefaulttimeout()
    try:
        downloads().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=downloads(), prefix="partial-") as stage:
            socket.setdefaulttimeout(SILENCE)
            try:
                FashionMNIST(stage, train=True, download=True)
            except (RuntimeError, OSError):
                raise MissingData(LOCATION.unreachable()) from None
            finally:
                socket.setdefaulttimeout(silence)
            for packed in (Path(stage) / RAW).glob("*.gz"):
                packed.unlink()
            if LOCATION.lacking(downloads()):  # what stands there is a remnant, and not another process's finished copy
                shutil.rmtree(target, ignore_errors=True)
                (Path(stage) / "FashionMNIST").replace(target)
    except MissingData:
        raise
    except OSError as error:
        reason = error.strerror or "it cannot be written"
        raise MissingData(f"FashionMNIST could not be written to {home_name()} ({reason}); "
                          f"set {HOME} to a folder with 120 MB of free space that you may write to.") from None


def _split(images: Path, labels: Path) -> tuple[np.ndarray, np.ndarray]:
    """(pixels uint8 (n, 784), labels int64 (n,)) of one split."""
    try:
        pixels, classes = _idx(images, 3), _idx(labels, 1)
        if pixels.shape != (len(classes), *SHAPE) or not len(classes) or classes.max() > 9:
            raise ValueError("images and labels that do not match")
    except (ValueError, OSError, EOFError, zlib.error):
        raise MissingData(f"{RAW.as_posix()}/{images.name} or its labels are damaged; replace them in {DATA}, "
                          f"or delete the folder {downloads().name} in {home_name()} and load again.") from None
    return pixels.reshape(len(pixels), -1), classes.astype(np.int64)


def _idx(path: Path, axes: int) -> np.ndarray:
    """An array of bytes in the IDX format: 0x00000800 + its number of axes and their lengths, 4 bytes each, big-endian.
    Raises `ValueError` for another file, and as reading does."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        content = file.read()
    magic, *shape = np.frombuffer(content, ">u4", axes + 1).tolist()
    if magic != 0x800 + axes:
        raise ValueError("another format")
    return np.frombuffer(content, np.uint8, offset=4 * (axes + 1)).reshape(shape)
