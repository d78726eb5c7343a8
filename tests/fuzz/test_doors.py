"""Whatever a file holds, it is read or refused in one sentence: no other error, no end of patience.

`WHICHFLUENCE_FUZZ_SECONDS` says how long each door is tried; `make fuzz` takes an hour over all of them.
"""

import os
import time
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.basics.errors import WhichfluenceError
from tests.fuzz.doors import DOORS
from tests.fuzz.drawn import DRAWN

SECONDS = float(os.environ.get("WHICHFLUENCE_FUZZ_SECONDS", "3"))
LONGEST = 30.0
"""Seconds that one small file may take."""
WORDS = [b'"', b",", b"\n", b"[" * 300, b"{", b"}", b"NaN", b"1e999", b"-1", b"9" * 30, b"\x00", b"\xff",
         b"\xef\xbb\xbf", "\u2028".encode(), b"`", b"=1+1", b"9223372036854775808", b"'shape'", b"BF16", b"../",
         b"null", b"true"]


@st.composite
def mutated(draw, corpus):
    """What is rightly read, with parts cut, doubled, overwritten and put in."""
    content = bytearray(draw(st.sampled_from(corpus)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        stop = min(len(content), start + draw(st.integers(0, 40)))
        part = draw(st.sampled_from([b"", bytes(content[start:stop]) * 2, *WORDS]) | st.binary(max_size=8))
        content[start:stop] = part
    return bytes(content)


def refused_or_read(door, path, content):
    """Reads a file; every error but our own is a fault, and ours are one sentence."""
    path.write_bytes(content)
    started = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            door.read(path)
    except WhichfluenceError as error:
        said = str(error)
        assert "\n" not in said and said.endswith((".", "?")) and len(said) < 2_000, said
    assert time.monotonic() - started < LONGEST


@pytest.mark.parametrize("name", DOORS)
def test_the_corpus_is_read(name, tmp_path):
    door = DOORS[name]
    for place, content in enumerate(door.corpus):
        path = tmp_path / f"{place}{door.suffix}"
        path.write_bytes(content)
        door.read(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", DOORS)
def test_no_content_is_unforeseen(name, tmp_path):
    door, path = DOORS[name], tmp_path / f"file{DOORS[name].suffix}"

    def tried(content):
        refused_or_read(door, path, content)

    again(mutated(door.corpus) | st.binary(max_size=200), tried)


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_what_people_write_is_read_or_refused(name, tmp_path):
    kind = DRAWN[name]
    again(kind.files, lambda file: refused_or_read(kind, tmp_path / f"file{file[0]}", file[1]))


def again(contents, try_one):
    """Tries one content after another, for so many seconds."""
    @settings(max_examples=50, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(contents)
    def once(content):
        try_one(content)

    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        once()
