"""Pictures of any kind as eight-bit pixels: upright, transparent ones on paper, deep ones by what they use."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageFile, ImageOps
from PIL.TiffImagePlugin import TiffImageFile

from engine.basics.errors import InvalidInput

FORMATS = ("JPEG", "PNG", "PPM", "BMP", "TIFF", "WEBP", "GIF")  # no format that Pillow hands to another program
MODES = {"grayscale": "L", "rgb": "RGB"}
MAX_PIXELS = 50_000_000
SEEN = 200
"""Pictures of a folder that are looked at for colour and transparency, evenly spread."""
GREY = 8
"""Levels, of 256, by which channels may differ in a grey picture: JPEG rounds them."""
DEPTHS = (8, 10, 12, 14, 16)
"""Bits that cameras and scanners use of sixteen."""
LEAST_USED = 0.25
"""Of the levels of a depth that pictures use; with less, their own range is stretched."""
BRIGHT = 192
"""Mean level of ink, weighted by its opacity, from which transparent pictures are put on black paper, not on white."""
PHOTOMETRIC, WHITE_IS_ZERO = 262, 0
"""The tag of a TIFF that says what its zero is, and the value that makes it white."""
SWAPPED = {"L": "B", "N": "B" if sys.byteorder == "little" else "L", "B": "L"}
"""Pillow's orders of the bytes of a value, each with the other one."""
_PNG, _COLOUR = b"\x89PNG\r\n\x1a\n", (2, 4, 6)


@dataclass(frozen=True)
class Survey:
    """What all pictures of a folder share. low, high: the values of deep pictures (more than eight bits a channel)
    that become black and white. paper: the level that transparent ones lie on. coloured: whether one is in colour.
    deep, clear, framed: how many have more bits, are transparent (of those looked at), and have several frames. side:
    the median of their smaller sides, in pixels. holed: how many have pixels that are not finite."""

    low: float = 0.0
    high: float = 65_535.0
    paper: int = 255
    coloured: bool = False
    deep: int = 0
    clear: int = 0
    framed: int = 0
    side: int = 0
    holed: int = 0

    @property
    def said(self) -> tuple[str, ...]:
        """What is done with unusual pictures, in sentences."""
        sentences = []
        if self.deep:
            sentences.append(f"{_count(self.deep)} more than eight bits per channel: {self.low:,.6g} is read as black "
                             f"and {self.high:,.6g} as white.")
        if self.holed:
            sentences.append(f"{_count(self.holed)} pixels that are not finite: NaN and −∞ are read as black, ∞ as "
                             "white.")
        if self.clear:
            sentences.append(f"Transparent images get a {'white' if self.paper else 'black'} background.")
        if self.framed:
            sentences.append(f"{_count(self.framed)} several frames, of which the first is read.")
        return tuple(sentences)


def _count(count: int) -> str:
    return "1 image has" if count == 1 else f"{count:,} images have"


class TooLarge(Exception):
    """A picture that unpacks to more than `MAX_PIXELS`."""


