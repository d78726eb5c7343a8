"""The ends of a ranking of candidates that come in parts: each part is scored and let go.

Of m queries the k largest and the k smallest oriented scores are held, with the numbers and names of their candidates:
4·m·k numbers, however many candidates there are. Scores are those of `compute`, part by part: where the stream is cut
moves them by rounding, and those of an iterative solver, which stops when all of a part have met its tolerance, within
that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.problems import Problem
from engine.problems.candidates import Part
from engine.scoring.compute import compute
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

MOST = 100_000
"""Candidates held at each end of each query's ranking."""


@dataclass(frozen=True)
class End:
    """Of each query the k first candidates by `sign` times their score: scores, numbers and names (m, ≤ k)."""

    k: int
    sign: int
    scores: np.ndarray
    numbers: np.ndarray
    names: np.ndarray

    @classmethod
    def empty(cls, queries: int, k: int, sign: int) -> End:
        """Before the first part."""
        return cls(k, sign, np.empty((queries, 0)), np.empty((queries, 0), np.int64), np.empty((queries, 0), object))

    def joined(self, scores: np.ndarray, numbers: np.ndarray, names: np.ndarray) -> End:
        """With scores (m, b) of candidates (b,), NaN where there is none; of equal ones the earlier stays."""
        m = len(scores)
        every = np.concatenate([self.scores, scores], 1)
        order = np.argsort(-self.sign * every, axis=1, kind="stable")[:, :self.k]  # NaN is last
        pick = [np.take_along_axis(np.concatenate([own, np.broadcast_to(new, (m, len(new)))], 1), order, 1)
                for own, new in ((self.numbers, numbers), (self.names, names))]
        return End(self.k, self.sign, np.take_along_axis(every, order, 1), *pick)


@dataclass(frozen=True, eq=False)
class Streamed:
    """The ends of the ranking of a stream under a scoring.

    top, bottom: what supports the behavior at a query most, and what opposes it most. count: how many candidates there
    were; left_out: for how many of them some score did not converge or is not finite. provenance: the manifest.
    """

    scoring: Scoring
    top: End
    bottom: End
    count: int = 0
    left_out: int = 0
    provenance: dict[str, Any] = field(default_factory=dict)

    def joined(self, scores: Scores, names: Sequence[str]) -> Streamed:
        """With the scores of the next candidates."""
        numbers = self.count + np.arange(len(scores.candidates))
        called, usable = np.array(list(names) or [""] * len(numbers), object), scores.scored
        return Streamed(self.scoring, self.top.joined(usable, numbers, called),
                        self.bottom.joined(usable, numbers, called), self.count + len(numbers),
                        self.left_out + int((~scores.usable).any(0).sum()), self.provenance or scores.provenance)

    def to_frame(self) -> pd.DataFrame:
        """A row a query, end and rank: query, end, rank, candidate (its number in the stream), name, score, oriented.
        """
        rows = []
        for end, title in ((self.top, "top"), (self.bottom, "bottom")):
            for query, rank in np.argwhere(~np.isnan(end.scores)):
                oriented = end.scores[query, rank]
                rows.append((query, title, rank + 1, end.numbers[query, rank], end.names[query, rank],
                             self.scoring.orientation * oriented, oriented))
        frame = pd.DataFrame(rows, columns=["query", "end", "rank", "candidate", "name", "score", "oriented"])
        return frame.sort_values("query", kind="stable", ignore_index=True)


def streamed(problem: Problem, parts: Iterable[Part[Problem]], scoring: Scoring, k: int, options: Options | None = None
             ) -> Streamed:
    """The k candidates at each end of each query's ranking. problem: whose queries they are; parts: read one by one.

    Raises `InvalidInput` as `compute` does, for k below 1, and for a stream without candidates.
    """
    if not 1 <= k <= MOST:
        raise InvalidInput(f"`k` is {k}; give a number from 1 to {MOST:,}.")
    options, m = options or Options(), len(problem.queries)
    ends = Streamed(scoring, End.empty(m, k, 1), End.empty(m, k, -1))
    for part, names in parts:
        options.check()
        ends = ends.joined(compute(part, scoring, options)[0], names)
    if not ends.count:
        raise InvalidInput("The stream contains no candidates; give at least one batch of them.")
    record = {**ends.provenance, "data": problem.fingerprint, "left_out": ends.left_out, "k": k}
    record["sizes"] = {key: value for key, value in record["sizes"].items() if key != "outside"} | {
        "candidates": ends.count}
    for of_a_part in ("convergence", "resolution", "wall_seconds"):
        record.pop(of_a_part)
    return Streamed(scoring, ends.top, ends.bottom, ends.count, ends.left_out, record)
