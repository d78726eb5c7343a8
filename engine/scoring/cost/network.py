"""What scorings of a network cost: the passes that their estimators state, in seconds."""

from __future__ import annotations

from collections.abc import Sequence

from torch.utils.flop_counter import FlopCounterMode

from engine.estimators.cost import BATCH, FORWARD_AND_BACKWARD, Passes, Work
from engine.estimators.exact import DOUBLE
from engine.problems import ModuleProblem
from engine.question.processes import Replay
from engine.scoring.scoring import Scoring

NETWORK = 50e9
"""Floating-point operations a second of two CPU cores in a network's passes, in float32."""
AT_A_TIME = 10
"""Examples whose gradients are written out by one call."""
READ = 60e9
"""Behaviors read off query logits, operations a second."""
CALL = 1e-3
"""Seconds that a pass costs however small it is."""


def seconds(scorings: Sequence[Scoring], *, n: int, flops: float, queries: int, candidates: int,
            parameters: int, epochs: int = 50, batch: int = BATCH, outputs: int = 1) -> float:
    """Estimated seconds for a network whose forward pass of one example takes `flops` operations.

    epochs, batch: of its training recipe, for trainings. outputs: how many different ones the queries raise.
    """
    total, seen = 0.0, set()
    for scoring in scorings:
        key, cost = (scoring.intervention, scoring.counterfactual), scoring.route.cost
        anew = isinstance(scoring.process, Replay) and (queries < candidates or cost.for_each_behavior)
        examples, calls = cost.passes(Work(scoring.process, n, queries, candidates, parameters, epochs, batch)) \
            if key not in seen or anew else Passes(0.0, 0.0)
        read = FORWARD_AND_BACKWARD * queries  # the gradient of one more behavior
        slower = DOUBLE if scoring.wide else 1.0
        if cost.for_each_output:
            examples, calls = examples * outputs, calls * outputs * candidates / AT_A_TIME
        total += slower * (examples + read) * flops / NETWORK + calls * CALL + 100.0 * queries * candidates / READ
        seen.add(key)
    return total


def forward_flops(problem: ModuleProblem) -> float:
    """Floating-point operations of one example's forward pass, counted by torch; kept on the problem."""
    def count() -> float:
        with FlopCounterMode(display=False) as counter, problem.exclusive:
            problem.network.predict(problem.queries[:1])
        return float(counter.get_total_flops())

    return problem.memo("forward flops", count)
