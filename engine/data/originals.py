"""The pictures of an uploaded zip as they came: their size before reading, thumbnails, and other sizes for models."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path, PurePosixPath

import numpy as np
from PIL import Image, ImageOps

from engine.basics.errors import InvalidInput
from engine.data.archive import open_zip
from engine.data.file_tree import Tree, is_hidden, of_zip
from engine.data.image_folder import PictureOptions
from engine.data.pixels import FORMATS, MAX_PIXELS, Survey, pixels, survey


@contextmanager
def opened(path: Path) -> Iterator[Tree]:
    """The uploaded zip, checked as when it was uploaded."""
    with open_zip(path, "zip") as archive:
        yield of_zip(archive, "zip", 10 * PictureOptions().max_images)


def prefix(tree: Tree, files: Sequence[str]) -> str:
    """The wrapping folders that the zip has before the paths of a dataset's files, with a slash at their end. Raises
    `InvalidInput` where there are none that fit."""
    known = tree.members.keys()
    ends = [name[:-len(files[0])] for name in known if name.endswith(files[0])]
    for start in sorted(ends, key=len):
        if (not start or start.endswith("/")) and all(start + file in known for file in files):
            return start
    raise InvalidInput("The zip no longer holds the images of these data; upload it again.")


def thumbnail(path: Path, file: str, files: Sequence[str], side: int) -> bytes | None:
    """A picture as PNG, upright, within side × side pixels; None where it cannot be read.

    file: its path in the dataset, one of `files`.
    """
    try:
        with opened(path) as tree:
            start = prefix(tree, files[:1])
            with Image.open(io.BytesIO(tree.read(start + file)), formats=FORMATS) as image:
                if image.width * image.height > MAX_PIXELS:
                    return None
                image.draft("RGB", (side, side))
                upright = ImageOps.exif_transpose(image)
                upright.thumbnail((side, side))
                converted = upright if upright.mode in ("L", "RGB", "RGBA") else upright.convert("RGB")
                buffer = io.BytesIO()
                converted.save(buffer, "PNG")
                return buffer.getvalue()
    except Exception:  # Pillow's decoders raise nearly any type on a damaged file
        return None


def pictures(path: Path, files: Sequence[str], wanted: Sequence[str], color: str, side: int) -> np.ndarray:
    """The pictures `wanted` at another size than the dataset has, uint8 (b, side, side) or (b, side, side, 3).

    files: all of the dataset, which decide how deep and transparent pictures are read. Raises `InvalidInput` for one
    that cannot be read.
    """
    shared, read = _survey(path, tuple(files)), []
    with opened(path) as tree:
        start = prefix(tree, files[:1])
        for file in wanted:
            picture = pixels(tree.read(start + file), color, side, shared)
            if picture is None:
                raise InvalidInput(f"`{file}` can no longer be read; upload the images again.")
            read.append(picture.reshape((side, side) if color == "grayscale" else (side, side, 3)))
    return np.stack(read)


@lru_cache(maxsize=4)
def _survey(path: Path, files: tuple[str, ...]) -> Survey:
    with opened(path) as tree:
        start = prefix(tree, files[:1])
        return survey(lambda file: tree.read(start + file), files)


def sizes(path: Path, files: Sequence[str]) -> dict[str, tuple[int, int]]:
    """(width, height) of the readable ones of `files`, from their headers alone."""
    by_file = {}
    with opened(path) as tree:
        start = prefix(tree, files) if files else ""
        for file in files:
            try:
                with Image.open(io.BytesIO(tree.read(start + file)), formats=FORMATS) as image:
                    by_file[file] = image.size
            except Exception:  # as above
                continue
    return by_file


def first_of_folders(path: Path, suffixes: Sequence[str], most: int) -> list[str]:
    """The first picture, by its ending, of each of a few folders."""
    first: dict[PurePosixPath, str] = {}
    with opened(path) as tree:
        for file in tree.members:
            if file.lower().endswith(tuple(suffixes)) and not is_hidden(file):
                first.setdefault(PurePosixPath(file).parent, file)
            if len(first) == most:
                break
    return list(first.values())
