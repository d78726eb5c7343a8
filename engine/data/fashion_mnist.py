"""FashionMNIST, read by torchvision from WHICHFLUENCE_DATA, from our own folder, or from a download."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import socket
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from engine.basics.contents import contents
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

    root = _plain(LOCATION.ready(download, _download))
    (raw_train, y_train), (raw_test, y_test) = _read(root, train=True), _read(root, train=False)
    return Dataset(
        name="fashion_mnist",
        title="FashionMNIST",
        raw_train=raw_train,
        y_train=y_train,
        raw_test=raw_test,
        y_test=y_test,
        class_names=tuple(FashionMNIST.classes),
        image_shape=SHAPE,
        scale=255.0,
        note=f"{len(y_train):,} training and {len(y_test):,} test images of 28 × 28 pixels divided by 255, "
        "by Zalando SE (MIT licence).",
    )


def _plain(root: Path) -> Path:
    """`root` itself where its files are plain, else a copy of it in our own folder, unpacked once.

    torchvision reads plain files only and would unpack them beside the originals, whose folder may be read-only.
    """
    sources = LOCATION.sources(root)
    if all(path.suffix != ".gz" for path in sources):
        return root
    target = downloads() / f"unpacked-{contents(sources)[:16]}"
    if LOCATION.lacking(target):
        with _staged(target) as stage:
            for name, path in zip(FILES, sources, strict=True):
                _unpack(path, stage / RAW / name)
    return target


def _unpack(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (gzip.open if source.suffix == ".gz" else open)(source, "rb") as packed, open(target, "wb") as plain:
            shutil.copyfileobj(packed, plain, 1 << 20)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise MissingData(f"{RAW.as_posix()}/{source.name} is damaged; replace it by the original file.") from None


def _download() -> None:
    from torchvision.datasets import FashionMNIST

    with _staged(downloads()) as stage:
        silence = socket.getdefaulttimeout()
        socket.setdefaulttimeout(SILENCE)
        try:
            FashionMNIST(str(stage), train=True, download=True)
        except (RuntimeError, OSError):
            raise MissingData(LOCATION.unreachable()) from None
        finally:
            socket.setdefaulttimeout(silence)
        for packed in (stage / RAW).glob("*.gz"):
            packed.unlink()


@contextlib.contextmanager
def _staged(target: Path) -> Iterator[Path]:
    """A scratch folder whose FashionMNIST moves to `target` at the end: `target` has all of it or nothing."""
    try:
        downloads().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=downloads(), prefix="partial-") as stage:
            yield Path(stage)
            target.mkdir(parents=True, exist_ok=True)
            _move(Path(stage) / "FashionMNIST", target)
    except MissingData:
        raise
    except OSError as error:
        reason = error.strerror or "it cannot be written"
        raise MissingData(f"FashionMNIST could not be written to {home_name()} ({reason}); "
                          f"set {HOME} to a folder with 120 MB of free space that may be written.") from None


def _move(folder: Path, target: Path) -> None:
    try:
        folder.replace(target / folder.name)
    except OSError:
        if LOCATION.lacking(target):  # what stands there is a remnant, and not another process's finished copy
            shutil.rmtree(target / folder.name, ignore_errors=True)
            folder.replace(target / folder.name)


def _read(root: Path, *, train: bool) -> tuple[np.ndarray, np.ndarray]:
    """(pixels uint8 (n, 784), labels int64 (n,)) of one split, read by torchvision."""
    from torchvision.datasets.mnist import read_image_file, read_label_file

    images_name, labels_name = FILES[:2] if train else FILES[2:]
    try:
        images = read_image_file(str(root / RAW / images_name)).numpy()
        labels = read_label_file(str(root / RAW / labels_name)).numpy()
    except (RuntimeError, ValueError, TypeError, AssertionError, KeyError, OSError):
        images = labels = np.empty(0)
    if images.shape != (len(labels), *SHAPE) or len(labels) == 0 or labels.max() > 9:
        raise MissingData(f"{RAW.as_posix()}/{images_name} or its labels are damaged; replace them under {DATA}, "
                          f"or delete the folder {downloads().name} in {home_name()} and load again.")
    return images.reshape(len(images), -1), labels
