"""The job that computes scores for a drawn problem: what the pages ask for when it takes too long to wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from engine.basics.errors import InvalidInput
from engine.basics.options import Options, Precision
from engine.basics.values import Count
from engine.jobs import Context, Handed, Output
from engine.metrics.agreement import constant, pairwise
from engine.problems.handed import handed
from engine.requests import effort
from engine.requests.codec import read_scores, stored_arrays
from engine.requests.fields import StoredScoring
from engine.requests.request import MODEL, Request
from engine.scoring.compute import compute
from engine.scoring.convergence import Convergence
from engine.scoring.cost import network
from engine.scoring.cost.memory import held
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store.results import Result
from engine.store.sketch import MOST, Grid, Sketch

SLICE = 100
LOOKED_AT = 20
"""Queries over which the small picture of a run takes its means."""
CHUNK_SECONDS = 0.1
"""What a chunk takes beside its scores."""
FLOPS = 1e7
"""Operations of a network's pass, where only the ratios of costs count."""


class ScoresRequest(Request[tuple[Scores, ...]]):
    """Score the first candidates under several scorings.

    candidates: how many, up to what the source draws. precision: `float64` where approximations are held against exact
    answers, in the precision of these. Scorings that share their counterfactual models are a group; a chunk is a slice
    of the candidates under a group.
    """

    name: ClassVar = "scores"
    numerics: ClassVar = 7
    shared: ClassVar = True
    outside: ClassVar = True

    scorings: tuple[StoredScoring, ...]
    candidates: Count | None = None
    precision: Precision = "auto"

    def title(self, problem: str) -> str:
        count = len(self.scorings)
        return f"{count} specification{'s' if count > 1 else ''} on {problem}, {self.candidates} candidates"

    def parameters(self) -> dict[str, Any]:
        """The precision only where it is another one than had always been meant."""
        return self.model_dump(mode="json", exclude={"precision"} if self.precision == "auto" else None)

    @classmethod
    def loaded(cls, result: Result) -> tuple[Scores, ...]:
        """The scores of a finished run, in the order of its scorings."""
        arrays, runs = result.arrays(), result.manifest["runs"]
        scorings = cls.of_payload(result.manifest["payload"]).scorings
        return tuple(read_scores(scoring, arrays, index, run)
                     for index, (scoring, run) in enumerate(zip(scorings, runs, strict=True)))

    @classmethod
    def sketch(cls, result: Result) -> Sketch | None:
        """Mean Kendall τ between the first scorings, over the first queries; None for a single scoring."""
        scores = cls.loaded(result)[:MOST]
        if len(scores) < 2:
            return None
        converged = np.logical_and.reduce([one.converged for one in scores])
        stack = np.stack([one.oriented[:LOOKED_AT, converged] for one in scores])
        if stack.shape[-1] < 2:
            return None
        flat = constant(stack)
        tau = np.where(flat[:, None] | flat[None], np.nan, pairwise(stack, ("kendall",))["kendall"])
        return Grid.of([[float(one[~np.isnan(one)].mean()) if (~np.isnan(one)).any() else np.nan for one in row]
                        for row in tau], -1.0, 1.0,
                       f"Matrix of rank correlations (mean Kendall τ over at most {LOOKED_AT} queries)")

    @cached_property
    def groups(self) -> list[list[int]]:
        """Indices of scorings that share their counterfactual models."""
        groups: dict[tuple, list[int]] = {}
        for index, scoring in enumerate(self.scorings):
            groups.setdefault(scoring.counterfactual, []).append(index)
        return list(groups.values())

    @property
    def count(self) -> int:
        """How many candidates are scored. Raises `InvalidInput` where neither request nor source says a number."""
        most = self.origin.most_candidates
        if not most and not self.candidates:
            raise InvalidInput("The run does not say how many candidates to score; give `candidates` or "
                               "`n_candidates`.")
        return min(most or self.candidates, self.candidates or most)  # type: ignore[type-var,return-value]

    def slices(self, group: int) -> list[slice]:
        """Which candidates each chunk of a group scores: all at once where one computation answers for all of them."""
        width = self.count if self.scorings[self.groups[group][0]].process.at_once else SLICE
        return [slice(start, start + width) for start in range(0, self.count, width)]

    @property
    def chunks(self) -> list[str]:
        """Groups that take least come first, so that their scores are there first."""
        listed = [[f"{group}/{number}" for number in range(len(self.slices(group)))]
                  for group in range(len(self.groups))]
        return [chunk for own in sorted(listed, key=lambda own: sum(map(self._seconds, own))) for chunk in own]

    def memory(self, chunk: str) -> int:
        return held(self.origin, self._group_scorings(chunk), self._width(chunk))

    def weight(self, chunk: str) -> float:
        """Seconds; of a network its passes, of which one group may take ten times as many as another."""
        source = self.origin
        if source.problem_class.linear:
            return self._seconds(chunk)
        return network.seconds(self._group_scorings(chunk), n=source.n_train or effort.USUAL, flops=FLOPS,
                               queries=source.n_queries or effort.USUAL, parameters=0, candidates=self._width(chunk))

    @property
    def seconds(self) -> float:
        training = 0.0 if self.origin.is_trained else effort.training_seconds(self.origin)
        return training + sum(map(self._seconds, self.chunks))

    def _seconds(self, chunk: str) -> float:
        return CHUNK_SECONDS + effort.scoring_seconds(self.origin, self._group_scorings(chunk), self._width(chunk))

    def _group_scorings(self, chunk: str) -> list[Scoring]:
        return [self.scorings[index] for index in self.groups[int(chunk.partition("/")[0])]]

    def _width(self, chunk: str) -> int:
        """How many candidates a chunk scores."""
        group, number = map(int, chunk.split("/"))
        rows = self.slices(group)[number]
        return min(rows.stop, self.count) - rows.start

    def run_chunk(self, chunk: str, context: Context) -> Output:
        group, number = map(int, chunk.split("/"))
        context.progress(0.0, "training the model")
        problem = self.sampled(context, 0.5).problem
        whole = problem.with_candidates(problem.candidates[:self.count])
        members, scorings = self.groups[group], self._group_scorings(chunk)
        context.progress(0.05, f"scoring: {scorings[0].title}")
        scores = compute(problem.with_candidates(whole.candidates[self.slices(group)[number]]), scorings,
                         self._options(context, scorings[0].title, 0.05))
        arrays: dict[str, np.ndarray] = {"candidates": scores[0].candidates}
        for index, one in zip(members, scores, strict=True):
            arrays |= stored_arrays(one, index)
        data = whole.fingerprint if number == 0 else scores[0].provenance["data"]  # of all slices, from the first
        return Output(arrays=arrays, manifest={"runs": {str(index): {**one.provenance, "data": data}
                                                        for index, one in zip(members, scores, strict=True)}})

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        arrays: dict[str, np.ndarray] = {}
        by_index: dict[int, Any] = {}
        for group in range(len(self.groups)):
            of_group, provenances = self._group(chunks, group)
            arrays |= of_group
            by_index |= provenances
        runs = [by_index[index] for index in range(len(self.scorings))]
        return Output(arrays=arrays, manifest={
            "runs": runs, "spec": [scoring.canonical() for scoring in self.scorings],
            "source": self.origin.model_dump(mode="json"), "seeds": [self.origin.seed], "device": runs[0]["device"]})

    def _group(self, chunks: Mapping[str, Result], group: int) -> tuple[dict[str, np.ndarray], dict[int, Any]]:
        """The arrays of a group out of its slices, and the provenance of each of its scorings by index."""
        results = [chunks[f"{group}/{number}"] for number in range(len(self.slices(group)))]
        pieces = [result.arrays() for result in results]
        arrays = {name: np.concatenate([piece[name] for piece in pieces], 0 if name == "candidates" else -1)
                  for name in pieces[0]}
        runs = {index: _joined([result.manifest["runs"][str(index)] for result in results])
                for index in self.groups[group]}
        for run in runs.values():
            run.pop("noise_of_seeds", None)  # of one slice
        return arrays, runs

    def complete(self, chunks: Mapping[str, Result]) -> list[Scores]:
        """The scores of the groups all of whose slices are among the chunks."""
        scores: list[Scores] = []
        for group in range(len(self.groups)):
            if all(f"{group}/{number}" in chunks for number in range(len(self.slices(group)))):
                arrays, runs = self._group(chunks, group)
                scores += [read_scores(self.scorings[index], arrays, index, run) for index, run in runs.items()]
        return scores

    def _options(self, context: Context, title: str, start: float) -> Options:
        return replace(context.computing(title, start), precision=self.precision)

    def begins_with(self, chunk: str) -> Sequence[str]:
        return MODEL, chunk.partition("/")[0]

    def make(self, name: str, taken: Handed, context: Context) -> Handed:
        """The model; or what a group of scorings computes for its first candidate and needs again for the others, such
        as a factorised Hessian or projected gradients."""
        if name == MODEL:
            return super().make(name, taken, context)
        problem = self.sampled(context, 0.1).problem
        scorings = self._group_scorings(name)
        compute(problem.with_candidates(problem.candidates[:1]), scorings,
                self._options(context, scorings[0].title, 0.1))
        return handed(problem, taken)


def _joined(provenances: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One provenance for a scoring out of those of its slices."""
    first = provenances[0]
    convergence = [Convergence.read(first["exact"], one["convergence"]) for one in provenances]
    counts = {name: sum(one["resolution"][name] for one in provenances) for name in ("below", "of", "no_error_bound")}
    return {**first,
            "resolution": {**first["resolution"], **counts},
            "sizes": {**first["sizes"], "candidates": sum(one["sizes"]["candidates"] for one in provenances)},
            "wall_seconds": round(sum(one["wall_seconds"] for one in provenances), 3),
            "convergence": Convergence.joined(convergence).written}
