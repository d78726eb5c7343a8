"""The job that trains models on random subsets, for the linear datamodeling score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from engine.analysis.datamodels import Retrained
from engine.analysis.protocols import ProtocolName
from engine.analysis.subset_bank import TOGETHER, Among, Draw, part
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output
from engine.problems import ProblemSource
from engine.question.behaviors import BEHAVIORS
from engine.question.worded_behaviors import placed
from engine.requests.prepared import SHARES, first_candidates
from engine.store.results import Result

KIND = "datamodel"
NUMERICS = 2


def payload(source: ProblemSource, candidates: int, count: int = 30, share: float = 0.5, seed: int = 0,
            behaviors: Sequence[str] = (), protocol: ProtocolName = "weights", among: Among = "candidates"
            ) -> dict[str, Any]:
    """What determines the models: source, how many of the drawn candidates, and the subsets. behaviors: those with a
    user's words that are read off the models beside the registered ones. protocol, among: those of a `Draw`; a run
    that says neither had their defaults, and keeps its digest."""
    chosen = {name: value for name, value in (("protocol", protocol), ("among", among))
              if value != Draw.model_fields[name].default}
    worded = {"behaviors": sorted(set(behaviors))} if behaviors else {}
    return {"source": source.model_dump(mode="json"), "candidates": candidates, "subsets": count, "share": share,
            "seed": seed, "contents": source.contents, "numerics": NUMERICS, **worded, **chosen}


def load(result: Result) -> Retrained:
    """The models of a finished run."""
    arrays, names = result.arrays(), result.manifest.get("behaviors", [])
    first = arrays["logits"].shape[-1] - len(names)
    read = tuple(placed(BEHAVIORS[name], first + place) for place, name in enumerate(names))
    return Retrained(arrays["kept"], torch.as_tensor(arrays["logits"]), torch.as_tensor(arrays["labels"]),
                     arrays["candidates"], read)


def _worded(data: Mapping[str, Any]) -> list[str]:
    """The behaviors with words whose columns stand behind those of the registered ones, in this order."""
    return list(data.get("behaviors", []))


def plan(data: Mapping[str, Any]) -> list[str]:
    if drawn(data).among == "candidates":
        drawn(data).kept(data["candidates"])  # refused before anything is trained
    return [str(place) for place in range(-(-data["subsets"] // TOGETHER))]


def drawn(data: Mapping[str, Any]) -> Draw:
    """Which subsets, and how models are trained on them."""
    return Draw.parse({"count": data["subsets"], **{name: data[name] for name in (
        "share", "seed", "protocol", "among") if name in data}})


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    """Models that were trained for another run, or by the command line, are taken as they are kept."""
    problem, draw, start = first_candidates(data, context), drawn(data), int(key) * TOGETHER
    said = f"training models on subsets, from {start + 1} of {draw.count}"
    found = part(problem, draw, int(key), context.store, context.computing(said, 0.1),
                 [BEHAVIORS[name] for name in _worded(data)])
    return Output(arrays={"kept": found.kept, "logits": found.logits.double().cpu().numpy(),
                          "labels": found.labels.cpu().numpy(), "candidates": found.candidates},
                  manifest={"data": problem.fingerprint, "device": device_name(str(problem.device))})


def finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    parts = [chunks[key] for key in plan(data)]
    pieces = [part.arrays() for part in parts]
    joined = {name: np.concatenate([piece[name] for piece in pieces]) for name in ("kept", "logits")}
    return Output(arrays={**joined, **{name: pieces[0][name] for name in ("labels", "candidates")}},
                  manifest={"data": parts[0].manifest["data"], "device": parts[0].manifest["device"],
                            "source": data["source"], "seeds": [data["seed"]],
                            **({"behaviors": _worded(data)} if _worded(data) else {}),
                            "subsets": drawn(data).model_dump(mode="json")})


JOB = JobKind(KIND, plan, run_chunk, finish, shares=SHARES)
