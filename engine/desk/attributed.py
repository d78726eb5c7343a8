"""Runs that score a language model's training records: what they found, or what to wait for; and their start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.desk.desk import Desk
from engine.desk.waiting import Waiting
from engine.experiments.language_asked import Asked
from engine.models.causal import loading
from engine.runs import language as runs
from engine.store.results import Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Attributed:
    """What a finished run says of itself, and its tables by name."""

    manifest: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]


def attributed(desk: Desk, asked: Asked) -> Attributed | Waiting | None:
    """The finished run, or its job; None where nobody asked for it yet. Raises `StoreError` for damage."""
    return _found(desk, runs.KIND, asked.payload)


def attribute(desk: Desk, asked: Asked) -> None:
    """Queue the run, or take it up where it stopped. Raises one sentence for a model or task that cannot be had."""
    loading.find(asked.model)
    desk.jobs.take_up(runs.KIND, asked.payload, asked.title)


def shaded(desk: Desk, asked: Asked, row: int) -> Attributed | Waiting | None:
    """One record's scores taken apart into its tokens, as the table `tokens`; else as `attributed`."""
    return _found(desk, runs.TOKENS, asked.shading(row))


def shade(desk: Desk, asked: Asked, row: int) -> None:
    """Queue that job, or take it up where it stopped."""
    desk.jobs.take_up(runs.TOKENS, asked.shading(row), f"Tokens of record {row} · {asked.title}")


def _found(desk: Desk, kind: str, payload: Mapping[str, Any]) -> Attributed | Waiting | None:
    result = desk.jobs.result(kind, payload)
    return desk.jobs.under_way(kind, payload) if result is None else _read(result)


def _read(result: Result) -> Attributed:
    return Attributed(result.manifest, {name: result.table(name) for name in result.tables})
