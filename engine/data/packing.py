"""A folder of pictures as a zip whose bytes depend on its files alone, so that its digest names what it holds."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from engine.basics.errors import InvalidInput
from engine.data.archive import MAX_BYTES, megabytes
from engine.data.file_tree import of_folder
from engine.data.image_folder import PictureOptions, is_wanted

OLDEST = (1980, 1, 1, 0, 0, 0)
"""The date that every member gets: that of a file says nothing of what it holds."""


def packed(folder: Path, max_bytes: int = MAX_BYTES) -> io.BytesIO:
    """The pictures below a folder, hidden ones too, and the tables beside them, as a zip in memory.

    Raises `InvalidInput` where there are none, where one cannot be read, or where they reach `max_bytes`.
    """
    tree = of_folder(folder, 10 * PictureOptions().max_images)
    names = [name for name in tree.members if is_wanted(name)]
    if not names:
        raise InvalidInput(f"There are no images in the folder `{folder}`; put the images of each class into a "
                           "separate folder below it.")
    buffer, total = io.BytesIO(), 0
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            file = tree.members[name]
            gone = isinstance(file, Path) and not file.exists()
            content = b"" if gone else tree.read(name)  # so that a link to nothing is named among what is not read
            total += len(content)
            if total >= max_bytes:
                raise InvalidInput(f"The images in `{folder}` take more than {megabytes(max_bytes)}; give fewer.")
            archive.writestr(zipfile.ZipInfo(name, OLDEST), content)
        for name in tree.empty:
            archive.writestr(zipfile.ZipInfo(f"{name}/", OLDEST), b"")
    buffer.seek(0)
    return buffer
