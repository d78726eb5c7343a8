"""Rows of mapped arrays, block by block."""

import sys
from pathlib import Path

import numpy as np
import pytest

from engine.basics import mapped
from engine.basics.mapped import blocks, release


@pytest.mark.parametrize("rows", [np.arange(30.0).reshape(10, 3), np.empty((0, 3)), np.ones((2, 0))])
@pytest.mark.parametrize("size", [1, 50, 1 << 20])
def test_blocks_are_all_rows_in_order(rows, size, monkeypatch):
    monkeypatch.setattr(mapped, "BLOCK_BYTES", size)
    found = list(blocks(rows))
    assert np.array_equal(np.concatenate([own for _, own in found]), rows)
    assert all(np.array_equal(rows[at], own) for at, own in found)
    assert all(len(own) <= max(1, size // max(1, rows[:1].nbytes)) for _, own in found)


def resident():
    """KiB of files in the memory of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssFile:")[1].split()[0])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("view", [lambda rows: rows, lambda rows: rows[2:].reshape(-1)])
def test_pages_that_were_read_leave_the_memory(tmp_path, view):
    size = 16 << 20
    np.save(tmp_path / "rows.npy", np.ones((16, size // 16 // 8)))
    rows = view(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    assert rows.sum() == rows.size
    before = resident()
    release(rows)
    assert before - resident() > 0.8 * rows.nbytes / 1024
    assert rows.sum() == rows.size
