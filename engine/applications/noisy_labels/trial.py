"""The trial that says which method to trust on the data at hand: some labels are flipped, and every method searches."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field
from pydantic.fields import FieldInfo

from engine.applications.noisy_labels import in_turn, planted
from engine.applications.noisy_labels.detectors.methods import REFITTED, TRAINING, versions
from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.held_out import HeldOutRequest
from engine.applications.noisy_labels.network_readings import HeldOutModels
from engine.applications.noisy_labels.pairs import CONSENSUS, Pair, reading, usual
from engine.applications.noisy_labels.request import OfSource
from engine.applications.noisy_labels.scoring import GRADIENTS, SIMILARITIES, detected, suspicions
from engine.applications.noisy_labels.source import NoisyData
from engine.basics.options import Options
from engine.basics.provenance import device_name
from engine.basics.values import Number
from engine.jobs import Context, Output
from engine.problems.problem import pick_device
from engine.requests import WHOLE
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
        few = "" if self.planted >= ENOUGH else "; with so few labels, the comparison of methods is rough"
        return (f"of {self.planted:,} labels flipped for the trial it detects more than any other (AUPRC "
                f"{self.table['AUPRC'].iloc[0]:.2f}; a random order has about {self.planted / self.eligible:.2f}){few}")

    def with_consensus(self, suspicion: Mapping[Pair, np.ndarray]) -> dict[Pair, np.ndarray]:
        """Rankings with the consensus that the trial weighs, or without any where no method finds more than chance."""
        others = {pair: values for pair, values in suspicion.items() if pair != CONSENSUS}
        weighted = planted.consensus(others, self.table)
        return others if weighted is None else {**others, CONSENSUS: weighted}


ENOUGH = 50
"""From how many planted labels on a trial tells methods apart."""


class TrialRequest(OfSource[Trial]):
    """Flip 5% of the labels that look right, and measure how each method detects them (resumable).

    The command has no option but the data.
    """

    name: ClassVar = "noisy_label_trial"
    about: ClassVar = "Which method finds wrong labels in"
    numerics: ClassVar = 3
    trainings_each: ClassVar = 12.0
    command: ClassVar = "label-trial"
    doing: ClassVar = "label trial"
    outputs: ClassVar = {"out": "Detection of the flipped labels by each method, and its weight in the consensus."}

    fraction: Annotated[Number, Field(gt=0, le=0.2)] = planted.FRACTION
    methods: tuple[str, ...] = Field(default_factory=lambda given: usual(not given["source"].learner.passes))

    @property
    def contents(self) -> Mapping[str, str]:
        return {**super().contents, **versions(self.methods)}

    @classmethod
    def options(cls) -> dict[str, FieldInfo]:
        return {"source": cls.model_fields["source"]}

    def sentences(self, answer: Trial) -> list[str]:
        return [answer.table.to_string(index=False, float_format="{:.3f}".format),
                f"Recommended: {answer.best.title}: {answer.why}."]

    def run_chunk(self, chunk: str, context: Context) -> Output:
        noisy, device = draw_cached(self.source), str(pick_device(context.device))
        before = HeldOutRequest.loaded(HeldOutRequest(source=self.source).within(
            context, "selecting labels that look right", 0.0, 0.2)).probabilities
        options = Options(check=context.check)
        readings = HeldOutModels(noisy.refitting(device, options), options, before)
        made = planted.plant(noisy.evidence.y, planted.opinions(readings), noisy.evidence.classes, self.source.mask,
                             self.fraction)
        scores = searched(noisy.relabelled(made.labels), self.methods, device,
                          context.computing("searching for the flipped labels"))
        answer = self.stored(Trial(planted.measured(scores, made), int(made.flipped.sum()), int(made.eligible.sum())))
        return answer.stating({"data": noisy.fingerprint, "device": device_name(device)})

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        whole = chunks[WHOLE]
        return self.stored(self.loaded(whole)).stating({
            "source": self.source.model_dump(mode="json"), "seeds": [self.source.seed],
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
