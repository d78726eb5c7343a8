"""Job kinds for tests: each chunk leaves a line in a tally, so that a chunk computed twice is noticed."""

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

from engine.basics.errors import InvalidInput
from engine.jobs import KINDS, JobKind, Output, Shares


def tally(payload):
    """The chunks that were computed, in order, over all processes."""
    path = Path(payload["tally"])
    return path.read_text().split() if path.exists() else []


def note(payload, text):
    with Path(payload["tally"]).open("a") as file:
        file.write(text + "\n")


def plan(payload):
    return [f"seed={i}/α" for i in range(payload["chunks"])]


def run_chunk(payload, key, context):
    number = int(key.split("=")[1].split("/")[0])
    if payload.get("fails_at") == number and not Path(payload["mended"]).exists():
        raise InvalidInput("The chunk is broken; mend it.")
    if payload.get("breaks_at") == number:
        return {"oops": 1 / 0}
    if payload.get("stops_at") == number:
        note(payload, f"stuck{number}")
        while True:
            context.progress(0.5, "stuck")
            time.sleep(0.02)
    time.sleep(payload.get("sleep", 0.0))
    note(payload, str(number))
    return {"scores": np.full((2, 2), float(number)), "facts": pd.DataFrame({"seed": [number]})}


def finish(payload, chunks, context):
    scores = np.stack([chunks[key].array("scores") for key in chunks])
    facts = pd.concat([chunk.table("facts") for chunk in chunks.values()], ignore_index=True)
    note(payload, "finish")
    return Output({"facts": facts}, {"scores": scores}, {"seeds": list(facts["seed"]), "device": "cpu"})


def begin_names(payload, key):
    return ["base", "odd" if int(key.split("=")[1].split("/")[0]) % 2 else "even"]


def make(payload, name, taken, context):
    """A megabyte, so that it lies in an object store and not with who asks for it."""
    if payload.get("makes_fail"):
        raise InvalidInput("The chunk is broken; mend it.")
    note(payload, f"make-{name}")
    assert set(taken) == (set() if name == "base" else {"base"})
    return {name: np.full(1 << 17, len(name) + sum(part[0] for part in taken.values()))}


def take(payload, handed, context):
    _BEGUN.clear()
    _BEGUN.update(handed)


def begun_chunk(payload, key, context):
    """As `slow`, with the mean of what was handed over in its scores."""
    found = run_chunk(payload, key, context)
    names = begin_names(payload, key)
    handed = _BEGUN[names[1]].mean() if names[1] in _BEGUN else len(names[0]) + len(names[1])
    return {**found, "scores": found["scores"] + handed, "handed": np.array(list(_BEGUN) == names)}


def begun_finish(payload, chunks, context):
    found = finish(payload, chunks, context)
    return Output(found.tables, found.arrays, {**found.manifest, "handed": [
        bool(chunks[key].array("handed")) for key in chunks]})


def where_chunk(payload, key, context):
    """Which device the worker sees and is told, once `together` of them are at it."""
    note(payload, f"{os.environ.get('CUDA_VISIBLE_DEVICES')}:{context.device}")
    until = time.monotonic() + 30
    while len(tally(payload)) < payload["together"] and time.monotonic() < until:
        context.progress(0.5, "waiting for the others")
        time.sleep(0.02)
    return {"scores": np.zeros(1)}


def where_finish(payload, chunks, context):
    return Output(arrays={"scores": np.zeros(1)}, manifest={"met": len(tally(payload)), "device": "cpu"})


KINDS.add("which_gpu", JobKind("which_gpu", lambda payload: [str(payload["number"])], where_chunk, where_finish),
          replace=True)
_BEGUN = {}
KINDS.add("begun", JobKind("begun", plan, begun_chunk, begun_finish, shares=Shares(begin_names, make, take)),
          replace=True)
KINDS.add("slow", JobKind("slow", plan, run_chunk, finish), replace=True)
