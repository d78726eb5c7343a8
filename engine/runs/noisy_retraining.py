"""What removing or relabelling does: the model trained again from the same seed, with everything else as it was.

A removed example has weight zero, so that all others stand in the same batches; runs are told apart by what is removed
and relabelled alone, and are shared by all who ask for the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from engine.applications.noisy_labels.evidence import Evidence
from engine.applications.noisy_labels.source import NoisyData, NoisySource
from engine.basics.errors import InvalidInput
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output
from engine.metrics import seed_means
from engine.metrics.agreement import top_size
from engine.models.training import train
from engine.requests.prepared import check_contents
from engine.runs import noisy_labels as runs
from engine.store.results import Result

KIND, WHAT_IF = "noisy_label_retraining", "noisy_label_what_if"
NUMERICS = 1
BEFORE, AFTER = "before", "after"
NOT_MEASURED = ("Accuracy is measured on verified examples, and these data bring none; bring a `test` folder or a list "
                "of verified examples.")


def payload(source: NoisySource, removed: Iterable[int] = (), relabelled: Mapping[int, int] | None = None
            ) -> dict[str, Any]:
    """One training: rows of the training set to remove, and rows with their new label. The order does not count."""
    return {"source": source.model_dump(mode="json"), "removed": sorted({int(row) for row in removed}),
            "relabelled": {str(row): int(label) for row, label in sorted((relabelled or {}).items())},
            "contents": source.contents, "numerics": NUMERICS}


def most_suspicious(suspicion: np.ndarray, share: float) -> np.ndarray:
    """The rows of the most suspicious share, at least one; the earlier row first among equal scores."""
    return np.argsort(-suspicion, kind="stable")[:max(1, top_size(len(suspicion), share))]


def retrained_accuracy(drawn: NoisyData, removed: Sequence[int], relabelled: Mapping[int, int], device: str = "cpu",
                       context: Context | None = None) -> float:
    """Test accuracy of the source's model trained without `removed` and with the labels of `relabelled`.

    Raises `InvalidInput` for a row or a label that does not exist, and where no two classes or no test examples are
    left.
    """
    def check() -> None:
        if context is not None:
            context.check()

    def progress(share: float) -> None:
        if context is not None:
            context.progress(share, "training again")

    if not len(drawn.y_test):
        raise InvalidInput(NOT_MEASURED)
    source, (y, weights) = drawn.source, _corrected(drawn.evidence, removed, relabelled)
    if not removed and not relabelled:
        return drawn.train(device, check=check, progress=progress).accuracy(drawn.x_test, drawn.y_test)
    found = train(drawn.build, torch.tensor(drawn.evidence.x), torch.tensor(y),
                  source.recipe.model_copy(update={"checkpoints": 0}), source.seed, weights=torch.tensor(weights),
                  device=device, check=check, progress=progress)
    x = torch.tensor(drawn.x_test)
    with torch.no_grad():
        said = torch.cat([found.module(part.to(device)).argmax(-1).cpu() for part in x.split(512)]).numpy()
    return float((said == drawn.y_test).mean())


def _corrected(evidence: Evidence, removed: Sequence[int], relabelled: Mapping[int, int]
               ) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) and weights (n,), 0 for what is removed. Raises `InvalidInput` as `retrained_accuracy` says."""
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
        raise InvalidInput("Examples of one class only would be left; remove fewer.")
    return y, weights


def _run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    from engine.problems.problem import pick_device

    device, source = str(pick_device(context.device)), NoisySource.parse(data["source"])
    check_contents(data, source.contents)
    drawn = runs.draw_kept(source)
    relabelled = {int(row): label for row, label in data["relabelled"].items()}
    accuracy = retrained_accuracy(drawn, data["removed"], relabelled, device, context)
    return Output(manifest={"accuracy": accuracy, "device": device_name(device), "data": drawn.fingerprint,
                            "trusted_from": drawn.trusted_origin, "made_wrong": drawn.made_wrong})


def _finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    told = chunks["train"].manifest
    return Output(manifest={**_passed_on(told), "accuracy": told["accuracy"], "seeds": [data["source"]["seed"]]})


TOLD = ("device", "data", "trusted_from", "made_wrong")
"""What a chunk says of its data and goes into the manifest of the whole."""


def _passed_on(told: Mapping[str, Any]) -> dict[str, Any]:
    """Of a manifest what `TOLD` names; one of an earlier version says less."""
    return {name: told[name] for name in TOLD if name in told}


JOB = JobKind(KIND, lambda data: ["train"], _run_chunk, _finish)


def what_if(source: NoisySource, removed: Iterable[int] = (), relabelled: Mapping[int, int] | None = None,
            seeds: int = 3) -> dict[str, Any]:
    """Accuracy before and after, over training seeds; the mask of the noise stays."""
    one = payload(source, removed, relabelled)
    return {**one, "seeds": [source.seed + place for place in range(seeds)]}


def _what_if_plan(data: Mapping[str, Any]) -> list[str]:
    return [f"{seed}/{part}" for seed in data["seeds"] for part in (BEFORE, AFTER)]


def _what_if_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    seed, part = key.split("/")
    one = {**data, "source": {**data["source"], "seed": int(seed)}}
    one.pop("seeds")
    if part == BEFORE:
        one |= {"removed": [], "relabelled": {}}
    said = "training on the labels as they are" if part == BEFORE else "training without what was decided against"
    told = runs.within(context, KIND, one, f"seed {seed}: {said}").manifest
    return Output(manifest={**_passed_on(told), "accuracy": told["accuracy"]})


def _what_if_finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    accuracies = {part: [chunks[f"{seed}/{part}"].manifest["accuracy"] for seed in data["seeds"]]
                  for part in (BEFORE, AFTER)}
    accuracies["change"] = [after - before for before, after in zip(*accuracies.values(), strict=True)]
    rows = [{"what": part, **seed_means.summary(values)} for part, values in accuracies.items()]
    told = chunks[f"{data['seeds'][0]}/{BEFORE}"].manifest
    return Output({"accuracy": pd.DataFrame(rows)}, manifest={**_passed_on(told), "seeds": data["seeds"]})


WHAT_IF_JOB = JobKind(WHAT_IF, _what_if_plan, _what_if_chunk, _what_if_finish)
