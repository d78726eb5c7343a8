"""The exact route to every estimand: finite steps, linear responses, new optima, retraining and its derivative."""

from __future__ import annotations

from engine.curvature.dense import LIMIT as FACTORED
from engine.estimators.cost import CURVATURE, Cost, Passes, Work, through_steps
from engine.estimators.estimator import Estimator
from engine.estimators.named import INFLUENCE, LEFT_OUT, Named, of_run, similarity
from engine.exact.local_response import local_response
from engine.exact.local_search import local_search
from engine.exact.network_optima import DENSE
from engine.exact.reoptimize import reoptimize
from engine.exact.replay import replay
from engine.exact.retrain import retrain
from engine.exact.steps import trajectory, unrolled
from engine.question.processes import LocalSearch, Replay, Retrain

THROUGH = 12
"""What a column through a step of a training costs, in forward passes of the step's examples."""
TO_A_BOUND = 150
"""Products for one column of a linear system that is solved without a factor."""
EVALUATIONS = 1.2
"""Of an objective, in every iteration of L-BFGS."""
TO_THE_OPTIMUM, OF_A_CANDIDATE, PRECONDITIONED = 2_000, 300, 45
"""Passes of a re-optimisation: from θ_D without intervention, and from there for a candidate, whose equations are
preconditioned in small networks."""
DOUBLE = 2.0
"""What a pass in float64 costs, in those of float32: 1.3 for matrix products, 3.5 for convolutions."""


def passes(work: Work) -> Passes:
    """Of finite steps, and of what else a process says of itself."""
    process = work.process
    if isinstance(process, Replay):
        return through_steps(THROUGH)(work)
    if process.derivative:
        columns = work.parameters if work.parameters <= FACTORED else TO_A_BOUND * work.candidates
        return Passes(CURVATURE * work.reach * work.n * columns, columns / 16)
    if process.whole_objective:
        rounds, batches = _rounds(work)
        return Passes(work.candidates * (work.gradient * rounds * work.n + work.queries),
                      work.candidates * (rounds * batches + 1))
    steps = process.updates
    return Passes(work.candidates * (work.gradient * steps + process.models * work.queries),
                  2.0 * work.candidates * steps)


def _rounds(work: Work) -> tuple[float, float]:
    """(how often a candidate's search passes over all n examples, as often as in float32; in how many batches)."""
    if isinstance(work.process, Retrain):
        return work.epochs, work.n / work.batch
    if isinstance(work.process, LocalSearch):
        return DOUBLE * EVALUATIONS * work.process.iterations, work.n / 256
    own = PRECONDITIONED if work.parameters <= DENSE else OF_A_CANDIDATE
    return DOUBLE * (own + TO_THE_OPTIMUM / max(work.candidates, 1)), work.n / 256


EXACT = Estimator(
    "exact", "exact", True,
    "The estimand itself: the counterfactual model is computed, not approximated.",
    "paper, Eq. 1",
    routes={"one_step": unrolled, "unrolled": unrolled, "trajectory": trajectory, "local_response": local_response,
            "reoptimize": reoptimize, "local_search": local_search, "retrain": retrain,
            "replay": replay},
    named=(similarity("repsim", "Feature similarity", "paper, Eq. 4"),
           Named("influence_function", "Influence function", INFLUENCE, "Koh and Liang 2017", "infinitesimal",
                 "local_response"),
           of_run("replay", "Replay (metagradient)", "Engstrom et al. 2025"),
           Named("loo", "Leave-one-out", LEFT_OUT, "Molinaro et al. 2005", "remove", "retrain")),
    needs=("training",), by_hessian=("local_response", "reoptimize"), cost=Cost(passes),
)
