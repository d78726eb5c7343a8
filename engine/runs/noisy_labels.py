"""The job that trains a model on observed labels and scores all of them: one run for every table and page that asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.applications.noisy_labels.pairs import MAIN, Pair
from engine.applications.noisy_labels.scoring import AUGMENTED, suspicions
from engine.applications.noisy_labels.source import NoisyData, NoisySource, TrainedModel
from engine.basics.latest import Latest
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output, Progress, Watch, run_job
from engine.runs.prepared import check_contents
from engine.store.results import Result

KIND = "noisy_label_scores"
NUMERICS = 1
PARTS = {"similarity": ("random", "repsim", "ntk", AUGMENTED), "gradients": ("gradsim", "tracin", "lissa"),
         "confident": ("confident",)}
"""Methods that are computed together, as one chunk."""


def payload(source: NoisySource, methods: Sequence[str] = MAIN) -> dict[str, Any]:
    """What determines the scores."""
    return {"source": source.model_dump(mode="json"), "methods": sorted(methods),
            "contents": source.contents, "numerics": NUMERICS}


@dataclass(frozen=True, eq=False)
class Scored:
    """A finished run: suspicion (n,) by pair, the model's predictions (n,) with their probabilities, and facts.

    own (n,): the model's probability of the observed label. facts: accuracy, data fingerprint, device, sizes.
    """

    suspicion: dict[Pair, np.ndarray]
    predicted: np.ndarray
    probability: np.ndarray
    own: np.ndarray
    nearest: np.ndarray
    facts: dict[str, Any]


def load(result: Result) -> Scored:
    """What a finished run holds."""
    arrays = result.arrays()
    pairs = [Pair(*pair) for pair in result.manifest["pairs"]]
    return Scored(dict(zip(pairs, arrays["suspicion"], strict=True)), arrays["predicted"], arrays["probability"],
                  arrays["own"], arrays["nearest"], result.manifest["facts"])


def plan(data: Mapping[str, Any]) -> list[str]:
    return [part for part, names in PARTS.items() if part == "similarity" or set(names) & set(data["methods"])]


def weight(data: Mapping[str, Any], key: str) -> float:
    """Guessed shares: the first chunk trains the model, confident learning trains others on folds."""
    return {"similarity": 1.0, "gradients": 0.5, "confident": 2.0}[key]


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    source = NoisySource.parse(data["source"])
    check_contents(data, source.contents)
    drawn = draw_kept(source)
    model = drawn.train(context.device, check=context.check,
                        progress=lambda share: context.progress(0.8 * share, "training the model"))
    found = suspicions(model, set(PARTS[key]) & set(data["methods"]), context.computing("scoring every label", 0.8))
    arrays: dict[str, np.ndarray] = {f"s{place}": values for place, values in enumerate(found.values())}
    manifest: dict[str, Any] = {"pairs": [list(pair) for pair in found]}
    if key == "similarity":
        p = model.logits.softmax(-1).cpu()
        y = np.asarray(drawn.evidence.y)
        arrays |= {"predicted": p.argmax(-1).numpy(), "probability": p.amax(-1).numpy(),
                   "own": p.numpy()[np.arange(len(y)), y], "nearest": nearest_trusted(model)}
        manifest["facts"] = {
            "test_accuracy": model.accuracy(drawn.x_test, drawn.y_test),
            "observed_accuracy": float((arrays["predicted"] == y).mean()), "data": drawn.fingerprint,
            "device": device_name(model.device), "training": len(y), "trusted": len(drawn.evidence.trusted_y),
            "test": len(drawn.y_test), "parameters_scored": model.problem.parameters,
            "trusted_from": drawn.trusted_origin, "made_wrong": drawn.made_wrong}
    return Output(arrays=arrays, manifest=manifest)


NEAREST = 3


def nearest_trusted(model: TrainedModel) -> np.ndarray:
    """The trusted examples with the most similar representation, (n, NEAREST) rows of the trusted set."""
    import torch
    from torch.nn.functional import normalize

    network = model.problem.network
    trusted = normalize(network.features(model.problem.queries))
    found = [torch.topk(normalize(network.features(part)) @ trusted.T, min(NEAREST, len(trusted))).indices.cpu()
             for part in model.problem.x.split(2048)]
    return torch.cat(found).numpy()


def finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    pairs: list[list[str]] = []
    rows: list[np.ndarray] = []
    told: dict[str, Any] = {}
    first = chunks["similarity"].arrays()
    for key in plan(data):
        arrays, own = chunks[key].arrays(), chunks[key].manifest["pairs"]
        pairs += own
        rows += [arrays[f"s{place}"] for place in range(len(own))]
        told |= chunks[key].manifest.get("facts", {})
    source = NoisySource.parse(data["source"])
    return Output(arrays={"suspicion": np.stack(rows), **{name: first[name] for name in
                                                          ("predicted", "probability", "own", "nearest")}},
                  manifest={"pairs": pairs, "facts": told, "source": data["source"], "seeds": [source.seed],
                            "data": told["data"], "device": told["device"]})


JOB = JobKind(KIND, plan, run_chunk, finish, weight)

_DRAWN: Latest[NoisyData] = Latest()


def draw_kept(source: NoisySource) -> NoisyData:
    """`source.draw()`; the last drawn data are kept for every model and training seed."""
    of_the_model = {"model": "cnn", "selection": "all", "seed": 0, "recipe": NoisySource().recipe}
    key = source.model_copy(update=of_the_model).model_dump_json(), *source.contents.values()
    return _DRAWN.get(key, source.draw).with_source(source)


class Passing(Watch):
    """Tells the progress of a run to the chunk that started it."""

    def __init__(self, context: Context, message: str = "") -> None:
        self.context, self.message = context, message

    def report(self, progress: Progress) -> None:
        self.context.progress(progress.share, self.message or progress.message)

    def check(self) -> None:
        self.context.check()


def within(context: Context, kind: str, data: Mapping[str, Any], message: str = "") -> Result:
    """Run another job to its end inside of a chunk, or take its stored result."""
    return run_job(kind, data, context.store.root, options=context.options, watch=Passing(context, message))
