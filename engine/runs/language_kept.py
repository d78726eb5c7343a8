"""Trainings on disk and the jobs that need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.applications.language import stages
from engine.applications.language.attribution import Attribution
from engine.basics.errors import WhichfluenceError
from engine.data.tasks import TASKS
from engine.jobs import JobQueue
from engine.models.causal import catalogue, kept
from engine.models.causal.kept import Kept
from engine.problems.problem import pick_device
from engine.store.results import home


def title(found: Kept) -> str:
    """`Conditional backdoor · SmolLM2-135M-Instruct · seed 1 · 80 records`."""
    told = found.description
    if not told:
        return f"A training of an earlier version, {found.digest[:8]}"
    name = TASKS[told["task"]].title if told.get("task") in TASKS else str(told.get("task"))
    again = ", trained again without some" if told.get("part") else ""
    return (f"{name} · {catalogue.model_title(str(told.get('model')))} · seed {told.get('seed')} · "
            f"{told.get('records'):,} records{again}")


def busy() -> set[str]:
    """The trainings that queued and running jobs need; all there are where that cannot be told."""
    found: set[str] = set()
    for job in JobQueue(home()).jobs("queued", "running"):
        if (settings := _settings(job.payload)) is None:
            continue
        try:
            found |= {digest for chosen, seed in settings for digest in _digests(chosen, seed)}
        except (WhichfluenceError, KeyError, TypeError, ValueError, OSError):
            return {training.digest for training in kept.trainings()}
    return found


def delete(digest: str) -> int:
    """Remove a training that no job needs; returns its bytes. Raises `InvalidInput`."""
    return kept.delete(digest, busy())


def _settings(payload: Mapping[str, Any]) -> list[tuple[dict[str, Any], int]] | None:
    """(settings, seed) of every training of a job's payload; None for a job that trains no language model."""
    payload = payload.get("run", payload) if isinstance(payload.get("run"), Mapping) else payload
    settings = payload.get("settings")
    if not isinstance(settings, Mapping) or "model" not in settings:
        return None
    parts = [settings] if "task" in settings else [
        {**settings[name], "model": settings["model"]} for name in ("corruption", "backdoor") if name in settings]
    seeds: Sequence[Any] = payload["seeds"] if "seeds" in payload else [payload.get("seed")]
    return [(dict(part), seed) for part in parts for seed in seeds if "recipe" in part] or None


def _digests(settings: Mapping[str, Any], seed: int) -> set[str]:
    kinds = {"cpu", pick_device("auto").type}
    return {Attribution(stages.setting(settings), seed, kind).digest[:kept.LENGTH] for kind in kinds}
