"""Trainings on disk and the jobs that need them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from engine.applications.language import stages
from engine.applications.language.cache import in_memory
from engine.applications.language.fine_tuned import FineTuned
from engine.basics.errors import InvalidInput, WhichfluenceError
from engine.data.tasks import TASKS
from engine.jobs import JobQueue
from engine.models.causal import catalogue, stored_trainings
from engine.models.causal.stored_trainings import StoredTraining
from engine.problems.problem import pick_device
from engine.store.results import home


def title(training: StoredTraining) -> str:
    """`Conditional backdoor · SmolLM2-135M-Instruct · seed 1 · 80 records`."""
    facts = training.description
    if not facts:
        return f"A training of an earlier version, {training.digest[:8]}"
    name = TASKS[facts["task"]].title if facts.get("task") in TASKS else str(facts.get("task"))
    partial = ", retrained without some" if facts.get("part") else ""
    return (f"{name} · {catalogue.model_title(str(facts.get('model')))} · seed {facts.get('seed')} · "
            f"{facts.get('records'):,} records{partial}")


def busy() -> set[str]:
    """The trainings that queued and running jobs need; all there are where that cannot be told."""
    needed: set[str] = set()
    for job in JobQueue(home()).jobs("queued", "running"):
        try:
            needed |= {digest for chosen, seed in _settings(job.payload) for digest in _digests(chosen, seed)}
        except (WhichfluenceError, KeyError, TypeError, ValueError, OSError):
            return {training.digest for training in stored_trainings.trainings()}
    return needed


def delete(digest: str) -> int:
    """Remove a training that no job needs; returns its bytes. Raises `InvalidInput`."""
    return stored_trainings.delete(digest, busy())


@contextmanager
def caches_removed() -> Iterator[None]:
    """What is cached of gradients within is in memory, as far as it fits there; the rest is removed from disk at the
    end, but for trainings that others use; after an error it stays, so that a repeated run resumes."""
    before = set(stored_trainings.caches())
    with in_memory():
        yield
    made: dict[str, list[Path]] = {}
    for folder, digest in set(stored_trainings.caches()) - before:
        made.setdefault(digest, []).append(folder)
    for digest, folders in made.items():
        with suppress(InvalidInput):
            stored_trainings.delete_caches(digest, folders, busy())


def _settings(payload: Mapping[str, Any]) -> list[tuple[dict[str, Any], int]]:
    """(settings, seed) of every training of a job's payload; none for a job that trains no language model."""
    payload = payload.get("run", payload) if isinstance(payload.get("run"), Mapping) else payload
    settings = payload.get("settings")
    if not isinstance(settings, Mapping) or "model" not in settings:
        return []
    tasks = [settings] if "task" in settings else [
        {**settings[name], "model": settings["model"]} for name in ("corruption", "backdoor") if name in settings]
    seeds: Sequence[Any] = payload["seeds"] if "seeds" in payload else [payload.get("seed")]
    return [(dict(task), seed) for task in tasks for seed in seeds if "recipe" in task]


def _digests(settings: Mapping[str, Any], seed: int) -> set[str]:
    kinds = {"cpu", pick_device("auto").type}
    return {FineTuned(stages.setting(settings), seed, kind).digest[:stored_trainings.LENGTH] for kind in kinds}
