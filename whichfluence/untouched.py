"""Verbs that leave torch's state in the program that calls them as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

from engine.models.precision import without_tf32

P = ParamSpec("P")
R = TypeVar("R")


def untouched(verb: Callable[P, R]) -> Callable[P, R]:
    """The verb, after which torch's random generators and its precision on a GPU are what they were before."""
    @wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        devices = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []
        with torch.random.fork_rng(devices), without_tf32():
            return verb(*args, **kwargs)

    return call
