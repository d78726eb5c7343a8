"""Whether pictures are in colour: what they hold decides, not how their files are written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image

SEEN = 200
"""Pictures of a folder that are looked at, evenly spread."""
GREY = 8
"""Levels, of 256, by which channels may differ in a grey picture: JPEG rounds them."""
FORMATS = ("JPEG", "PNG", "PPM", "BMP", "TIFF", "WEBP")  # no format that Pillow hands to another program
Source = str | Path | BinaryIO


def coloured(image: Image.Image) -> bool:
    """Whether the channels of a picture differ anywhere by more than `GREY` levels, on 32 × 32 squares of it."""
    if image.mode in ("1", "L", "LA") or image.mode.startswith(("I", "F")):
        return False
    image.draft("RGB", (64, 64))
    channels = np.asarray(image.convert("RGB").resize((32, 32), Image.Resampling.BOX), dtype=np.int16)
    return bool((channels.max(-1) - channels.min(-1)).max() > GREY)


def any_coloured(paths: Sequence[Source]) -> bool:
    """Whether one of at most `SEEN` pictures, evenly spread over the list, is in colour; unreadable ones are not."""
    step = max(1, -(-len(paths) // SEEN))
    return any(_coloured_file(path) for path in paths[::step])


def _coloured_file(path: Source) -> bool:
    try:
        with Image.open(path, formats=FORMATS) as image:
            return coloured(image)
    except Exception:  # Pillow's decoders raise nearly any type on a damaged file
        return False
