"""Influence scores of a problem under one specification, or under several that are given names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np

from engine.analysis import self_influence as analysis
from engine.basics.options import Options
from engine.problems import Problem
from engine.question.specification import Specification as Question
from engine.scoring.compute import compute
from whichfluence.scores import Scores
from whichfluence.specifications import scoring_of
from whichfluence.untouched import untouched


@overload
def influence(problem: Problem, specifications: Question, options: Options | None = None) -> Scores: ...
@overload
def influence(problem: Problem, specifications: Sequence[Question], options: Options | None = None) -> list[Scores]: ...
@overload
def influence(problem: Problem, specifications: Mapping[str, Question], options: Options | None = None
              ) -> dict[str, Scores]: ...
@untouched
def influence(problem: Problem, specifications: Any, options: Options | None = None) -> Any:
    """I_S(q, k) of every query and candidate of a problem (paper, Eq. 1).

    Specifications that share process and estimator share their counterfactual models: four behaviors cost one
    re-optimisation.

    Args:
        problem: as `wf.problem` or `wf.draw` makes it.
        specifications: one specification, a list of them, or names with a specification each.
        options: `wf.Options(budget=…, tolerance=…, precision=…, progress=…)`.

    Returns:
        `Scores` (m, k), or a list or dictionary of them as `specifications` is.

    Raises:
        InvalidInput: where a specification does not fit the problem.

    >>> import whichfluence as wf
    >>> problem = wf.draw("digits", n_train=60, n_queries=5, n_candidates=8)
    >>> wf.influence(problem, wf.Specification("query_loss", wf.Remove(), wf.Reoptimize())).values.shape
    (5, 8)
    """
    if isinstance(specifications, Question):
        return _computed(problem, [specifications], options)[0]
    if isinstance(specifications, Mapping):
        return dict(zip(specifications, _computed(problem, list(specifications.values()), options), strict=True))
    return _computed(problem, list(specifications), options)


def _computed(problem: Problem, questions: Sequence[Question], options: Options | None) -> list[Scores]:
    scores = compute(problem, [scoring_of(one) for one in questions], options)
    return [Scores.of(scores, problem) for scores in scores]


@untouched
def self_influence(problem: Problem, specification: Question, options: Options | None = None) -> np.ndarray:
    """I_S(z_k, z_k) of every candidate, oriented, (k,): its influence on the behavior at itself; NaN where its
    computation did not converge. Large values mark examples that the model knows from themselves alone.

    Args:
        problem: as `wf.problem` or `wf.draw` makes it.
        specification: the question; its queries are the candidates themselves.
        options: as of `wf.influence`.

    Raises:
        InvalidInput: where the specification does not fit the problem.

    >>> import whichfluence as wf
    >>> step = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.01))
    >>> wf.self_influence(wf.draw("digits", n_train=60, n_queries=5, n_candidates=8), step).shape
    (8,)
    """
    return analysis.self_influence(problem, scoring_of(specification), options)
