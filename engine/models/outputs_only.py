"""Passes of which nothing but the outputs is read: no gradient, and nothing that a hook inside would see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_ACTIVE = ContextVar("outputs_only", default=False)


@contextmanager
def outputs_only() -> Iterator[None]:
    """Modules within may take any way that gives the same outputs to rounding."""
    token = _ACTIVE.set(True)
    try:
        with torch.no_grad():
            yield
    finally:
        _ACTIVE.reset(token)


def is_outputs_only() -> bool:
    """Whether passes are under way of which nothing but the outputs is read."""
    return _ACTIVE.get()
