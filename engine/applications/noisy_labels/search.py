"""The job that trains a model on observed labels and scores all of them: one run for every table and page that asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
import torch
from pydantic import AfterValidator, Field
from torch import Tensor
from torch.nn.functional import normalize

from engine.applications.noisy_labels import consensus, in_turn
from engine.applications.noisy_labels.decision_file import columns_of
from engine.applications.noisy_labels.detectors.methods import HELD_OUT, REFITTED, TRAINING, versions
from engine.applications.noisy_labels.detectors.readings import Probabilities
from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.folds import FOLD, fold_chunks, fold_named
from engine.applications.noisy_labels.held_out import HeldOutRequest
from engine.applications.noisy_labels.network_readings import HeldOutModels
from engine.applications.noisy_labels.pairs import BEHAVIOR_TITLES, METHODS, Pair, reading, usual
from engine.applications.noisy_labels.request import OfSource
from engine.applications.noisy_labels.scoring import (
    AUGMENTED,
    GRADIENTS,
    OF_CLASSES,
    SIMILARITIES,
    detected,
    suspicions,
)
from engine.applications.noisy_labels.source import NoisyData, TrainedModel
from engine.basics.provenance import device_name
from engine.jobs import Context, Output
from engine.problems.problem import pick_device
from engine.question import direction
from engine.question.behaviors import BEHAVIORS
from engine.store.results import Result

TOGETHER = {"similarity": ("random", *SIMILARITIES, *OF_CLASSES, AUGMENTED), "gradients": GRADIENTS,
            HELD_OUT: reading(HELD_OUT), TRAINING: reading(TRAINING), REFITTED: reading(REFITTED)}
"""Methods that are computed together, as one chunk."""
NEAREST = 3
OF_EXAMPLES = ("predicted", "probability", "own", "nearest")


@dataclass(frozen=True, eq=False)
class Scored:
    """A finished run: suspicion (n,) by pair, the model's predictions (n,) with their probabilities, and facts.

    own (n,): the model's probability of the observed label. nearest (n, NEAREST): the trusted examples with the most
    similar representation, as rows of the trusted set. facts: accuracy, data fingerprint, device, sizes. by_heart:
    whether the model is a deep network that has learned its labels by heart (`consensus.by_heart`).
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

    def table(self, noisy: NoisyData) -> pd.DataFrame:
        """A row a label, in the order of the training set; pictures of the user's own with their file."""
        return pd.DataFrame({**columns_of(noisy, range(len(noisy.rows)), {}),
                             "predicted": [noisy.dataset.class_names[label] for label in self.predicted],
                             **{pair.title: values for pair, values in self.suspicion.items()},
                             direction.QUANTITY: direction.suspicions([BEHAVIORS[name] for name in BEHAVIOR_TITLES])})


