"""Job kinds for tests: each chunk leaves a line in a tally, so that a chunk computed twice is noticed."""

import time
from pathlib import Path

import numpy as np
import pandas as pd

from engine.basics.errors import InvalidInput
from engine.jobs import KINDS, JobKind, Output


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


KINDS.add("slow", JobKind("slow", plan, run_chunk, finish), replace=True)
