"""The job that trains a model on observed labels and scores all of them: one run for every table and page that asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from engine.applications.noisy_labels import consensus, in_turn
from engine.applications.noisy_labels.origin import IN_TURN
from engine.applications.noisy_labels.pairs import MAIN, METHODS, Pair
from engine.applications.noisy_labels.scoring import AUGMENTED, suspicions
from engine.applications.noisy_labels.source import NoisyData, NoisySource, TrainedModel
from engine.basics.latest import Latest
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output, Progress, Watch, run_job
from engine.requests.prepared import check_contents
from engine.store.results import Result

KIND = "noisy_label_scores"
NUMERICS = 3
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
    by_heart: whether the model is a deep network that has learned its labels by heart (`consensus.by_heart`).
    """

    suspicion: dict[Pair, np.ndarray]
    predicted: np.ndarray
    probability: np.ndarray
    own: np.ndarray
    nearest: np.ndarray
    facts: dict[str, Any]
    by_heart: bool

    def with_consensus(self) -> Scored:
        """The same with the consensus among its rankings."""
        return replace(self, suspicion=consensus.with_consensus(self.suspicion, self.by_heart))


def load(result: Result) -> Scored:
    """What a finished run holds."""
    arrays = result.arrays()
    pairs = [Pair(*pair) for pair in result.manifest["pairs"]]
    facts = result.manifest["facts"]
    learned = consensus.by_heart(result.manifest["source"]["model"], facts["observed_accuracy"],
                                 facts["test_accuracy"])
    return Scored(dict(zip(pairs, arrays["suspicion"], strict=True)), arrays["predicted"], arrays["probability"],
                  arrays["own"], arrays["nearest"], facts, learned)


def _folds(data: Mapping[str, Any]) -> int:
    """How many parts are held out in turn; 0 where there is a trusted set."""
    return data["source"]["folds"] if data["source"].get("trusted_from") == IN_TURN else 0


def plan(data: Mapping[str, Any]) -> list[str]:
    if _folds(data):
        return [f"{FOLD}{fold}" for fold in range(_folds(data))]
    return [part for part, names in PARTS.items() if part == "similarity" or set(names) & set(data["methods"])]


def weight(data: Mapping[str, Any], key: str) -> float:
    """Guessed shares: the first chunk trains the model, confident learning trains others on folds."""
    return {"similarity": 1.0, "gradients": 0.5, "confident": 2.0}.get(key, 1.0)


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    source = NoisySource.parse(data["source"])
    check_contents(data, source.contents)
    drawn = draw_kept(source)
    if key.startswith(FOLD):
        return _run_fold(drawn.without(int(key.removeprefix(FOLD))), data["methods"], context)
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
            "trusted_from": drawn.trusted_origin, "made_wrong": drawn.made_wrong, **_read_as(drawn)}
    return Output(arrays=arrays, manifest=manifest)


def _run_fold(drawn: NoisyData, methods: Sequence[str], context: Context) -> Output:
    """One model, without its fold: suspicion of the labels that it was trained on, and what it says of the fold."""
    model = drawn.train(context.device, check=context.check,
                        progress=lambda share: context.progress(0.8 * share, "training the model"))
    found = suspicions(model, {*PARTS["similarity"], *PARTS["gradients"]} & set(methods) - {"random"},
                       context.computing("scoring labels", 0.8))
    p = model.problem.network.predict(model.problem.queries).softmax(-1).cpu().double().numpy()
    return Output(arrays={**{f"s{place}": values for place, values in enumerate(found.values())}, "p": p,
                          "nearest": _most_alike(model, model.problem.queries, model.problem.x)},
                  manifest={"pairs": [list(pair) for pair in found], "device": device_name(model.device),
                            "parameters_scored": model.problem.parameters,
                            "observed_accuracy": float((model.logits.argmax(-1).cpu().numpy()
                                                        == drawn.evidence.y).mean())})