class SuspicionRequest(OfSource[Scored]):
    """Train on the labels of a source as they are, and say of each how likely it is wrong, by every method.

    A chunk is a group of methods; without a trusted set, a model that leaves out one fold.
    """

    name: ClassVar = "noisy_label_scores"
    about: ClassVar = "Noisy labels in"
    numerics: ClassVar = 4

    methods: Annotated[tuple[str, ...], AfterValidator(lambda names: tuple(sorted(names)))] = Field(
        default_factory=lambda given: usual(not given["source"].learner.passes))

    @property
    def contents(self) -> Mapping[str, str]:
        return {**super().contents, **versions(self.computed)}

    @property
    def chunks(self) -> list[str]:
        if self.source.in_turn:
            return [*fold_chunks(self.source.folds), *([REFITTED] if set(TOGETHER[REFITTED]) & self.computed else [])]
        return [group for group, names in TOGETHER.items() if group == "similarity" or set(names) & self.computed]

    @property
    def computed(self) -> set[str]:
        """The wanted methods that say something of the source's model."""
        return set(self.methods) - self.source.learner.without

    def weight(self, chunk: str) -> float:
        """Guessed shares: the first chunk trains the model, what reads held-out models trains others on folds, and a
        fold trains a model and reads it as three groups do."""
        return {"similarity": 1.0, "gradients": 0.5, HELD_OUT: 2.0, TRAINING: 0.2, REFITTED: 2.0}.get(chunk, 1.7)

    def run_chunk(self, chunk: str, context: Context) -> Output:
        noisy = draw_cached(self.source)
        if chunk.startswith(FOLD):
            return self._run_fold(noisy.without(fold_named(chunk)), context)
        if chunk in (HELD_OUT, REFITTED):
            return self._out_of_fold(chunk, noisy, context)
        model = _trained(noisy, context)
        scores = suspicions(model, set(TOGETHER[chunk]) & self.computed, context.computing("scoring every label", 0.8))
        output = _stored(scores)
        if chunk != "similarity":
            return output
        p = model.logits.softmax(-1).cpu()
        nearest = most_alike(model, model.problem.x, model.problem.queries)
        examples = _of_examples(noisy, p.numpy(), nearest)
        y = np.asarray(noisy.evidence.y)
        x_test = noisy.read(context.computing("measuring accuracy", 0.99)).x_test
        facts = {"test_accuracy": model.accuracy(x_test, noisy.y_test),
                 "observed_accuracy": float((examples["predicted"] == y).mean()), "device": device_name(model.device),
                 "trusted": len(noisy.evidence.trusted_y), "test": len(noisy.y_test),
                 "parameters_scored": model.problem.parameters, **_facts(noisy)}
        return Output(arrays={**output.arrays, **examples}, manifest={**output.manifest, "facts": facts})

    def _run_fold(self, noisy: NoisyData, context: Context) -> Output:
        """One model, without its fold: suspicion of the labels that it was trained on, and what it says of the fold."""
        model = _trained(noisy, context)
        of_training = {name for group in ("similarity", "gradients", TRAINING) for name in TOGETHER[group]}
        scores = suspicions(model, of_training & self.computed - {"random"}, context.computing("scoring labels", 0.8))
        output, nearest = _stored(scores), most_alike(model, model.problem.queries, model.problem.x)
        agrees = model.logits.argmax(-1).cpu().numpy() == noisy.evidence.y
        return Output(arrays={**output.arrays, "p": model.of_queries, "nearest": nearest},
                      manifest={**output.manifest, "device": device_name(model.device),
                                "parameters_scored": model.problem.parameters,
                                "observed_accuracy": float(agrees.mean())})

    def _out_of_fold(self, chunk: str, noisy: NoisyData, context: Context) -> Output:
        """What models say that are trained without a fold each: those of `HeldOutRequest`, and others after them."""
        held = HeldOutRequest.loaded(HeldOutRequest(source=self.source).within(
            context, "training on folds", 0.0, 1.0 if chunk == HELD_OUT else 0.5))
        wanted, options = set(TOGETHER[chunk]) & self.computed, context.computing("fitting without suspects")
        if chunk == HELD_OUT:
            return _stored(detected(Probabilities(held.labels, held.probabilities), wanted))
        refitting = noisy.refitting(str(pick_device(context.device)), options)
        return _stored(detected(HeldOutModels(refitting, options, held.probabilities), wanted))

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        results = [chunks[chunk] for chunk in self.chunks]
        arrays = [result.arrays() for result in results]
        scores = [{Pair(*pair): own[f"s{index}"] for index, pair in enumerate(result.manifest["pairs"])}
                  for result, own in zip(results, arrays, strict=True)]
        if self.source.in_turn:
            count = self.source.folds
            folds = [in_turn.Fold(suspicion, own["p"], own["nearest"])
                     for suspicion, own in zip(scores[:count], arrays[:count], strict=True)]
            refitted = {pair: values for own in scores[count:] for pair, values in own.items()}
            manifests = [result.manifest for result in results[:count]]
            suspicion, examples, facts = self._of_folds(folds, manifests, refitted)
        else:
            suspicion = {pair: values for own in scores for pair, values in own.items()}
            examples = {name: arrays[0][name] for name in OF_EXAMPLES}
            facts = results[0].manifest["facts"]
        return Output(arrays={"suspicion": np.stack(list(suspicion.values())), **examples}, manifest={
            "pairs": [list(pair) for pair in suspicion], "facts": facts, "source": self.source.model_dump(mode="json"),
            "seeds": [self.source.seed], "data": facts["data"], "device": facts["device"]})

    def _of_folds(self, folds: list[in_turn.Fold], manifests: list[dict[str, Any]], refitted: dict[Pair, np.ndarray]
                  ) -> tuple[dict[Pair, np.ndarray], dict[str, np.ndarray], dict[str, Any]]:
        """Suspicion, what is said of each example, and facts: of an example by the model that has not seen it."""
        noisy = draw_cached(self.source)
        y, fold_of = noisy.evidence.y, noisy.fold_of
        p = in_turn.out_of_fold(fold_of, folds)
        scores = in_turn.suspicions(fold_of, folds) | in_turn.references(noisy, p, self.methods) | refitted
        order = [method.title for method in METHODS.values()]
        suspicion = dict(sorted(scores.items(), key=lambda item: order.index(item[0].method)
                                if item[0].method in order else len(order)))
        examples = _of_examples(noisy, p, in_turn.nearest(fold_of, folds))
        return suspicion, examples, {
            "test_accuracy": float((examples["predicted"] == y).mean()),
            "observed_accuracy": float(np.mean([one["observed_accuracy"] for one in manifests])),
            "device": manifests[0]["device"], "trusted": 0, "test": len(y),
            "parameters_scored": manifests[0]["parameters_scored"], **_facts(noisy)}

    @classmethod
    def loaded(cls, result: Result) -> Scored:
        arrays, facts = result.arrays(), result.manifest["facts"]
        suspicion = dict(zip((Pair(*pair) for pair in result.manifest["pairs"]), arrays["suspicion"], strict=True))
        by_heart = consensus.by_heart(result.manifest["source"]["model"], facts["observed_accuracy"],
                                      facts["test_accuracy"])
        return Scored(suspicion, facts=facts, by_heart=by_heart, **{name: arrays[name] for name in OF_EXAMPLES})

    @classmethod
    def answered(cls, result: Result) -> Scored:
        """With the consensus, which is no method of a study."""
        return cls.loaded(result).with_consensus()


