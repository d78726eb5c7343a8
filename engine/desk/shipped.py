"""Finished runs that come with the program, so that a page has an answer before anybody has computed one.

They lie sealed under assets/embedded/runs as a store writes them, and are never written to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.jobs.kinds import canonical
from engine.requests import JobRequest
from engine.store.results import Result, Store
from engine.store.sealed import MANIFEST, Damage, NewerFormat, read_manifest, verified

STORE = Store(Path(__file__).parents[2] / "assets" / "embedded", "runs")
LESS = ("methods", "benchmarks")
"""Fields by which a run may answer less than is requested: what came with the program knows none that are newer."""


def shipped(request: JobRequest) -> Result | None:
    """The run that answers a request, be it by some of the methods and benchmarks that it names; None where none came
    with the program, or where its files are damaged."""
    of_kind = {digest: one["payload"] for digest, one in manifests(STORE.shelf).items() if one["kind"] == request.name}
    wanted = json.loads(canonical(request.payload)) if of_kind else {}
    for digest, payload in of_kind.items():
        if _answers(payload, wanted):
            try:
                return Result(digest, verified(STORE.folder(digest), digest), STORE)
            except Damage:
                return None
    return None


@lru_cache(maxsize=2)
def manifests(shelf: Path) -> Mapping[str, dict[str, Any]]:
    """digest -> manifest of all that can be read."""
    readable = {}
    for path in sorted(shelf.glob(f"*/{MANIFEST}")):
        digest = path.parent.name
        try:
            readable[digest] = read_manifest(path.parent, digest)
        except (Damage, NewerFormat):
            continue
    return readable


def _answers(payload: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    fewer = all(set(payload.get(name, ())) <= set(wanted.get(name, ())) for name in LESS)
    return fewer and {**payload, **dict.fromkeys(LESS)} == {**wanted, **dict.fromkeys(LESS)}
