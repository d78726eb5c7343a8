r"""Scores put together over queries before products are taken, without the gradient of any single example.

    Σ_q w_q s(q, k) / Σ_q w_q = ⟨d, ∇ℓ(z_k; θ_D)⟩,     d out of u = Σ_q w_q J_qᵀ s_B(q) / Σ_q w_q

for estimators that are linear in the query's gradient and say what d is (`Estimator.pooled`). Of a network one pass
over the queries gives u of all behaviors, and one over the candidates the products with all d.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from engine.basics.options import Options
from engine.estimators.estimator import Pooled
from engine.gradients.chunks import BUDGET
from engine.gradients.directional import loss_derivatives
from engine.gradients.products import summed_slopes
from engine.gradients.response import signal_of
from engine.problems import ModuleProblem, Problem
from engine.question.behavior import Behavior
from engine.scoring.aggregate import Aggregate
from engine.scoring.compute import check, compute
from engine.scoring.scoring import Scoring


def aggregated(problem: Problem, scorings: Sequence[Scoring], over: Aggregate, options: Options | None = None
               ) -> list[np.ndarray]:
    """A(k) (k,) float64 of every scoring's oriented scores, in the order given; NaN where it is not known.

    Pooled where all of them can be, else put together out of the scores of every query. Raises as `compute` does.
    """
    classes = over.of_classes() if "features" in problem.offers else None
    if classes and all(map(class_form, scorings)):
        return pooled_by_class(cast(ModuleProblem, problem), scorings, *classes)
    weights = over.of_queries(len(problem.queries)) if "sums" in problem.offers else None
    if weights is None or not all(map(form, scorings)):
        return [over.of(scores) for scores in compute(problem, scorings, options)]
    return list(pooled(cast(ModuleProblem, problem), scorings, weights, options or Options()).double().cpu().numpy())


def form(scoring: Scoring) -> Pooled | None:
    """What its estimator makes of the queries' slope; None where the scores of a query are not linear in it."""
    return scoring.route.pooled.get((scoring.intervention.kind, scoring.process.kind))


def class_form(scoring: Scoring) -> Pooled | None:
    """What its estimator makes of representations and the mean one of a class; None where it compares none."""
    return scoring.route.pooled_by_class.get((scoring.intervention.kind, scoring.process.kind))


def pooled_by_class(problem: ModuleProblem, scorings: Sequence[Scoring], query_labels: np.ndarray,
                    candidate_labels: np.ndarray) -> list[np.ndarray]:
    """(k,) oriented of scorings that all have a `class_form`, for labels (m,) and (k,): one pass over candidates and
    queries."""
    for scoring in scorings:
        check(problem, scoring)
    whole = torch.equal(problem.candidates, torch.arange(problem.n, device=problem.device))
    features = problem.representations(problem.x if whole else problem.units(problem.candidates).x)
    queries = problem.representations(problem.queries)
    labels, own = (torch.as_tensor(values, device=problem.device) for values in (query_labels, candidate_labels))
    members = one_hot(labels, problem.classes).to(queries)  # (m, C)
    means = (members / members.sum(0).clamp_min(1)).T @ queries  # (C, F)
    scores = [scoring.orientation * towards(problem, features, means[own], scoring.process)
              for scoring in scorings if (towards := class_form(scoring))]
    return [row.double().cpu().numpy() for row in scores]


def pooled(problem: ModuleProblem, scorings: Sequence[Scoring], weights: Sequence[float], options: Options) -> Tensor:
    """(scorings, k) oriented, of scorings that all have a `form`, over queries of weights (m,)."""
    for scoring in scorings:
        check(problem, scoring)
    behaviors = list(dict.fromkeys(scoring.readout for scoring in scorings))
    slopes = query_slopes(problem, behaviors, weights, options.budget, options)
    shared: dict[tuple, list[int]] = {}
    for index, scoring in enumerate(scorings):
        shared.setdefault((scoring.intervention, scoring.counterfactual), []).append(index)
    directions = torch.empty(len(scorings), problem.parameters, dtype=slopes.dtype, device=slopes.device)
    for indices in shared.values():
        first, own = scorings[indices[0]], slopes[[behaviors.index(scorings[index].readout) for index in indices]]
        towards = form(first)
        assert towards is not None, "of scorings that all have one"
        directions[indices] = first.orientation * towards(problem, own, first.process, options)
    return loss_derivatives(problem, problem.candidates, directions, budget=options.budget, check=options.check)


def by_query(problem: ModuleProblem, scorings: Sequence[Scoring], options: Options | None = None) -> list[np.ndarray]:
    """(m, k) float64 oriented scores ⟨d_q, ∇ℓ(z_k; θ_D)⟩ of scorings that all have a `form`, d_q out of each query's
    own gradient.

    A linear system is solved for each query, where `compute` solves one for each candidate. Both agree up to the
    tolerance of the solver, and not where it stops early: a few iterations are another approximation from either side.
    """
    options, count = options or Options(), len(problem.queries)
    rows = [pooled(problem, scorings, one.tolist(), options.stage(index, count))
            for index, one in enumerate(torch.eye(count))]
    return list(torch.stack(rows, 1).double().cpu().numpy())


def query_slopes(problem: ModuleProblem, behaviors: Sequence[Behavior], weights: Sequence[float], budget: int = BUDGET,
                 options: Options | None = None) -> Tensor:
    """u = Σ_q w_q J_qᵀ s_B(q) / Σ_q w_q of each behavior at θ_D, (r, P)."""
    weighted, labels = problem.theta.new_tensor(weights)[:, None], problem.query_labels

    def signals(logits: Tensor, rows: slice) -> list[Tensor]:
        return [signal_of(behavior, logits, labels[rows]) * weighted[rows] / float(sum(weights))
                for behavior in behaviors]

    return summed_slopes(problem, problem.queries, signals, len(behaviors), budget, check=(options or Options()).check)