def _trained(noisy: NoisyData, context: Context) -> TrainedModel:
    return noisy.train(context.device, check=context.check,
                       progress=lambda done: context.progress(0.8 * done, "training the model"))


def _stored(scores: Mapping[Pair, np.ndarray]) -> Output:
    return Output(arrays={f"s{index}": values for index, values in enumerate(scores.values())},
                  manifest={"pairs": [list(pair) for pair in scores]})


def _of_examples(noisy: NoisyData, p: np.ndarray, nearest: np.ndarray) -> dict[str, np.ndarray]:
    """What a model says of each example, from its probabilities p (n, C)."""
    y = np.asarray(noisy.evidence.y)
    return {"predicted": p.argmax(-1), "probability": p.max(-1), "own": p[np.arange(len(y)), y], "nearest": nearest}


def _facts(noisy: NoisyData) -> dict[str, Any]:
    """What the manifest says of the data; `read_as`: what the reader of a user's own data decided."""
    return {"data": noisy.fingerprint, "training": len(noisy.evidence.y), "trusted_from": noisy.trusted_origin,
            "made_wrong": noisy.corrupted_count,
            **({"read_as": list(noisy.dataset.said)} if noisy.dataset.said else {})}


def most_alike(model: TrainedModel, x: Tensor, among: Tensor) -> np.ndarray:
    """Rows (n, NEAREST) of `among` whose representation is most similar to that of each of x (n, …)."""
    features = model.problem.network.features
    known = torch.cat([normalize(features(batch)) for batch in among.split(2048)])
    rows = [torch.topk(normalize(features(batch)) @ known.T, min(NEAREST, len(known))).indices.cpu()
            for batch in x.split(2048)]
    return torch.cat(rows).numpy()
