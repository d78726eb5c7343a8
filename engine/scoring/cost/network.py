"""What scorings of a network cost, counted in passes of examples through it."""

from __future__ import annotations

from collections.abc import Sequence

from torch.utils.flop_counter import FlopCounterMode

from engine.curvature.cg import ITERATIONS
from engine.curvature.dense import LIMIT as FACTORED
from engine.estimators.source import POINTS, SEGMENTS, SOURCE
from engine.exact.network_optima import DENSE
from engine.problems import ModuleProblem
from engine.question.processes import LocalSearch, Process, Replay, Retrain
from engine.scoring.scoring import Scoring

NETWORK = 50e9
"""Floating-point operations a second of two CPU cores in a network's passes, in float32."""
AT_A_TIME = 10
"""Examples whose gradients are written out by one call."""
BATCH = 128
"""Examples a step of training."""
READ = 60e9
"""Behaviors read off query logits, operations a second."""
CALL = 1e-3
"""Seconds that a pass costs however small it is."""
FORWARD_AND_BACKWARD, CURVATURE = 3, 5
"""What a gradient, and a product with the Hessian, cost in forward passes of the same examples."""
RUN, THROUGH = 15, 12
"""What a training with the graphs of its steps, and a column through them, cost in forward passes of the same examples.
"""
OF_A_STEP = {"dvemb": 8, "tracin_run": 8, "in_run_shapley": 20}
"""What a column costs through a step for estimators that approximate a replay, where it is not THROUGH."""
PRODUCTS = {"cg": ITERATIONS, "cg_gauss_newton": ITERATIONS, "lissa": 10, "arnoldi": 4, "ekfac": 2, "datainf": 2,
            "astra": 6}
"""Products with the curvature of all n examples that a solver needs for one column, the residual included."""
TO_A_BOUND = 150
"""Products for one column of a linear system that is solved exactly without a factor."""
FACTORS = 25
"""Gradients' work an example for EK-FAC's factors, with ten classes."""
EVALUATIONS = 1.2
"""Of an objective, in every iteration of L-BFGS."""
TO_THE_OPTIMUM, OF_A_CANDIDATE, PRECONDITIONED = 2_000, 300, 45
"""Passes of a re-optimisation: from θ_D without intervention, and from there for a candidate, whose equations are
preconditioned in small networks."""
DOUBLE = 2.0
"""What a pass in float64 costs, in those of float32: 1.3 for matrix products, 3.5 for convolutions."""


def seconds(scorings: Sequence[Scoring], *, n: int, flops: float, queries: int, candidates: int,
            parameters: int, epochs: int = 50, outputs: int = 1) -> float:
    """Estimated seconds for a network whose forward pass of one example takes `flops` operations.

    epochs: of its training recipe, for `retrain`. outputs: how many different ones the queries raise.
    """
    total, seen = 0.0, set()
    for scoring in scorings:
        key = (scoring.intervention, scoring.counterfactual)
        examples = calls = 0.0
        if key not in seen or _backwards(scoring, queries, candidates):
            examples, calls = _passes_of(scoring, n, queries, candidates, parameters, epochs)
        read = FORWARD_AND_BACKWARD * queries  # the gradient of one more behavior
        slower = DOUBLE if scoring.wide else 1.0
        if scoring.route.for_each_output:
            examples, calls = examples * outputs, calls * outputs * candidates / AT_A_TIME
        total += slower * (examples + read) * flops / NETWORK + calls * CALL + 100.0 * queries * candidates / READ
        seen.add(key)
    return total


def _backwards(scoring: Scoring, queries: int, candidates: int) -> bool:
    """Whether a replay goes back through the training from every behavior."""
    return isinstance(scoring.process, Replay) and (queries < candidates or scoring.estimator in OF_A_STEP)


def _passes_of(scoring: Scoring, n: int, queries: int, candidates: int, parameters: int,
               epochs: int) -> tuple[float, float]:
    """(examples passed forward, or as much work, passes) for what all behaviors of a scoring share."""
    process = scoring.process
    if isinstance(process, Replay):
        return _through_a_run(scoring, process, n, min(queries, candidates), epochs)
    if not scoring.exact and not process.linear:
        return FORWARD_AND_BACKWARD * process.models * (candidates + queries), 2.0 * process.models
    if scoring.exact and process.derivative:
        columns = parameters if parameters <= FACTORED else TO_A_BOUND * candidates
        return CURVATURE * n * columns, columns / 16
    if not scoring.exact:
        products = PRODUCTS.get(scoring.estimator, 1)
        return CURVATURE * n * (candidates * products + 4), candidates * products / 4
    if process.whole_objective:
        rounds, batches = _rounds(process, n, candidates, parameters, epochs)
        return candidates * (FORWARD_AND_BACKWARD * rounds * n + queries), candidates * (rounds * batches + 1)
    steps = process.updates
    return candidates * (FORWARD_AND_BACKWARD * steps + process.models * queries), 2.0 * candidates * steps


def _through_a_run(scoring: Scoring, process: Replay, n: int, columns: int, epochs: int) -> tuple[float, float]:
    steps = process.seeds * epochs * n / BATCH
    if scoring.estimator == SOURCE.name:
        points = process.seeds * SEGMENTS * POINTS
        return FORWARD_AND_BACKWARD * (BATCH * steps + points * n * (FACTORS + columns)), 2 * steps + points * n / 64
    through = OF_A_STEP.get(scoring.estimator, THROUGH)
    return BATCH * steps * (RUN + through * columns), steps * (20 + columns / 2)


def _rounds(process: Process, n: int, candidates: int, parameters: int, epochs: int) -> tuple[float, float]:
    """(how often a candidate's search passes over all n examples, as often as in float32; in how many batches)."""
    if isinstance(process, Retrain):
        return epochs, n / BATCH
    if isinstance(process, LocalSearch):
        return DOUBLE * EVALUATIONS * process.iterations, n / 256
    own = PRECONDITIONED if parameters <= DENSE else OF_A_CANDIDATE
    return DOUBLE * (own + TO_THE_OPTIMUM / max(candidates, 1)), n / 256


def forward_flops(problem: ModuleProblem) -> float:
    """Floating-point operations of one example's forward pass, counted by torch; kept on the problem."""
    def count() -> float:
        with FlopCounterMode(display=False) as counter, problem.exclusive:
            problem.network.predict(problem.queries[:1])
        return float(counter.get_total_flops())

    return problem.memo("forward flops", count)
