"""A user's own pictures as an ImageFolder (one folder a class), or as a zip of one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from engine.basics.errors import InvalidInput, MissingData
from engine.data.archive import MAX_BYTES, Source, megabytes, open_zip, unpack
from engine.data.colour import FORMATS, any_coloured
from engine.data.dataset import Dataset

MODES = {"grayscale": "L", "rgb": "RGB"}
AS_THEY_ARE = "as they are"
USUAL_SIZES = {"grayscale": 28, "rgb": 32}
EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".pgm", ".bmp", ".tif", ".tiff", ".webp")
MAX_PIXELS = 50_000_000
WRONG_LABELS = "wrong_labels.txt"
SIZES = (4, 256)


@dataclass(frozen=True)
class Options:
    """How pictures are read. size: pixels a side after resizing, by default 28, and 32 where pictures in colour are
    read as they are. color: `grayscale`, `rgb`, or `as they are`, which is `rgb` where one of them is in colour.

    max_images, max_bytes: what a folder, and its pixels once read, have to stay within. seed: of the train/test
    split where the folder brings none. test_share: the share of pictures that this split holds out.
    """

    size: int | None = None
    color: str = "grayscale"
    max_images: int = 20_000
    max_bytes: int = MAX_BYTES
    seed: int = 0
    test_share: float = 0.25

    def __post_init__(self) -> None:
        if self.size is not None and (isinstance(self.size, bool) or not isinstance(self.size, Integral)
                                      or not SIZES[0] <= self.size <= SIZES[1]):
            raise InvalidInput(f"The image size is {self.size!r}; give a whole number from {SIZES[0]} to {SIZES[1]}.")
        if self.color not in (*MODES, AS_THEY_ARE):
            raise InvalidInput(f"The color is {self.color!r}; choose `grayscale` or `rgb`.")
        if not 0 < self.test_share <= 0.5:
            raise InvalidInput(f"The test share is {self.test_share!r}; give a number above 0 and up to 0.5.")
        if isinstance(self.seed, bool) or not isinstance(self.seed, Integral) or not 0 <= self.seed < 2**32:
            raise InvalidInput(f"The split seed is {self.seed!r}; give a whole number from 0 to {2**32 - 1}.")

    def settled(self, root: Path) -> Options:
        """With a colour and a size for the pictures below `root`."""
        if self.color == AS_THEY_ARE:
            found = [path for path in sorted(root.rglob("*")) if _is_picture(path.relative_to(root).as_posix())]
            color = "rgb" if any_coloured(found) else "grayscale"
            return replace(self, color=color, size=self.size or USUAL_SIZES[color])
        return self if self.size else replace(self, size=USUAL_SIZES["grayscale"])

    @property
    def side(self) -> int:
        """`size`, once it is settled."""
        assert self.size is not None, "a size that is not settled"
        return self.size

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.side, self.side) if self.color == "grayscale" else (self.side, self.side, 3)


@dataclass(frozen=True)
class Split:
    """The pictures of one folder: pixels (n, d) uint8, labels (n,) int64, class names, files that were skipped, and
    the path of every picture relative to the root."""

    pixels: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    skipped: tuple[str, ...]
    files: tuple[str, ...] = ()


def load_image_folder(source: Source, *, name: str = "image_folder", title: str = "Your images",
                      **options: Any) -> Dataset:
    """A folder `root/CLASS/*`, or `root/train/CLASS/*` with `root/test/CLASS/*`, or a zip of either, as a Dataset.

    source: the path of a folder or zip, or a binary file that is a zip. options: the fields of `Options`.
    Pictures are turned upright, resized to size × size and held as uint8; a feature is a pixel / 255. Files that
    cannot be read are skipped, counted in `note` and listed in `skipped`. Without a test folder, the split is
    stratified by class and fixed by `seed`. A file `wrong_labels.txt` in the root may list the pictures whose label is
    known to be wrong, one path a line.
    Raises MissingData if there is no such path; InvalidInput for fewer than two classes, a class without
    pictures, too many or too large pictures, or a zip that is damaged or reaches outside of itself.
    """
    choices = _options(options)
    if isinstance(source, str | Path):
        if not Path(source).exists():
            raise MissingData(f"There is no image folder or zip `{source}`; check the path.")
        if Path(source).is_dir():
            return _load(Path(source), name, title, choices)
    with open_zip(source, "zip", choices.max_bytes) as archive, tempfile.TemporaryDirectory() as scratch:
        unpack(archive, Path(scratch), "zip", is_wanted, 10 * choices.max_images)
        return _load(_inner(Path(scratch)), name, title, choices)


def _options(options: dict) -> Options:
    try:
        return Options(**options)
    except TypeError:
        known = ", ".join(f"`{key}`" for key in Options.__dataclass_fields__)
        raise InvalidInput(f"An image folder has no such option as one of {sorted(options)}; known: {known}.") from None


def _load(root: Path, name: str, title: str, options: Options) -> Dataset:
    options = options.settled(root)
    brings_test = (root / "train").is_dir() and (root / "test").is_dir()
    if brings_test:
        train = _read(root / "train", root, options, seen=0)
        test = _aligned(_read(root / "test", root, options, seen=len(train.labels)), train.classes)
    else:
        train, test = _divided(_read(root, root, options, seen=0), options)
    skipped = train.skipped + test.skipped
    flags, test_flags = _known_flags(root, train, test)
    return Dataset(
        name=name,
        title=title,
        raw_train=train.pixels,
        y_train=train.labels,
        raw_test=test.pixels,
        y_test=test.labels,
        class_names=train.classes,
        image_shape=options.shape,
        scale=255.0,
        skipped=skipped,
        flags=flags,
        test_flags=test_flags,
        test_origin="" if not brings_test else "`test` folder",
        test_drawn=not brings_test,
        files=train.files,
        test_files=test.files,
        note=f"{len(train.labels):,} training and {len(test.labels):,} test images of {options.size} × "
        f"{options.size} {options.color} pixels divided by 255, your own" + _skip_clause(skipped) + ".",
    )


def _known_flags(root: Path, train: Split, test: Split) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(n,) bool over the training and the test pictures, or None where no file says which labels are wrong."""
    path = root / WRONG_LABELS
    if not path.is_file():
        return None, None
    try:
        listed = {line.strip().removeprefix("./") for line in path.read_text(encoding="utf-8-sig").splitlines()}
    except (OSError, ValueError):
        raise InvalidInput(f"`{WRONG_LABELS}` cannot be read; save it as plain UTF-8 text, one path a line.") from None
    unknown = sorted(listed - {""} - {*train.files, *test.files, *train.skipped, *test.skipped})
    if unknown:
        raise InvalidInput(f"`{WRONG_LABELS}` lists `{unknown[0][:80]}`, which is not a picture of the folder; give "
                           "paths relative to it.")
    return np.isin(np.array(train.files), list(listed)), np.isin(np.array(test.files), list(listed))


