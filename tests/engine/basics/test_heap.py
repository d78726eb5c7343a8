"""Memory that many small blocks took is the system's again once they are freed."""

import ctypes
import resource
import sys
from pathlib import Path

import pytest
import torch

from engine.basics import heap

HELD = 400_000_000
"""Bytes, in blocks that are too small to be maps of their own."""


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"),
                    reason="only glibc keeps freed blocks and is asked for them")
def test_freed_blocks_go_back():
    blocks = [torch.ones(16_000) for _ in range(HELD // 64_000)]
    held = resident()
    last = blocks[-1]  # at the top of the heap, where it keeps the others from going back by themselves
    del blocks
    heap.trim()
    assert held - resident() > 0.9 * HELD and float(last.sum()) == 16_000


def test_another_c_library_has_nothing_to_ask(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    heap.trim()


def test_a_loop_trims_at_times_not_in_every_turn(monkeypatch):
    now, trims = [0.0], []
    monkeypatch.setattr(heap.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(heap, "trim", lambda: trims.append(now[0]))
    trim = heap.trimmer()
    for now[0] in (1, heap.APART - 1, heap.APART, heap.APART + 1, 2 * heap.APART - 1, 2 * heap.APART, 5 * heap.APART):
        trim()
    assert trims == [heap.APART, 2 * heap.APART, 5 * heap.APART]
