"""Run a job to its result, chunk by chunk, from wherever an earlier attempt stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from engine.basics import resident
from engine.basics.errors import InvalidInput, StoreError
from engine.basics.files import discard
from engine.basics.noted import KEY, manifest_part, note, noting
from engine.jobs.executor import ChunkWork, Executor, Ledger, LocalExecutor, stored_part
from engine.jobs.kinds import KINDS, Output, Watch, canonical
from engine.store.results import Result, Store, home, versions
from engine.store.sealed import Damage, NewerFormat, read_manifest


def run_job(kind: str, payload: Mapping[str, Any], root: Path | str | None = None, *,
            options: Mapping[str, Any] | None = None, watch: Watch | None = None,
            executor: Executor | None = None) -> Result:
    """The stored result of job (kind, payload), computed if it is not there yet.

    Every chunk is stored before the next one starts, so a run that was cancelled, killed or that failed
    goes on from its last finished chunk when it is called again. Raises whatever `watch` or a chunk raises.
    """
    result = _run(kind, payload, root, options, watch, executor)
    note(*result.manifest.get(KEY, ()))
    return result


def _run(kind: str, payload: Mapping[str, Any], root: Path | str | None, options: Mapping[str, Any] | None,
         watch: Watch | None, executor: Executor | None) -> Result:
    payload = json.loads(canonical(payload))  # what a worker would see
    work = ChunkWork(KINDS[kind], payload, Path(root) if root is not None else home(), dict(options or {}))
    store = Store(work.root)
    if store.has(work.job):
        try:
            result = store.read(work.job)
            forget_chunks(work.root, work.job)
            return result
        except NewerFormat:
            raise
        except StoreError:
            pass  # damaged: it is set aside now, and computed anew
    ledger = Ledger(work.kind.weights(payload), watch or Watch())
    ledger.watch.between_chunks()
    try:
        _compute(work, ledger, executor or LocalExecutor())
        result = _finish(work, ledger)
    except StoreError:
        if not store.has(work.job):
            raise
        result = store.read(work.job)  # another process was faster, and removed the chunks
    forget_chunks(work.root, work.job)
    return result


def forget_chunks(root: Path, job: str) -> None:
    """Remove the chunk files of a job: who looks finds all of them, or none."""
    with suppress(OSError):
        discard(Store(root, f"chunks/{job}").shelf, Path(root) / "tmp")


def stored_chunks(kind: str, payload: Mapping[str, Any], root: Path) -> Chunks:
    """The chunks of a job that are stored so far."""
    work = ChunkWork(KINDS[kind], payload, root)
    return Chunks(work, [key for key in work.kind.plan(payload) if work.chunks.has(work.name(key))])


def sweep_chunks(root: Path) -> None:
    """Remove the chunks of jobs whose result is there: a worker that lost its job may have written one afterwards."""
    store = Store(root)
    for folder in (Path(root) / "chunks").glob("*"):
        with suppress(InvalidInput):  # not a job's
            if store.has(folder.name):
                forget_chunks(root, folder.name)


class Chunks(Mapping[str, Result]):
    """The stored chunks of a job by key, each verified when it is asked for."""

    def __init__(self, work: ChunkWork, keys: list[str]) -> None:
        self._work, self._keys = work, keys

    def __getitem__(self, key: str) -> Result:
        if key not in self._keys:
            raise KeyError(key)
        return self._work.chunks.read(self._work.name(key))

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def manifests(self) -> list[dict[str, Any]]:
        """Those that can be read; the chunks' other files are not."""
        manifests: list[dict[str, Any]] = []
        for name in map(self._work.name, self._keys):
            with suppress(Damage):
                manifests.append(read_manifest(self._work.chunks.folder(name), name))
        return manifests


def _compute(work: ChunkWork, ledger: Ledger, executor: Executor) -> None:
    missing = []
    for key in ledger.weights:
        if took := work.stored(key):
            ledger.recall(key, took)
        else:
            missing.append(key)
    for key in missing[1:]:  # the first one begins at once, and tells it
        ledger.expect(key, work.on_disk(key))
    for key, took in executor.run(missing, work, ledger):
        ledger.finish(key, took)
        ledger.watch.between_chunks()


def _finish(work: ChunkWork, ledger: Ledger) -> Result:
    started = time.perf_counter()
    chunks = Chunks(work, list(ledger.weights))
    with noting() as notes:
        context = work.context(partial(ledger.update, ""), ledger.watch.check)
        output = Output.of(work.kind.finish(work.payload, chunks, context))
    manifests = chunks.manifests()
    notes.update(passes for manifest in manifests for passes in manifest.get(KEY, ()))
    peaks = [manifest.get(resident.KEY) for manifest in manifests]
    seconds = ledger.spent + time.perf_counter() - started
    facts = {"versions": versions(), **manifest_part(notes),
             **resident.manifest_part(*peaks, resident.peak_resident()), **output.manifest,
             "kind": work.kind.name, "payload": work.payload, "wall_seconds": round(seconds, 3),
             **stored_part(ledger.stored)}
    return Store(work.root).write(work.job, facts, output.tables, output.arrays)
