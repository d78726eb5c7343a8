r"""Why each label is suspected: which verified examples speak against it, and by how much.

    s(q, k) = ⟨e_{y_q} − p_q, e_{y_k} − p_k⟩ ⟨h_q, h_k⟩

is the first-order change of the log-likelihood of query q by a step of size 1 on the loss of z_k, in the last layer of
the trained model: h what that layer reads, with 1 for its bias, p the predicted probabilities. Negative: learning z_k
with its given label makes q less likely. Without verified examples, the held-out fold of every model that was trained
on z_k takes their place, and how many folds speak against it, by the mean of s, is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.folds import fold_chunks, fold_named
from engine.applications.noisy_labels.request import OfSource
from engine.applications.noisy_labels.source import NoisyData, TrainedModel
from engine.basics.provenance import device_name
from engine.jobs import Context, Output
from engine.requests import WHOLE
from engine.store.results import Result

MOST = 3
BATCH = 512


@dataclass(frozen=True, eq=False)
class Reasons:
    """queries (n, MOST): rows of the trusted set that speak most against each searched label, and scores (n, MOST)
    their s, lowest first. against (n,): the fraction of queries with s < 0. folds (n,): how many folds have a negative
    mean of s, of `of`; 0 of 0 with a trusted set."""

    queries: np.ndarray
    scores: np.ndarray
    against: np.ndarray
    folds: np.ndarray
    of: int


class LabelReasonsRequest(OfSource[Reasons]):
    """Say of each label which verified examples speak against it."""

    name: ClassVar = "label_reasons"
    about: ClassVar = "Reasons for suspicion in"

    @property
    def chunks(self) -> list[str]:
        return fold_chunks(self.source.folds) if self.source.in_turn else [WHOLE]

    def run_chunk(self, chunk: str, context: Context) -> Output:
        noisy = draw_cached(self.source)
        part = noisy if chunk == WHOLE else noisy.without(fold_named(chunk))
        model = part.train(context.device, check=context.check,
                           progress=lambda done: context.progress(0.8 * done, "training the model"))
        queries, scores, negative, mean = against(model)
        return Output(arrays={"queries": queries, "scores": scores, "negative": negative, "mean": mean},
                      manifest={"device": device_name(model.device)})

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        noisy, results = draw_cached(self.source), [chunks[chunk] for chunk in self.chunks]
        arrays = [result.arrays() for result in results]
        if self.source.in_turn:
            reasons = _together(noisy, arrays)
        else:
            reasons = Reasons(arrays[0]["queries"], arrays[0]["scores"], arrays[0]["negative"],
                              np.zeros(len(noisy.evidence.y), dtype=np.int64), 0)
        return self.stored(reasons).stating({"data": noisy.fingerprint, "device": results[0].manifest["device"],
                                             "seeds": [self.source.seed]})


def against(model: TrainedModel) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of each training label: the queries (n, MOST) with the lowest s, those s, the fraction of negative s, and the
    mean of s over the queries."""
    problem, evidence = model.problem, model.evidence
    residual, features = _sides(model, problem.x, evidence.y)
    of_queries, query_features = _sides(model, problem.queries, evidence.trusted_y)
    batches = []
    for start in range(0, len(residual), BATCH):
        rows = slice(start, start + BATCH)
        s = (residual[rows] @ of_queries.T) * (features[rows] @ query_features.T)
        lowest = torch.topk(s, min(MOST, s.shape[1]), largest=False)
        batches.append((lowest.indices, lowest.values, (s < 0).double().mean(1), s.mean(1)))
    queries, scores, negative, mean = (torch.cat(part).cpu().numpy() for part in zip(*batches, strict=True))
    return queries, scores, negative, mean


def _sides(model: TrainedModel, x: torch.Tensor, y: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """e_y − p (b, C) and h (b, F), float64."""
    network = model.problem.network
    p = network.predict(x).softmax(-1).double()
    one_hot = torch.nn.functional.one_hot(torch.as_tensor(y, device=p.device), p.shape[1]).double()
    with torch.no_grad():
        return one_hot - p, torch.cat([network.features(batch) for batch in x.split(BATCH)]).double()


def _together(noisy: NoisyData, folds: list[dict[str, np.ndarray]]) -> Reasons:
    """The findings of models that each leave a fold out, about all labels."""
    n, fold_of = len(noisy.evidence.y), noisy.fold_of
    queries: list[list[tuple[float, int]]] = [[] for _ in range(n)]
    negative, counted = np.zeros(n), np.zeros(n, dtype=np.int64)
    for number, fold in enumerate(folds):
        held, trained = np.flatnonzero(fold_of == number), np.flatnonzero(fold_of != number)
        negative[trained] += fold["negative"] / (len(folds) - 1)
        counted[trained] += fold["mean"] < 0
        for at, row in enumerate(trained):
            queries[row] += zip(fold["scores"][at], held[fold["queries"][at]], strict=True)
    lowest = [sorted(scored)[:MOST] for scored in queries]
    return Reasons(np.array([[query for _, query in scored] for scored in lowest], dtype=np.int64),
                   np.array([[score for score, _ in scored] for scored in lowest]), negative, counted, len(folds) - 1)
