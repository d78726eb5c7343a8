"""What removing or relabelling does: the model trained again from the same seed, with everything else as it was.

A removed example has weight zero, so that all others stand in the same batches; runs are told apart by what is removed
and relabelled alone, and are shared by all who ask for the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import BeforeValidator

from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.evidence import Evidence
from engine.applications.noisy_labels.request import LabelsRequest, OfSource
from engine.applications.noisy_labels.source import NoisyData, NoisySource
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.provenance import device_name
from engine.jobs import Context, Output
from engine.metrics import seed_means
from engine.metrics.agreement import top_size
from engine.problems.problem import pick_device
from engine.requests import WHOLE
from engine.store.results import Result

BEFORE, AFTER = "before", "after"
NOT_MEASURED = ("Accuracy is measured on verified examples, and these data have none; measure it out of fold on the "
                "corrected labels.")
OF_THE_DATA = ("device", "data", "trusted_from", "made_wrong")
"""What a chunk says of its data and goes into the manifest of the whole; one of an earlier version says less."""


class RetrainingRequest(OfSource[float]):
    """One training: rows of the training set to remove, and rows with their new label. The order does not count.

    The answer is the test accuracy. Raises `InvalidInput` for a row or a label that does not exist, and where no two
    classes or no test examples are left.
    """

    name: ClassVar = "noisy_label_retraining"
    about: ClassVar = "Training again on"

    removed: Annotated[tuple[int, ...], BeforeValidator(lambda rows: tuple(sorted({int(row) for row in rows})))] = ()
    relabelled: Annotated[dict[int, int], BeforeValidator(
        lambda labels: {int(row): int(labels[row]) for row in sorted(labels, key=int)})] = {}

    def run_chunk(self, chunk: str, context: Context) -> Output:
        device, noisy = str(pick_device(context.device)), draw_cached(self.source)
        accuracy = retrained_accuracy(noisy, self.removed, self.relabelled, device, context.computing("training again"))
        return Output(manifest={"accuracy": accuracy, "device": device_name(device), **facts_of(noisy)})

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        manifest = chunks[WHOLE].manifest
        return Output(manifest={**of_the_data(manifest), "accuracy": manifest["accuracy"], "seeds": [self.source.seed]})

    @classmethod
    def loaded(cls, result: Result) -> float:
        return result.manifest["accuracy"]


@dataclass(frozen=True)
class WhatIf:
    """accuracy: a row before, after and change, with its mean and half its 95% interval `ci95`: over training seeds, or
    over examples that models were not trained on."""

    accuracy: pd.DataFrame


class OfTraining(LabelsRequest[WhatIf]):
    """Base of requests for the accuracy before and after one training. trainings: how many models it trains."""


    training: RetrainingRequest

    @property
    def labels(self) -> NoisySource:
        return self.training.source

    @property
    def trainings(self) -> int:
        raise NotImplementedError

    def measured(self, n_test: int) -> str:
        """What the interval of its change is over, after `a 95% interval`."""
        raise NotImplementedError


class WhatIfRequest(OfTraining):
    """Accuracy before and after removing and relabelling, over training seeds; the mask of the noise stays."""

    name: ClassVar = "noisy_label_what_if"
    numerics: ClassVar = RetrainingRequest.numerics

    seeds: int = 3

    @property
    def job_title(self) -> str:
        counts = ((len(self.training.removed), "removed"), (len(self.training.relabelled), "relabelled"))
        return f"What if {' and '.join(f'{count:,} {what}' for count, what in counts if count)}"

    @property
    def trainings(self) -> int:
        return 2 * self.seeds

    def measured(self, n_test: int) -> str:
        return f"by Student's t over {self.seeds} training seeds, paired; {n_test:,} test examples."

    def parameters(self) -> dict[str, Any]:
        """Those of a training, and its seeds one by one."""
        first = self.training.source.seed
        return {**self.training.parameters(), "seeds": list(range(first, first + self.seeds))}

    @classmethod
    def of_payload(cls, payload: Mapping[str, Any]) -> WhatIfRequest:
        return cls(training=RetrainingRequest.of_payload(payload), seeds=len(payload["seeds"]))

    @property
    def chunks(self) -> list[str]:
        return [f"{seed}/{step}" for seed in self.parameters()["seeds"] for step in (BEFORE, AFTER)]

    def run_chunk(self, chunk: str, context: Context) -> Output:
        seed, step = chunk.split("/")
        changes: dict[str, Any] = {"removed": (), "relabelled": {}} if step == BEFORE else {}
        source = self.training.source.model_copy(update={"seed": int(seed)})
        said = "training on the original labels" if step == BEFORE else "training on the reviewed labels"
        manifest = self.training.model_copy(update={"source": source, **changes}).within(
            context, f"seed {seed}: {said}").manifest
        return Output(manifest={**of_the_data(manifest), "accuracy": manifest["accuracy"]})

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        manifests = [chunks[chunk].manifest for chunk in self.chunks]
        before, after = ([one["accuracy"] for one in manifests[start::2]] for start in (0, 1))
        accuracies = {BEFORE: before, AFTER: after,
                      "change": [last - first for first, last in zip(before, after, strict=True)]}
        rows = [{"what": what, **seed_means.summary(values)} for what, values in accuracies.items()]
        return Output({"accuracy": pd.DataFrame(rows)},
                      manifest={**of_the_data(manifests[0]), "seeds": self.parameters()["seeds"]})


def most_suspicious(suspicion: np.ndarray, fraction: float) -> np.ndarray:
    """The rows of the most suspicious fraction, at least one; the earlier row first among equal scores."""
    return np.argsort(-suspicion, kind="stable")[:max(1, top_size(len(suspicion), fraction))]


def retrained_accuracy(noisy: NoisyData, removed: Sequence[int], relabelled: Mapping[int, int], device: str = "cpu",
                       options: Options | None = None) -> float:
    """Test accuracy of the source's model trained without `removed` and with the labels of `relabelled`.

    Raises as `RetrainingRequest` does.
    """
    options = options or Options()
    if not len(noisy.y_test):
        raise InvalidInput(NOT_MEASURED)
    y, weights = corrected(noisy.evidence, removed, relabelled)
    if not removed and not relabelled:
        model = noisy.train(device, check=options.check, progress=options.progress)
        return model.accuracy(noisy.read(options).x_test, noisy.y_test)
    p = noisy.probabilities(y, weights, None, noisy.source.seed, device, options)
    return float((p.argmax(1) == noisy.y_test).mean())


def corrected(evidence: Evidence, removed: Sequence[int], relabelled: Mapping[int, int]
              ) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) and weights (n,), 0 for what is removed. Raises `InvalidInput` as `RetrainingRequest` says."""
    y, weights = evidence.y.copy(), np.ones(len(evidence.y), dtype=np.float32)
    rows = np.array([*removed, *relabelled], dtype=np.int64)
    if len(rows) and not (rows.min() >= 0 and rows.max() < len(y)):
        raise InvalidInput(f"There is no training example {int(rows[(rows < 0) | (rows >= len(y))][0])}; the review "
                           "may be of another dataset.")
    if any(not 0 <= label < evidence.classes for label in relabelled.values()):
        raise InvalidInput(f"There is no such class to relabel to; use 0 to {evidence.classes - 1}.")
    for row, label in relabelled.items():
        y[row] = label
    weights[np.array(list(removed), dtype=np.int64)] = 0
    if len(np.unique(y[weights > 0])) < 2:
        raise InvalidInput("Only examples of one class would remain; remove fewer.")
    return y, weights


def facts_of(noisy: NoisyData) -> dict[str, Any]:
    """What a chunk says of its data."""
    return {"data": noisy.fingerprint, "trusted_from": noisy.trusted_origin, "made_wrong": noisy.corrupted_count}


def of_the_data(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What the manifest of the whole takes over from a chunk's."""
    return {name: manifest[name] for name in OF_THE_DATA if name in manifest}