def _skip_clause(skipped: tuple[str, ...]) -> str:
    if not skipped:
        return ""
    more = ", …" if len(skipped) > 3 else ""
    files = "file" if len(skipped) == 1 else "files"
    return f"; {len(skipped):,} unreadable {files} skipped ({', '.join(skipped[:3])}{more})"


def _is_picture(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return path.lower().endswith(EXTENSIONS) and "__MACOSX" not in parts and not parts[-1].startswith(".")


def is_wanted(path: str) -> bool:
    """Whether a file of a folder is read at all: a picture, or the list of wrong labels."""
    return _is_picture(path) or PurePosixPath(path).name == WRONG_LABELS


def _visible(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if not path.name.startswith(".") and path.name != "__MACOSX")


def _inner(root: Path) -> Path:
    """Below the wrapping folders that packing a folder usually adds, down to where the classes are."""
    inside = _visible(root)
    while len(inside) == 1 and inside[0].is_dir() and any(path.is_dir() for path in _visible(inside[0])):
        root, inside = inside[0], _visible(inside[0])
    return root


def _folder(root: Path, base: Path, options: Options, seen: int) -> tuple[list[tuple[str, int]], tuple[str, ...]]:
    """The (path, label) pairs and class names that torchvision's ImageFolder finds, within the limits."""
    from torchvision.datasets import ImageFolder

    class Visible(ImageFolder):
        def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
            names = [path.name for path in _visible(Path(directory)) if path.is_dir()]
            return names, {name: label for label, name in enumerate(names)}

    where = "the folder" if root == base else f"`{root.name}`"
    if len([path for path in _visible(root) if path.is_dir()]) == 0:
        raise InvalidInput(f"There are no class folders in {where}; put the images of each class into a folder.")
    folder = Visible(str(root), is_valid_file=_limited(options.max_images, seen), allow_empty=True)
    found = np.bincount(folder.targets, minlength=len(folder.classes))
    if not found.all():
        raise InvalidInput(f"The class `{folder.classes[int(np.argmin(found))]}` in {where} has no images "
                           f"({', '.join(EXTENSIONS)}); add some, or remove its folder.")
    return folder.samples, tuple(folder.classes)


def _limited(max_images: int, seen: int) -> Callable[[str], bool]:
    """A test for pictures that stops the walk over a folder as soon as there are too many files."""
    counts = {"pictures": seen, "files": seen}

    def valid(path: str) -> bool:
        picture = _is_picture(Path(path).as_posix())
        counts["pictures"] += picture
        counts["files"] += 1
        if counts["pictures"] > max_images or counts["files"] > 10 * max_images:
            raise InvalidInput(f"The folder has more than {max_images:,} images; give fewer, or raise the limit.")
        return picture

    return valid


def _read(root: Path, base: Path, options: Options, seen: int) -> Split:
    """Read every picture below `root`; file names in sentences are relative to `base`."""
    samples, classes = _folder(root, base, options, seen)
    size = sum(Path(path).stat().st_size for path, _ in samples)
    if size >= options.max_bytes:
        raise InvalidInput(f"The images have {megabytes(size)}; give a folder below {megabytes(options.max_bytes)}.")
    shape = (seen + len(samples), int(np.prod(options.shape)))
    if shape[0] * shape[1] >= options.max_bytes:
        raise InvalidInput(f"{shape[0]:,} images of size {options.size} take {megabytes(shape[0] * shape[1])}, above "
                           f"{megabytes(options.max_bytes)}; choose a smaller size or fewer images.")
    rows, labels, skipped, files = [], [], [], []
    for path, label in samples:
        relative = Path(path).relative_to(base).as_posix()
        row = _pixels(path, relative, options)
        if row is None:
            skipped.append(relative)
        else:
            rows.append(row)
            labels.append(label)
            files.append(relative)
    missing = sorted(set(range(len(classes))) - set(labels))
    if missing:
        raise InvalidInput(f"None of the images of the class `{classes[missing[0]]}` can be read; replace them.")
    return Split(np.stack(rows), np.array(labels, dtype=np.int64), classes, tuple(skipped), tuple(files))


def _pixels(path: str, relative: str, options: Options) -> np.ndarray | None:
    """One picture as uint8 (d,); None where it cannot be read."""
    side = (options.side, options.side)
    try:
        with Image.open(path, formats=FORMATS) as image:
            too_large = image.width * image.height > MAX_PIXELS
            if not too_large:
                image.draft(MODES[options.color], (2 * side[0], 2 * side[1]))
                upright = _eight_bit(ImageOps.exif_transpose(image)).convert(MODES[options.color])
                resized = upright.resize(side, Image.Resampling.BILINEAR, reducing_gap=2.0)
                return np.asarray(resized, dtype=np.uint8).reshape(-1)
    except (Image.DecompressionBombError, MemoryError):
        too_large = True
    except Exception:  # Pillow's decoders raise nearly any type on a damaged file
        return None
    raise InvalidInput(f"`{relative}` unpacks to more than {MAX_PIXELS / 1e6:.0f} million pixels; shrink or remove it.")


def _eight_bit(image: Image.Image) -> Image.Image:
    """Scale 16-bit gray to 8 bits, which Pillow's own conversion clips to white."""
    if not image.mode.startswith("I"):
        return image
    return Image.fromarray((np.asarray(image).astype(np.int64).clip(0, 65535) // 257).astype(np.uint8))


def _aligned(test: Split, classes: tuple[str, ...]) -> Split:
    """The test split with its labels numbered by the training classes."""
    unseen = sorted(set(test.classes) - set(classes))
    if unseen:
        raise InvalidInput(f"The class `{unseen[0]}` is in `test` but not in `train`; add it there, or remove it.")
    _check_two(classes)
    number = np.array([classes.index(name) for name in test.classes], dtype=np.int64)
    return Split(test.pixels, number[test.labels], classes, test.skipped, test.files)


def _divided(whole: Split, options: Options) -> tuple[Split, Split]:
    """A split stratified by class, in which every class keeps training examples."""
    _check_two(whole.classes)
    counts = np.bincount(whole.labels)
    if counts.min() < 2:
        raise InvalidInput(f"The class `{whole.classes[int(counts.argmin())]}` has only one readable image, too few "
                           "for a train/test split; add more, or give folders `train` and `test`.")
    n_test = max(len(whole.classes), round(options.test_share * len(whole.labels)))
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(len(whole.labels)), test_size=n_test, stratify=whole.labels, random_state=options.seed
    )
    return (
        Split(whole.pixels[train], whole.labels[train], whole.classes, whole.skipped,
              tuple(whole.files[place] for place in train)),
        Split(whole.pixels[test], whole.labels[test], whole.classes, (), tuple(whole.files[place] for place in test)),
    )


def _check_two(classes: tuple[str, ...]) -> None:
    if len(classes) < 2:
        raise InvalidInput(f"There is only one class folder, `{classes[0]}`; give at least two classes.")
