"""TIFFs of sixteen bits a channel, written byte by byte after the standard (Pillow writes none in colour), and of
floats."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from engine.basics.errors import InvalidInput
from engine.data import uploads
from engine.data.pixels import as_input, survey

INK = np.add.outer(np.arange(32) * 5, np.arange(32) * 3)
DEFLATE, RAW = 8, 1


def tiff(values, photometric, order="<", compression=RAW, extra=()):
    """A TIFF 6.0 of one strip. values (h, w, C): uint16; order: of bytes; extra: further tags (number, value)."""
    height, width, channels = values.shape
    data = values.astype(f"{order}u2").tobytes()
    data = zlib.compress(data) if compression == DEFLATE else data
    tags = {256: width, 257: height, 258: None, 259: compression, 262: photometric, 273: 8, 277: channels, 278: height,
            279: len(data), **dict(extra)}
    bits, start = struct.pack(f"{order}{channels}H", *[16] * channels), 8 + len(data)
    table = struct.pack(f"{order}H", len(tags))
    for number, value in sorted(tags.items()):
        if value is None and channels > 2:
            table += struct.pack(f"{order}HHII", number, 3, channels, start)
        elif value is None:
            table += struct.pack(f"{order}HHI4s", number, 3, channels, bits.ljust(4, b"\0"))
        else:
            table += struct.pack(f"{order}HHII", number, 4, 1, value)
    heading = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", start + len(bits))
    return heading + data + bits + table + b"\0\0\0\0"


def read(folder, draw):
    for k in range(12):
        (folder / "ab"[k % 2]).mkdir(exist_ok=True)
        (folder / "ab"[k % 2] / f"{k}.tif").write_bytes(draw(k))
    data = uploads.load(uploads.keep_path(folder))
    return {int(name[2:-4]): 255 * row if row.max() <= 1 else row
            for name, row in zip(data.files, data.raw_train, strict=True)}, " ".join(data.said)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    (tmp_path / "images").mkdir()
    return tmp_path / "images"


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("compression", [RAW, DEFLATE])
@pytest.mark.parametrize("most", [4_095, 65_535])
def test_colour_of_sixteen_bits_keeps_the_levels_that_it_uses(folder, order, compression, most):
    """Twelve bits of sixteen had become 16 levels, silently."""
    def colours(k):
        return (np.stack([INK + 9 * k, INK + 40, INK + 90], -1) % 256).astype(np.float64)

    found, said = read(folder, lambda k: tiff(np.rint(colours(k) / 255 * most).astype("u2"), 2, order, compression))
    assert "more than eight bits per channel" in said and f"{most:,} as white" in said
    for k, row in found.items():
        assert np.abs(row - colours(k).ravel()).max() <= 1


def test_a_zero_that_is_white_is_white(folder):
    """Films and faxes: with sixteen bits they had come out as their negatives, silently."""
    def levels(k):
        return ((INK[:28, :28] + 9 * k) % 256)[..., None]

    found, _ = read(folder, lambda k: tiff(65_535 - 257 * levels(k), 0))
    for k, row in found.items():
        assert np.abs(row - levels(k).ravel()).max() <= 1


def floats(values):
    file = io.BytesIO()
    Image.fromarray(np.asarray(values, np.float32)).save(file, "TIFF")
    return file.getvalue()


def test_a_query_in_floats_has_the_levels_of_the_training_images():
    dark, light = np.full((4, 4), 0.25), np.full((4, 4), 0.75)
    dark[0, 0], light[0, 0] = 0.0, 1.0
    trained = survey({"a": floats(dark), "b": floats(light)}.__getitem__, ["a", "b"])
    query = np.full((4, 4), 0.5)
    query[0, 0] = 0.4
    read = np.array(as_input(floats(query), (1, 4, 4), "query.tiff", trained))
    assert read == pytest.approx(query.reshape(-1), abs=1 / 255)  # 0 to 1 are the levels, not 0.4 to 0.5


def test_a_query_with_pixels_that_are_no_numbers_is_refused():
    with pytest.raises(InvalidInput, match="`query.tiff` has pixels that are not finite; give every pixel a number"):
        as_input(floats([[0.0, np.nan], [1.0, 0.5]]), (1, 2, 2), "query.tiff")
