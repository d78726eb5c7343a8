"""Properties of a network that are measured once and then relied on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from engine.models.network import Network

T = TypeVar("T")
_LOCK = threading.RLock()


def computed_once(network: Network, key: Hashable, build: Callable[[], T]) -> T:
    """`build()`, called at the first request for `key`; stored with the network."""
    with _LOCK:
        findings = vars(network).setdefault("findings", {})
        if key not in findings:
            findings[key] = build()
        return findings[key]


def first_that_works(routes: Sequence[Callable], attempt: Callable[[Callable], object]) -> Callable:
    """The first route of which `attempt(route)` raises nothing; the last is taken without an attempt."""
    for route in routes[:-1]:
        try:
            attempt(route)
        except Exception:  # noqa: BLE001 - whatever an operator says when it lacks a rule
            continue
        return route
    return routes[-1]
