"""Damaged files at every door: cut short, with changed bytes, and garbled, in the zip as in the files inside it."""

import io
import zipfile

import numpy as np
import pytest

from tests.fuzz.doors import DOORS
from tests.fuzz.test_doors import refused_or_read

CUTS, FLIPS = 8, 16
GARBLED = (b"", b"\x00", b"{", b"[", b"{('descr'", b"\x93NUMPY\x01\x00\x0a\x00{('descr'\n", b"PAR1", b"ARROW1",
           b"PK\x05\x06" + b"\x00" * 18, b"\xff\xfe", b"\xef\xbb\xbf", b"[" * 5_000, b'"' * 99, b"\xff" * 64,
           (8).to_bytes(8, "little") + b'{"a":[]}', (2**63).to_bytes(8, "little") + b"{}",
           b"\x93NUMPY\x01\x00\x20\x00{'descr': '<f8', 'shape': (9,),}\n", b"\x93NUMPY\x09\x09\x00\x00")


def damaged(content, seed):
    """The content cut short, with one byte changed, and others in its place, each a few times."""
    rng = np.random.default_rng(seed)
    yield from GARBLED
    for end in np.linspace(0, max(len(content) - 1, 0), CUTS).astype(int):
        yield content[:end]
    for at in rng.integers(0, len(content), FLIPS) if content else ():
        flipped = bytearray(content)
        flipped[at] ^= 1 << int(rng.integers(8))
        yield bytes(flipped)
    for word in GARBLED:  # behind the first bytes, by which a kind of file is known
        yield content[:8] + word + content[8 + len(word):]
        yield content[:10] + word + content[10 + len(word):]


def inside(content, seed):
    """A zip whose members, whole by their checksums, hold damaged content."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for target in list(members)[:3]:
        for other in damaged(members[target], seed):
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w") as archive:
                for name, own in members.items():
                    archive.writestr(name, other if name == target else own)
            yield buffer.getvalue()


@pytest.mark.parametrize("name", DOORS)
def test_a_damaged_file_is_read_or_refused_in_one_sentence(name, tmp_path):
    door = DOORS[name]
    for number, content in enumerate(door.corpus):
        path = tmp_path / f"{number}{door.suffix}"
        for other in damaged(content, number):
            refused_or_read(door, path, other)
        if zipfile.is_zipfile(io.BytesIO(content)):
            for other in inside(content, number):
                refused_or_read(door, path, other)