def _finish_folds(data: Mapping[str, Any], chunks: Mapping[str, Result]) -> Output:
    """The folds put together; what is said of an example comes from the model that has not seen it."""
    drawn = draw_kept(NoisySource.parse(data["source"]))
    parts, told = [], [chunks[key].manifest for key in plan(data)]
    for key, facts in zip(plan(data), told, strict=True):
        arrays = chunks[key].arrays()
        scores = {Pair(*pair): arrays[f"s{place}"] for place, pair in enumerate(facts["pairs"])}
        parts.append(in_turn.Fold(scores, arrays["p"], arrays["nearest"]))
    y, fold_of = drawn.evidence.y, drawn.fold_of
    p = in_turn.out_of_fold(fold_of, parts)
    found = in_turn.suspicions(fold_of, parts) | in_turn.references(drawn, p, data["methods"])
    order = [method.title for method in METHODS.values()]
    found = dict(sorted(found.items(), key=lambda item: order.index(item[0].method) if item[0].method in order
                        else len(order)))
    facts = {"test_accuracy": float((p.argmax(-1) == y).mean()),
             "observed_accuracy": float(np.mean([one["observed_accuracy"] for one in told])),
             "data": drawn.fingerprint, "device": told[0]["device"], "training": len(y), "trusted": 0, "test": len(y),
             "parameters_scored": told[0]["parameters_scored"], "trusted_from": drawn.trusted_origin,
             "made_wrong": drawn.made_wrong, **_read_as(drawn)}
    return Output(arrays={"suspicion": np.stack(list(found.values())), "predicted": p.argmax(-1),
                          "probability": p.max(-1), "own": p[np.arange(len(y)), y],
                          "nearest": in_turn.nearest(fold_of, parts)},
                  manifest={"pairs": [list(pair) for pair in found], "facts": facts, "source": data["source"],
                            "seeds": [drawn.source.seed], "data": facts["data"], "device": facts["device"]})


def _read_as(drawn: NoisyData) -> dict[str, list[str]]:
    """What the reader of a user's own data decided, for the manifest."""
    return {"read_as": list(drawn.dataset.said)} if drawn.dataset.said else {}


FOLD = "fold "
NEAREST = 3


def nearest_trusted(model: TrainedModel) -> np.ndarray:
    """The trusted examples with the most similar representation, (n, NEAREST) rows of the trusted set."""
    return _most_alike(model, model.problem.x, model.problem.queries)


def _most_alike(model: TrainedModel, x: Tensor, among: Tensor) -> np.ndarray:
    """Rows (n, NEAREST) of `among` whose representation is most similar to that of each of x (n, …)."""
    import torch
    from torch.nn.functional import normalize

    features = model.problem.network.features
    known = torch.cat([normalize(features(part)) for part in among.split(2048)])
    found = [torch.topk(normalize(features(part)) @ known.T, min(NEAREST, len(known))).indices.cpu()
             for part in x.split(2048)]
    return torch.cat(found).numpy()


def finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    if _folds(data):
        return _finish_folds(data, chunks)
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
    """Tells the progress of a run to the chunk that started it, of which it is the part from `start` to `end`."""

    def __init__(self, context: Context, message: str = "", start: float = 0.0, end: float = 1.0) -> None:
        self.context, self.message, self.tell = context, message, context.part(message, start, end)

    def report(self, progress: Progress) -> None:
        self.tell(progress.share, self.message or progress.message)

    def check(self) -> None:
        self.context.check()


def within(context: Context, kind: str, data: Mapping[str, Any], message: str = "", start: float = 0.0,
           end: float = 1.0) -> Result:
    """Run another job to its end inside of a chunk, from the fraction `start` to `end` of it, or take its stored
    result."""
    watch = Passing(context, message, start, end)
    result = run_job(kind, data, context.store.root, options=context.options, watch=watch)
    watch.tell(1.0)  # which a stored result has not reported
    return result
