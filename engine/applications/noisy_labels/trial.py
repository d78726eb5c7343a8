"""The trial that says which method to trust on the data at hand: some labels are flipped, and every method searches."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from engine import data
from engine.applications.noisy_labels import effort, in_turn, planted
from engine.applications.noisy_labels.detectors.methods import REFITTED, TRAINING
from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.held_out import HeldOutRequest
from engine.applications.noisy_labels.network_readings import HeldOutModels
from engine.applications.noisy_labels.pairs import CONSENSUS, Pair, reading, usual
from engine.applications.noisy_labels.scoring import GRADIENTS, SIMILARITIES, detected, suspicions
from engine.applications.noisy_labels.source import NoisyData, NoisySource
from engine.basics.options import Options
from engine.basics.provenance import device_name
from engine.basics.values import Number
from engine.jobs import Context, Output
from engine.problems.problem import pick_device
from engine.requests import WHOLE, JobRequest
from engine.store.results import Result


@dataclass(frozen=True)
class Trial:
    """table: `planted.measured`, best first. planted: how many labels were made wrong, of `eligible` that could be."""

    table: pd.DataFrame
    planted: int
    eligible: int

    @property
    def best(self) -> Pair:
        """The ranking that finds most of them."""
        return Pair(str(self.table["method"].iloc[0]), str(self.table["behavior"].iloc[0]))

    @property
    def why(self) -> str:
        """Why it is the one, as the end of a sentence."""
        few = "" if self.planted >= ENOUGH else "; with so few, methods are separated only roughly"
        return (f"of {self.planted:,} labels flipped for the trial it detects most (AUPRC "
                f"{self.table['AUPRC'].iloc[0]:.2f}; a random order has about {self.planted / self.eligible:.2f})"
                f"{few}")

    def with_consensus(self, suspicion: Mapping[Pair, np.ndarray]) -> dict[Pair, np.ndarray]:
        """Rankings with the consensus that the trial weighs, or without any where no method finds more than chance."""
        others = {pair: values for pair, values in suspicion.items() if pair != CONSENSUS}
        weighted = planted.consensus(others, self.table)
        return others if weighted is None else {**others, CONSENSUS: weighted}


ENOUGH = 50
"""From how many planted labels on a trial tells methods apart."""


class TrialRequest(JobRequest[Trial]):
    """Flip some labels of the data at hand, and measure which method finds them."""

    name: ClassVar = "noisy_label_trial"
    answer: ClassVar = Trial
    numerics: ClassVar = 2

    source: NoisySource
    fraction: Annotated[Number, Field(gt=0, le=0.2)] = planted.FRACTION
    methods: tuple[str, ...] = Field(default_factory=lambda given: usual(not given["source"].learner.passes))

    @property
    def job_title(self) -> str:
        return f"Which method finds wrong labels in {data.title(self.source.dataset)}"

    @property
    def contents(self) -> Mapping[str, str]:
        return self.source.contents

    @property
    def unit(self) -> float:
        return 12 * effort.training_seconds(self.source)

    @property
    def involves(self) -> tuple[str, ...]:
        return effort.involves(self.source)

    def run_chunk(self, chunk: str, context: Context) -> Output:
        noisy, device = draw_cached(self.source), str(pick_device(context.device))
        before = HeldOutRequest.loaded(HeldOutRequest(source=self.source).within(
            context, "selecting labels that look right", 0.0, 0.2)).probabilities
        made = planted.plant(noisy.evidence.y, before.argmax(1), noisy.evidence.classes, self.source.mask,
                             self.fraction)
        scores = searched(noisy.relabelled(made.labels), self.methods, device,
                          context.computing("searching for the flipped labels"))
        answer = self.stored(Trial(planted.measured(scores, made), int(made.flipped.sum()), int(made.eligible.sum())))
        facts = {"data": noisy.fingerprint, "device": device_name(device)}
        return Output(answer.tables, answer.arrays, {**answer.manifest, **facts})

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        whole = chunks[WHOLE]
        answer = self.stored(self.loaded(whole))
        return Output(answer.tables, answer.arrays, {
            **answer.manifest, "source": self.source.model_dump(mode="json"), "seeds": [self.source.seed],
            "data": whole.manifest["data"], "device": whole.manifest["device"]})


def searched(noisy: NoisyData, methods: Collection[str], device: str, options: Options) -> dict[Pair, np.ndarray]:
    """Suspicion by the wanted methods in one piece, as `SuspicionRequest` computes it in chunks."""
    if not noisy.source.in_turn:
        return suspicions(noisy.train(device, check=options.check), methods, options)
    of_training = {*SIMILARITIES, *GRADIENTS, *reading(TRAINING)} & set(methods)
    folds = []
    for fold in range(noisy.source.folds):
        model = noisy.without(fold).train(device, check=options.check)
        folds.append(in_turn.Fold(suspicions(model, of_training, options), model.of_queries,
                                  np.empty((len(model.evidence.trusted_y), 0), dtype=np.int64)))
    p = in_turn.out_of_fold(noisy.fold_of, folds)
    scores = in_turn.suspicions(noisy.fold_of, folds) | in_turn.references(noisy, p, methods)
    return scores | detected(HeldOutModels(noisy.refitting(device, options), options, p),
                             set(reading(REFITTED)) & set(methods))
