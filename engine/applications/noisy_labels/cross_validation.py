r"""What a review changes, measured without a test split: accuracy on the corrected labels, out of fold.

Every part of the examples is left out in turn, stratified by corrected label. One model is trained on the labels as
they came and one on the corrected labels, without what was removed; both are judged on the corrected labels of the part
that neither has seen. With d_i the difference of the two on example i (1, 0 or −1, a mean over repetitions),

    change = (1/n) Σ_i d_i ∓ 1.96 √(Var(d)/n),

the interval for the error of cross-validation (Bayle et al. 2020, NeurIPS). Labels that nobody looked at count as they
came, and corrections that follow the model's own guess favour it: both models alike where they are right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.folds import fold_of
from engine.applications.noisy_labels.retraining import (
    AFTER,
    BEFORE,
    OfTraining,
    RetrainingRequest,
    corrected,
    facts_of,
    of_the_data,
)
from engine.basics.provenance import device_name
from engine.basics.values import Count
from engine.jobs import Context, Output
from engine.problems.problem import pick_device
from engine.store.results import Result

NORMAL = 1.96
FOLDS = 5


class CrossValidationRequest(OfTraining):
    """Accuracy before and after removing and relabelling, out of fold and on the corrected labels of all examples.

    seeds: how often the examples are parted, and all models trained, anew. A row has its `n_examples`, `n_folds` and
    `n_seeds` too.
    """

    name: ClassVar = "noisy_label_cross_validation"
    trainings_each: ClassVar = 2.0

    folds: Annotated[Count, Field(ge=2, le=20)] = FOLDS
    seeds: Annotated[Count, Field(ge=1, le=100)] = 1

    @property
    def job_title(self) -> str:
        return f"Cross-validation with {len(self.training.removed) + len(self.training.relabelled):,} labels changed"

    @property
    def trainings(self) -> int:
        return 2 * self.folds * self.seeds

    def measured(self, n_test: int) -> str:
        parted = "once" if self.seeds == 1 else f"{self.seeds} times"
        return (f"over examples, paired; all labels as corrected, split {parted} into {self.folds} folds, each held "
                "out of both training runs.")

    def parameters(self) -> dict[str, Any]:
        """Those of a training, the folds, and the number of every repetition."""
        return {**self.training.parameters(), "folds": self.folds, "seeds": list(range(self.seeds))}

    @classmethod
    def of_payload(cls, payload: Mapping[str, Any]) -> CrossValidationRequest:
        return cls(training=RetrainingRequest.of_payload(payload), folds=payload["folds"], seeds=len(payload["seeds"]))

    @property
    def chunks(self) -> list[str]:
        return [f"{seed}/{fold}" for seed in range(self.seeds) for fold in range(self.folds)]

    def run_chunk(self, chunk: str, context: Context) -> Output:
        noisy, device = draw_cached(self.training.source), str(pick_device(context.device))
        repeat, fold = (int(number) for number in chunk.split("/"))
        y, weights = corrected(noisy.evidence, self.training.removed, self.training.relabelled)
        held = fold_of(y, self.folds, noisy.source.mask + repeat) == fold
        arrays = {}
        for half, (what, labels, own) in enumerate(((BEFORE, noisy.evidence.y, np.ones_like(weights)),
                                                    (AFTER, y, weights))):
            said = context.computing(f"training on the labels {what} the review")
            p = noisy.probabilities(labels, np.where(held, 0, own), held, noisy.source.seed + repeat, device,
                                    said.between(half / 2, (half + 1) / 2))
            arrays[what] = (p.argmax(1) == y[held])[weights[held] > 0].astype(np.float64)
        return Output(arrays=arrays, manifest={"device": device_name(device), **facts_of(noisy)})

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        noisy = draw_cached(self.training.source)
        y, weights = corrected(noisy.evidence, self.training.removed, self.training.relabelled)
        right = {what: np.zeros(len(y)) for what in (BEFORE, AFTER)}
        for chunk in self.chunks:
            repeat, fold = (int(number) for number in chunk.split("/"))
            folds = fold_of(y, self.folds, noisy.source.mask + repeat)
            for what, values in right.items():
                values[(folds == fold) & (weights > 0)] += chunks[chunk].arrays()[what] / self.seeds
        before, after = (values[weights > 0] for values in right.values())
        rows = [{"what": what, **summary(values), "n_folds": self.folds, "n_seeds": self.seeds}
                for what, values in ((BEFORE, before), (AFTER, after), ("change", after - before))]
        return Output({"accuracy": pd.DataFrame(rows)},
                      manifest={**of_the_data(chunks[self.chunks[0]].manifest), "seeds": list(range(self.seeds))})


def summary(values: np.ndarray) -> dict[str, float | int]:
    """The mean of one number an example (n,), half its 95% interval, and n."""
    return {"mean": float(values.mean()), "ci95": float(NORMAL * values.std(ddof=1) / np.sqrt(len(values))),
            "n_examples": len(values)}
