"""A user's own pictures in a folder or a zip, their classes by folders or by a file beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path, PurePosixPath
from typing import Any
from unicodedata import normalize

import numpy as np

from engine.basics.errors import InvalidInput, MissingData
from engine.data.archive import MAX_BYTES, ZipSource, megabytes, open_zip
from engine.data.dataset import Dataset
from engine.data.file_tree import Tree, is_hidden, of_folder, of_zip
from engine.data.label_files import SUFFIXES, by_files
from engine.data.layout import FolderLayout, LeftOut, Row, by_folders, common
from engine.data.pixels import MAX_PIXELS, MODES, Survey, TooLarge, pixels, survey
from engine.data.split_names import TRAIN
from engine.data.tables import held_out, lone_sentence

AS_THEY_ARE = "as they are"
USUAL_SIZES = {"grayscale": 28, "rgb": 32}
PHOTO, PHOTO_SIZE = 96, 64
EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".pgm", ".bmp", ".tif", ".tiff", ".webp", ".gif", ".jfif")
UNREAD = (".heic", ".heif", ".avif", ".jp2", ".tga", ".svg", ".dng", ".dcm", ".npy")
"""Pictures of other kinds, which are named where they are left out."""
HIDDEN, UNREADABLE = "hidden or system file", "it cannot be read as an image"
WRONG_LABELS = "wrong_labels.txt"
SIZES = (4, 256)


@dataclass(frozen=True)
class PictureOptions:
    """How pictures are read. size: pixels a side after resizing, by default 28, and 32 where pictures in colour are
    read as they are. color: `grayscale`, `rgb`, or `as they are`, which is `rgb` where one of them is in colour.

    max_images, max_bytes: what a folder, and its pixels once read, have to stay within. seed: of the train/test
    split where the folder brings none. test_share: the fraction of pictures that this split holds out. photos: whether
    pictures of at least `PHOTO` pixels, by the median of their smaller sides, are read at `PHOTO_SIZE` by default.
    """

    size: int | None = None
    color: str = "grayscale"
    max_images: int = 20_000
    max_bytes: int = MAX_BYTES
    seed: int = 0
    test_share: float = 0.25
    photos: bool = False

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

    def settled(self, shared: Survey) -> PictureOptions:
        """With a colour and a size for pictures that are like this."""
        color = self.color if self.color in MODES else "rgb" if shared.coloured else "grayscale"
        usual = USUAL_SIZES[color if self.color == AS_THEY_ARE else "grayscale"]
        if self.photos and shared.side >= PHOTO:
            usual = PHOTO_SIZE
        return replace(self, color=color, size=self.size or usual)

    @property
    def side(self) -> int:
        """`size`, once it is settled."""
        assert self.size is not None, "an undetermined size"
        return self.size

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.side, self.side) if self.color == "grayscale" else (self.side, self.side, 3)


@dataclass(frozen=True)
class PicturesRead:
    """Pictures as they are read: pixels (n, d) uint8, and the row of each; left_out: files that cannot be read."""

    pixels: np.ndarray
    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...] = ()


def load_image_folder(source: ZipSource, *, name: str = "image_folder", title: str = "Your images",
                      **options: Any) -> Dataset:
    """Pictures of a folder or a zip with their classes, as a Dataset.

    source: the path of a folder or zip, or a binary file that is a zip. options: the fields of `PictureOptions`.
    Classes are folders, `CLASS/*`, if it likes below or above those of splits (`train`, `val`, `test` and what else
    they are called, in any case), or a file beside the pictures says them (`engine.data.label_files`). Training
    examples are searched, pictures of other splits are the test split; where there is none, a part is held out,
    stratified by class and fixed by `seed`. Pictures are turned upright, resized to size × size and held as uint8
    (`engine.data.pixels`); a feature is a pixel / 255. `Dataset.left_out` lists files that are not read, with why;
    `Dataset.said` what was decided. A file `wrong_labels.txt` in the root may list the pictures whose label is known
    to be wrong, one path per line.
    Raises MissingData if there is no such path; InvalidInput for fewer than two classes, too many or too large
    pictures, or a zip that is damaged or reaches outside of itself.
    """
    choices = _options(options)
    if isinstance(source, str | Path):
        if not Path(source).exists():
            raise MissingData(f"There is no image folder or zip `{source}`; check the path.")
        if Path(source).is_dir():
            return _load(of_folder(Path(source), 10 * choices.max_images), name, title, choices)
    with open_zip(source, "zip", choices.max_bytes) as archive:
        return _load(of_zip(archive, "zip", 10 * choices.max_images), name, title, choices)


def _options(options: dict) -> PictureOptions:
    try:
        return PictureOptions(**options)
    except TypeError:
        known = ", ".join(f"`{key}`" for key in PictureOptions.__dataclass_fields__)
        unknown = ", ".join(sorted(options))
        raise InvalidInput(f"An image folder has no option {unknown}; its options are {known}.") from None


def _load(tree: Tree, name: str, title: str, options: PictureOptions) -> Dataset:
    start, layout = _laid_out(tree, options)
    files = [start + row.file for row in layout.rows]
    _check_bytes(sum(map(tree.size, files)), options)
    shared = survey(tree.read, files)
    options = options.settled(shared)
    read = _read(tree, start, layout.rows, shared, options)
    lost = sorted({row.label for row in layout.rows} - {row.label for row in read.rows})
    lost_classes = (f"No image of the class `{lost[0]}` can be read, and {len(lost):,} such "
                    f"class{' is' if len(lost) == 1 else 'es are'} left out.",) if lost else ()
    layout = FolderLayout(read.rows, (*layout.left_out, *read.left_out), (*layout.said, *lost_classes)).settled()
    classes, position = layout.classes, {row.file: at for at, row in enumerate(read.rows)}
    number = {label: at for at, label in enumerate(classes)}
    y = np.array([number[row.label] for row in layout.rows], dtype=np.int64)
    train, test, said, origin = _divided(layout, y, options)
    at = np.array([position[row.file] for row in layout.rows])
    own = tuple(tuple(layout.rows[row].file for row in rows) for rows in (train, test))
    flags, test_flags = _known_flags(tree, start, layout, own)
    said = (*layout.said, *said, *shared.said, *_alike(read.pixels), *_counted(layout.left_out))
    return Dataset(
        name=name, title=title, raw_train=read.pixels[at[train]], y_train=y[train], raw_test=read.pixels[at[test]],
        y_test=y[test], class_names=classes, image_shape=options.shape, scale=255.0, left_out=layout.left_out,
        said=said, flags=flags, test_flags=test_flags, test_origin=origin, test_from_train=not origin, files=own[0],
        test_files=own[1], test_splits=tuple(layout.rows[row].split for row in test) if origin else (),
        note=f"{len(train):,} training and {len(test):,} test images of {options.size} × {options.size} "
        f"{options.color} pixels divided by 255, your own.")


def _laid_out(tree: Tree, options: PictureOptions) -> tuple[str, FolderLayout]:
    """(the folders that wrap all pictures, the layout of what is in them)."""
    hidden = [(file, HIDDEN) for file in tree.members if is_hidden(file)]
    seen = [file for file in tree.members if not is_hidden(file)]
    pictures = [file for file in seen if file.lower().endswith(EXTENSIONS)]
    tables = [file for file in seen if file.lower().endswith(SUFFIXES)]
    if len(pictures) > options.max_images:
        raise InvalidInput(f"The folder has more than {options.max_images:,} images; give fewer, or raise the limit.")
    if not pictures:
        if tables:
            raise InvalidInput(f"The folder contains no images, only `{tables[0]}`; give that file itself (its column "
                               "`split` can say train or test), or put the images of each class into a folder.")
        raise InvalidInput("There are no images in the folder; put the images of each class into a separate folder "
                           f"({', '.join(EXTENSIONS)}).")
    start = common([*pictures, *tables])
    inner = Tree({file[len(start):]: tree.members[file] for file in (*pictures, *tables)}, tree.archive)
    own = [file[len(start):] for file in pictures]
    by_folder = by_folders(own)
    beside = len({row.label for row in by_folder.rows}) > 1
    listed = by_files(inner, [file[len(start):] for file in tables], own, beside)
    layout = listed or by_folder
    if not layout.rows:
        raise InvalidInput("There are no class folders in the folder; put the images of each class into a separate "
                           "folder, or add a table `labels.csv` with the columns file and label.")
    used = {*pictures, *(start + file for file in layout.tables), start + WRONG_LABELS}
    others = [(file.removeprefix(start), "not a supported image format") for file in seen if file not in used]
    links = [(link, "a link to data already read, or to a parent folder") for link in tree.links]
    empty = [(f"{folder}/", "a folder without files") for folder in tree.empty if not is_hidden(folder)]
    return start, replace(layout, left_out=(*layout.left_out, *others, *hidden, *links, *empty))


def _counted(left_out: Sequence[LeftOut]) -> tuple[str, ...]:
    """How many files are left out, and why, in a sentence."""
    if not left_out:
        return ()
    counts = Counter(why for _, why in left_out)
    first = {why: next(file for file, own in left_out if own == why) for why in counts}
    reasons = "; ".join(f"`{first[why]}`{f' and {count - 1:,} more' if count > 1 else ''} ({why})"
                        for why, count in counts.items())
    return (f"Left out: {reasons}.",)


def _alike(pixels: np.ndarray) -> tuple[str, ...]:
    if len(pixels) > 1 and not np.ptp(pixels):
        return ("All images are identical after reading: every pixel has the same value.",)
    return ()


def _known_flags(tree: Tree, start: str, layout: FolderLayout, own: tuple[tuple[str, ...], ...]
                 ) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(n,) bool over the training and the test pictures, or None where no file says which labels are wrong."""
    if start + WRONG_LABELS not in tree.members:
        return None, None
    try:
        text = tree.read(start + WRONG_LABELS).decode("utf-8-sig")
    except ValueError:
        raise InvalidInput(f"`{WRONG_LABELS}` cannot be read; save it as UTF-8 text, one path per line.") from None
    listed = {normalize("NFC", line.strip().replace("\\", "/")).removeprefix("./") for line in text.splitlines()}
    unknown = sorted(listed - {""} - {*own[0], *own[1], *(file for file, _ in layout.left_out)})
    if unknown:
        raise InvalidInput(f"`{WRONG_LABELS}` lists `{unknown[0][:80]}`, which is not an image of the folder; give "
                           "paths relative to it.")
    return np.isin(np.array(own[0]), list(listed)), np.isin(np.array(own[1]), list(listed))


