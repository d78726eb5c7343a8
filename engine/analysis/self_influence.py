r"""Self-influence I_S(z_k, z_k): a training example's influence on the behavior at itself.

Every candidate is its own query. Large values, under a specification that reads the loss, mark examples that the
model knows from themselves alone: memorised, unusual or mislabelled ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import torch

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.metrics.positions import has_position
from engine.problems import Problem
from engine.question import direction
from engine.requests import OfCandidates
from engine.requests.fields import StoredScoring
from engine.scoring import cost
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.store.results import Store

BLOCK, SLICE = 1_000, 50


@dataclass(frozen=True, eq=False)
class SelfInfluence:
    """values (k,): oriented; NaN where there is none. candidates (k,): their rows of the training set."""

    values: np.ndarray
    candidates: np.ndarray


class SelfInfluenceRequest(OfCandidates[SelfInfluence]):
    """Score every candidate by its influence on the behavior at itself.

    Its values are NaN where one did not converge. Raises as `self_influence` does.
    """

    name: ClassVar = "self-influence"
    numerics: ClassVar = 4  # the sign of a negative α is turned, and likelihoods keep their digits
    doing: ClassVar = "self-influence"
    outputs: ClassVar = {"out": "Output values, one row per candidate, largest first."}
    shared: ClassVar = True
    outside: ClassVar = True

    scoring: StoredScoring

    def title(self, problem: str) -> str:
        return f"Self-influence of {self.count:,} candidates on {problem}"

    def quick(self, problem: Problem) -> bool:
        chosen = self.narrowed(problem)
        itself = chosen.at_itself(chosen.candidates[:BLOCK])
        return cost.guess([self.scoring], itself, len(chosen.candidates)) <= problem.live_seconds

    @property
    def chunks(self) -> list[str]:
        return [str(index) for index in range(-(-self.count // SLICE))]

    @property
    def unit(self) -> float:
        return super().unit / len(self.chunks)

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> SelfInfluence:
        start = int(chunk) * SLICE
        return self.together(problem.with_candidates(problem.candidates[start:start + SLICE]), options, store)

    def together(self, problem: Problem, options: Options, store: Store) -> SelfInfluence:
        """In blocks of `BLOCK`, which solve for all of their candidates at once."""
        return SelfInfluence(self_influence(problem, self.scoring, options), problem.candidates.cpu().numpy())

    def parameters(self) -> dict[str, Any]:
        """As payloads have been written from the start."""
        return {"scorings": [self.scoring.canonical()], "candidates": self.candidates}

    @classmethod
    def of_payload(cls, payload: Mapping[str, Any]) -> Self:
        return cls.parse({"source": payload["source"], "scoring": payload["scorings"][0],
                          "candidates": payload["candidates"]})

    def tables(self, answer: SelfInfluence, problem: Problem) -> list[pd.DataFrame]:
        labels = problem.units(torch.as_tensor(answer.candidates)).y.cpu().numpy()
        table = pd.DataFrame({"candidate": answer.candidates, "label": labels, "self_influence": answer.values})
        return [table.sort_values("self_influence", ascending=False, kind="stable")]

    @property
    def quantities(self) -> dict[str, str]:
        return {"out": direction.itself(self.scoring)}

    def sentences(self, answer: SelfInfluence) -> list[str]:
        missing = int(np.isnan(answer.values).sum())
        return [f"{missing} candidates did not converge, or cannot be ranked within their error bounds; they have no "
                "value."] if missing else []


def self_influence(problem: Problem, scoring: Scoring, options: Options | None = None) -> np.ndarray:
    """Oriented I_S(z_k, z_k) of every candidate, (k,); NaN where one did not converge, and where its error bound leaves
    it no position among the others. Raises as `compute` does."""
    if not scoring.route.implies:
        raise InvalidInput(f"`{scoring.route.title}` implies no specification, so it has no self-influence; choose "
                           "another one.")
    options = options or Options()
    blocks, values_of_blocks, bounds = problem.candidates.split(BLOCK), [], []
    for number, rows in enumerate(blocks):
        options_of_block = options.stage(number, len(blocks))
        scores = compute(problem.at_itself(rows), scoring, options_of_block)[0]
        values_of_blocks.append(np.diagonal(scores.scored))
        bounds.append(np.diagonal(scores.bound))
    values, error = np.concatenate(values_of_blocks), np.concatenate(bounds)
    return np.where(has_position(values[None], error[None])[0], values, np.nan)
