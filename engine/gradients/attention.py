"""Attention computed by operators that have every derivative rule.

Torch's fused attention kernels know neither forward-mode nor double-backward nor vmap rules; the plain form does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch.backends import mha
from torch.nn.attention import SDPBackend, sdpa_kernel


@contextmanager
def plain_attention() -> Iterator[None]:
    """Within it attention is matrix products and a softmax."""
    before = mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        mha.set_fastpath_enabled(before)