def survey(read: Callable[[str], bytes], files: Sequence[str]) -> Survey:
    """What the pictures of a folder share; those that cannot be read say nothing. read: file -> its content."""
    ranges, ink, sides, framed, holed = [], [], [], 0, 0
    step = max(1, -(-len(files) // SEEN))
    for index, file in enumerate(files):
        try:
            with _opened(read(file)) as image:
                sides.append(min(image.size))
                framed += _has_frames(image)
                if (values := _deep(image, file, read)) is not None:
                    ranges.append(_range(values))
                    holed += not np.isfinite(values).all()
                elif index % step == 0 and (light := _ink(image)) is not None:
                    ink.append(light)
        except Exception:  # Pillow's decoders raise nearly any type on a damaged file
            continue
    low, high = _levels(ranges) if ranges else (0.0, 65_535.0)
    shared = Survey(low, high, 0 if ink and np.mean(ink) >= BRIGHT else 255, False, len(ranges), len(ink), framed,
                    int(np.median(sides)) if sides else 0, holed)
    coloured = any(_coloured(read, file, shared) for file in files[::step])
    return Survey(**{**vars(shared), "coloured": coloured})


def pixels(content: bytes, color: str, side: int, shared: Survey) -> np.ndarray | None:
    """One picture as uint8 (side · side · channels,); None where it cannot be read. Raises `TooLarge`."""
    try:
        with _opened(content) as image:
            image.draft(MODES[color], (2 * side, 2 * side))
            plain = _eight_bit(image, content, shared).convert(MODES[color])
            resized = plain.resize((side, side), Image.Resampling.BILINEAR, reducing_gap=2.0)
            return np.asarray(resized, dtype=np.uint8).reshape(-1)
    except (Image.DecompressionBombError, MemoryError):
        raise TooLarge from None
    except TooLarge:
        raise
    except Exception:  # as above
        return None


def as_input(content: bytes, shape: tuple[int, ...], name: str, trained: Survey | None = None) -> tuple[float, ...]:
    """One picture as a network takes it, channels first, values in [0, 1]. shape: (channels, side, side). trained: what
    the pictures share that it was trained on, where their files are at hand.

    Raises `InvalidInput` for inputs that are no square pictures, for a file that cannot be read, and for one with
    pixels that are not finite.
    """
    if len(shape) != 3 or shape[0] not in (1, 3) or shape[1] != shape[2]:
        raise InvalidInput("The model does not read square images; choose a query by its number.")
    own = survey(lambda _: content, [name])
    if own.holed:
        raise InvalidInput(f"`{name[:80]}` has pixels that are not finite; give every pixel a number.")
    if trained is not None and trained.deep:
        own = replace(own, low=trained.low, high=trained.high)
    if trained is not None and trained.clear:
        own = replace(own, paper=trained.paper)
    try:
        read = pixels(content, "grayscale" if shape[0] == 1 else "rgb", shape[1], own)
    except TooLarge:
        read = None
    if read is None:
        raise InvalidInput(f"`{name[:80]}` cannot be read as an image; give a PNG or a JPEG.")
    return tuple((read.reshape(shape[1], shape[2], shape[0]).transpose(2, 0, 1).ravel() / 255).tolist())


def _opened(content: bytes) -> ImageFile.ImageFile:
    image = Image.open(io.BytesIO(content), formats=FORMATS)
    if image.width * image.height > MAX_PIXELS:
        raise TooLarge
    return image


def _has_frames(image: Image.Image) -> bool:
    try:
        image.seek(1)
        image.seek(0)
        return True
    except EOFError:
        return False


def _eight_bit(image: Image.Image, content: bytes, shared: Survey) -> Image.Image:
    """Upright, eight bits a channel, opaque."""
    values = _deep(image, "", lambda _: content)
    if values is not None:
        scaled = (np.nan_to_num(values, nan=shared.low) - shared.low) * (255.0 / max(shared.high - shared.low, 1e-300))
        image = Image.fromarray(np.rint(scaled.clip(0, 255)).astype(np.uint8))
    else:
        image = ImageOps.exif_transpose(image)
    if not _is_clear(image):
        return image
    paper = Image.new("RGBA", image.size, (shared.paper, shared.paper, shared.paper, 255))
    return Image.alpha_composite(paper, image.convert("RGBA"))


def _is_clear(image: Image.Image) -> bool:
    return image.mode in ("RGBA", "LA", "PA", "RGBa") or "transparency" in image.info


def _deep(image: Image.Image, file: str, read: Callable[[str], bytes]) -> np.ndarray | None:
    """The values of a picture with more than eight bits a channel, float64 (h, w) or (h, w, C), upright; None for
    others. Pillow cuts channels of sixteen bits in colour to eight: torchvision reads those of a PNG."""
    if image.mode.startswith(("I", "F")):
        values = np.asarray(ImageOps.exif_transpose(image)).astype(np.float64)
        darkens = isinstance(image, TiffImageFile) and image.tag_v2.get(PHOTOMETRIC) == WHITE_IS_ZERO
        return 65_535.0 - values if darkens and image.mode.startswith("I;16") else values
    if isinstance(image, TiffImageFile):
        return _both_bytes(image, read(file))
    if image.format != "PNG":
        return None
    content = read(file)
    if not content.startswith(_PNG) or content[24] != 16 or content[25] not in _COLOUR:
        return None
    import torch
    from torchvision.io import ImageReadMode, decode_image

    values = decode_image(torch.frombuffer(bytearray(content), dtype=torch.uint8), ImageReadMode.UNCHANGED)
    channels_last = values.numpy().astype(np.float64).transpose(1, 2, 0)
    return channels_last[..., 0] if channels_last.shape[-1] == 1 else channels_last


def _both_bytes(image: TiffImageFile, content: bytes) -> np.ndarray | None:
    """The values of a TIFF with sixteen bits a channel in colour, (h, w, C); None for others. Pillow keeps the high
    byte of each, and the low one where it is told the other order of bytes."""
    args = [tile.args for tile in image.tile if isinstance(tile.args, tuple)]
    mode, deep, order = str(args[0][0]).partition(";16") if args else ("", "", "")
    if not deep or order not in SWAPPED:
        return None
    with _opened(content) as again:
        again.tile = [tile._replace(args=(f"{mode};16{SWAPPED[order]}", *own[1:]))
                      for tile, own in zip(again.tile, args, strict=True)]
        low = np.asarray(ImageOps.exif_transpose(again))
    return 256.0 * np.asarray(ImageOps.exif_transpose(image)) + low


def _range(values: np.ndarray) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)


def _levels(ranges: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """(black, white): the ends of the smallest depth, or of 0 to 1, that holds all values and is used by a good part
    of its levels; else the ends of what is used."""
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    whole = 1.0 if low >= 0 and high <= 1 else next((2.0**bits - 1 for bits in DEPTHS if high <= 2**bits - 1), 0.0)
    stretched = low < 0 or whole == 0 or 0 < high - low < LEAST_USED * whole
    return (low, high) if stretched else (0.0, whole)


def _ink(image: Image.Image) -> float | None:
    """The mean level of what is opaque, weighted by how much it is; None for a picture without transparent pixels."""
    if not _is_clear(image):
        return None
    rgba = np.asarray(image.convert("RGBA"), dtype=np.float64)
    opacity = rgba[..., 3]
    if opacity.min() == 255 or not opacity.any():
        return None
    return float((rgba[..., :3].mean(-1) * opacity).sum() / opacity.sum())


def _coloured(read: Callable[[str], bytes], file: str, shared: Survey) -> bool:
    try:
        content = read(file)
        with _opened(content) as image:
            if image.mode in ("1", "L", "LA") or image.mode.startswith(("I", "F")):
                return False
            image.draft("RGB", (64, 64))
            small = _eight_bit(image, content, shared).convert("RGB").resize((32, 32), Image.Resampling.BOX)
            return coloured(np.asarray(small))
    except Exception:  # as above
        return False


def coloured(picture: np.ndarray) -> bool:
    """Whether the channels of a picture (h, w, 3) differ anywhere by more than `GREY` levels."""
    channels = picture.astype(np.int16)
    return bool((channels.max(-1) - channels.min(-1)).max() > GREY)
