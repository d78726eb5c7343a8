"""The pictures of a kept zip as they came: their size before reading, and thumbnails for people."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from PIL import Image, ImageOps

from engine.basics.errors import InvalidInput
from engine.data.archive import file_members, open_zip
from engine.data.colour import FORMATS
from engine.data.image_folder import MAX_PIXELS


def prefix(members: Sequence[str], files: Sequence[str]) -> str:
    """The wrapping folders that members of a zip have before the paths of a dataset's files, with a slash at their
    end. Raises `InvalidInput` where there are none that fit."""
    known = set(members)
    ends = [name[:-len(files[0])] for name in members if name.endswith(files[0]) and "__MACOSX" not in name]
    for start in sorted(ends, key=len):
        if (not start or start.endswith("/")) and all(start + file in known for file in files):
            return start
    raise InvalidInput("The zip does not hold the pictures of these data any more; upload it again.")


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The kept zip, checked as when it was uploaded."""
    with open_zip(path, "zip") as archive:
        yield archive


def thumbnail(path: Path, file: str, files: Sequence[str], side: int) -> bytes | None:
    """A picture as PNG, upright, within side × side pixels; None where it cannot be read.

    file: its path in the dataset, one of `files`.
    """
    try:
        with opened(path) as archive:
            start = prefix(archive.namelist(), files[:1])
            with Image.open(io.BytesIO(archive.read(start + file)), formats=FORMATS) as image:
                if image.width * image.height > MAX_PIXELS:
                    return None
                image.draft("RGB", (side, side))
                upright = ImageOps.exif_transpose(image)
                upright.thumbnail((side, side))
                kept = upright if upright.mode in ("L", "RGB", "RGBA") else upright.convert("RGB")
                buffer = io.BytesIO()
                kept.save(buffer, "PNG")
                return buffer.getvalue()
    except Exception:  # Pillow's decoders raise nearly any type on a damaged file
        return None


def sizes(path: Path, files: Sequence[str]) -> dict[str, tuple[int, int]]:
    """(width, height) of the readable ones of `files`, from their headers alone."""
    found = {}
    with opened(path) as archive:
        start = prefix(archive.namelist(), files) if files else ""
        for file in files:
            try:
                with archive.open(start + file) as packed, Image.open(packed, formats=FORMATS) as image:
                    found[file] = image.size
            except Exception:  # as above
                continue
    return found


def not_read(path: Path, files: Sequence[str]) -> list[tuple[str, str]]:
    """(path in the zip, why) of what is in it beside `files`, which were read or could not be."""
    with opened(path) as archive:
        names = [member.filename for member in file_members(archive)]
        start = prefix(names, files) if files else ""
    known = {start + file for file in files}
    return [(name.removeprefix(start), _why(name)) for name in names if name not in known]


def _why(name: str) -> str:
    path = PurePosixPath(name)
    if "__MACOSX" in path.parts or any(part.startswith(".") for part in path.parts):
        return "hidden, made by a system"
    if path.name == "wrong_labels.txt":
        return "no picture: the list of labels known to be wrong"
    return f"no picture that is read here (`{path.suffix or 'no ending'}`), or in no class folder"
