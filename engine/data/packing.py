"""A folder of pictures as a zip whose bytes depend on its files alone, so that its digest names what it holds."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from engine.basics.errors import InvalidInput
from engine.data.archive import MAX_BYTES, megabytes
from engine.data.image_folder import is_wanted

OLDEST = (1980, 1, 1, 0, 0, 0)
"""The date that every member gets: that of a file says nothing of what it holds."""


def packed(folder: Path, max_bytes: int = MAX_BYTES) -> io.BytesIO:
    """The pictures below a folder, and its list of wrong labels, as a zip in memory.

    Raises `InvalidInput` where there are none, where one cannot be read, or where they reach `max_bytes`.
    """
    paths = sorted(path for path in folder.rglob("*")
                   if path.is_file() and is_wanted(path.relative_to(folder).as_posix()))
    if not paths:
        raise InvalidInput(f"There are no pictures in the folder `{folder}`; put the images of each class into a "
                           "folder of its own below it.")
    buffer, total = io.BytesIO(), 0
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in paths:
            try:
                content = path.read_bytes()
            except OSError as error:
                raise InvalidInput(f"`{path}` cannot be read ({error.strerror}); mend it or remove it.") from None
            total += len(content)
            if total >= max_bytes:
                raise InvalidInput(f"The pictures in `{folder}` have more than {megabytes(max_bytes)}; give fewer.")
            archive.writestr(zipfile.ZipInfo(path.relative_to(folder).as_posix(), OLDEST), content)
    buffer.seek(0)
    return buffer