def is_wanted(path: str) -> bool:
    """Whether a file of a folder counts: a picture, be it of a kind that is left out, a table or the list of wrong
    labels."""
    return path.lower().endswith((*EXTENSIONS, *SUFFIXES, *UNREAD)) or PurePosixPath(path).name == WRONG_LABELS


def _check_bytes(size: int, options: PictureOptions) -> None:
    if size >= options.max_bytes:
        raise InvalidInput(f"The images have {megabytes(size)}; give a folder below {megabytes(options.max_bytes)}.")


def _read(tree: Tree, start: str, rows: Sequence[Row], shared: Survey, options: PictureOptions) -> PicturesRead:
    """Every picture; the paths in sentences are those of its row."""
    needed = len(rows) * int(np.prod(options.shape))
    if needed >= options.max_bytes:
        raise InvalidInput(f"{len(rows):,} images of size {options.size} take {megabytes(needed)}, above "
                           f"{megabytes(options.max_bytes)}; choose a smaller size or fewer images.")
    pictures, readable, left_out = [], [], []
    for row in rows:
        try:
            picture = pixels(tree.read(start + row.file), options.color, options.side, shared)
        except TooLarge:
            raise InvalidInput(f"`{row.file}` unpacks to more than {MAX_PIXELS / 1e6:.0f} million pixels; shrink or "
                               "remove it.") from None
        except InvalidInput:
            if tree.archive is not None:
                raise
            picture = None  # a file on disk that is gone or closed to us, as behind a broken link
        if picture is None:
            left_out.append((row.file, UNREADABLE))
        else:
            pictures.append(picture)
            readable.append(row)
    if not pictures:
        raise InvalidInput(f"None of the images can be read (`{rows[0].file}`); replace them.")
    return PicturesRead(np.stack(pictures), tuple(readable), tuple(left_out))


def _divided(layout: FolderLayout, y: np.ndarray, options: PictureOptions
             ) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], str]:
    """(training rows, test rows, what was decided, whence the latter are: empty where they were held out here)."""
    split = np.array([row.split for row in layout.rows])
    others = sorted({*split.tolist()} - {"", TRAIN}, reverse=True)
    if others:
        origin = " and ".join(f"`{name}`" for name in others) + (" folder" if len(others) == 1 else " folders")
        return np.flatnonzero(split == TRAIN), np.flatnonzero(split != TRAIN), (), origin
    train, test, single = held_out(y, options.test_share, options.seed)
    said = (lone_sentence([layout.classes[label] for label in single], "image"),) if len(single) else ()
    return train, test, said, ""
