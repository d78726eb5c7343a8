"""CIFAR-10, decoded from the Hugging Face hub's parquet files under WHICHFLUENCE_DATA, our own folder or a download."""

from __future__ import annotations

import io
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import numpy as np

from engine.basics.contents import content as file_content
from engine.basics.errors import MissingData, StoreError
from engine.basics.files import atomic_write
from engine.basics.folders import DATA, HOME, home_name
from engine.data.dataset import SPLITS, Dataset
from engine.data.locations import Location, downloads

FOLDER = Path("cifar10") / "plain_text"
FILES = {split: f"{split}-00000-of-00001.parquet" for split in SPLITS}
REPOSITORY = "uoft-cs/cifar10"
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SHAPE = (32, 32, 3)
LOCATION = Location("CIFAR-10", FOLDER, tuple(FILES.values()), "144 MB",
                    f"set {DATA} to a folder that holds {FOLDER.as_posix()}/*.parquet")
available = LOCATION.available
content = LOCATION.content


def load(*, download: bool = True) -> Dataset:
    """50,000 training and 10,000 test photographs of ten classes; features are pixels / 255, d = 3,072.

    Looked for under WHICHFLUENCE_DATA, then under WHICHFLUENCE_HOME, and if `download` is allowed fetched there. The
    decoded pixels are cached in our own folder, so that a second load reads them at once.
    Raises MissingData if it is nowhere, cannot be fetched, or is damaged.
    """
    root = LOCATION.ready(download, _download)
    (raw_train, y_train), (raw_test, y_test) = (_read(root / FOLDER / FILES[split]) for split in SPLITS)
    return Dataset(
        name="cifar10", title="CIFAR-10", raw_train=raw_train, y_train=y_train, raw_test=raw_test, y_test=y_test,
        class_names=CLASSES, image_shape=SHAPE, scale=255.0,
        note=f"{len(y_train):,} training and {len(y_test):,} test photographs of 32 × 32 pixels in three colours "
        "divided by 255 (Krizhevsky 2009).")


def _download() -> None:
    """Both files from the hub; each gets its name when it is whole."""
    from huggingface_hub import hf_hub_download

    target = downloads() / FOLDER.parts[0]
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MissingData(f"CIFAR-10 cannot be downloaded to {home_name()} ({error.strerror}); set {HOME} to a folder "
                          "with 400 MB of free space that you may write to.") from None
    try:
        for name in LOCATION.lacking(downloads()):
            hf_hub_download(repo_id=REPOSITORY, repo_type="dataset", filename=f"{FOLDER.name}/{name}", local_dir=target)
    except Exception:  # the hub raises its own errors, those of its HTTP client and those of the disk
        raise MissingData(LOCATION.unreachable()) from None
    if lacking := LOCATION.lacking(downloads()):
        raise MissingData(f"The download of CIFAR-10 has no {lacking[0]}; {LOCATION.remedy}.")


def _read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """(pixels uint8 (n, 3072), labels int64 (n,)) of one split; the pixels as decoded the first time."""
    import pyarrow.parquet as parquet

    try:
        labels = parquet.read_table(path, columns=["label"])["label"].to_numpy().astype(np.int64)
    except (OSError, ValueError, KeyError, TypeError):  # pyarrow's errors are ValueErrors
        raise MissingData(_damaged(path)) from None
    if len(labels) == 0 or not 0 <= labels.min() <= labels.max() < len(CLASSES):
        raise MissingData(_damaged(path))
    name = f"cifar10-{file_content(path)[:16]}"
    pixels = _cached(name, len(labels))
    if pixels is None:
        pixels = _decode(path, len(labels))
        with suppress(OSError, StoreError):  # decoded again the next time
            _write(name, pixels)
    return pixels, labels


def _cached(name: str, n: int) -> np.ndarray | None:
    """The pixels that were decoded before, mapped into memory; None where there are none, or other bytes than were
    written: a file's name ends in the digest of its content."""
    for path in downloads().glob(f"{name}-*.npy"):
        with suppress(OSError, ValueError, EOFError):
            if path.stem == f"{name}-{file_content(path)[:16]}":
                pixels = np.load(path, mmap_mode="r", allow_pickle=False)
                return pixels if pixels.shape == (n, np.prod(SHAPE)) else None
    return None


def _write(name: str, pixels: np.ndarray) -> None:
    packed = io.BytesIO()
    np.save(packed, pixels, allow_pickle=False)
    downloads().mkdir(parents=True, exist_ok=True)
    for path in downloads().glob(f"{name}*.npy"):
        path.unlink()
    atomic_write(downloads() / f"{name}-{sha256(packed.getbuffer()).hexdigest()[:16]}.npy", packed.getvalue())


def _decode(path: Path, n: int) -> np.ndarray:
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet
    from PIL import Image

    pixels = np.empty((n, *SHAPE), dtype=np.uint8)
    try:
        packed = compute.struct_field(parquet.read_table(path, columns=["img"])["img"], "bytes")
        for row, content in enumerate(packed):
            with Image.open(io.BytesIO(content.as_py()), formats=("PNG", "JPEG")) as image:
                if image.size != SHAPE[:2]:  # before anything is decoded
                    raise ValueError("another size")
                pixels[row] = np.asarray(image.convert("RGB"))
    except (OSError, ValueError, KeyError, TypeError, SyntaxError, NotImplementedError):
        raise MissingData(_damaged(path)) from None
    return pixels.reshape(n, -1)


def _damaged(path: Path) -> str:
    return (f"{FOLDER.as_posix()}/{path.name} is damaged or not a CIFAR-10 parquet file; replace it in {DATA}, or "
            f"delete {downloads().name}/{FOLDER.as_posix()} in {home_name()} and load again.")
