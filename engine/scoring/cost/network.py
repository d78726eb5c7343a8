"""What scorings of a network cost: the passes that their estimators state, in seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from torch import nn
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
PARAMETER = 1e-8
"""Seconds a candidate and parameter: a gradient, or a counterfactual model, is written and read."""


def seconds(scorings: Sequence[Scoring], *, n: int, flops: float, queries: int, candidates: int,
            parameters: int, epochs: int = 50, batch: int = BATCH, outputs: int = 1, reach: float = 1.0) -> float:
    """Estimated seconds for a network whose forward pass of one example takes `flops` operations.

    epochs, batch: of its training recipe, for trainings. outputs: how many different ones the queries raise. reach: as
    `flops_and_reach` counts it.
    """
    total, seen = 0.0, set()
    for scoring in scorings:
        key, cost = (scoring.intervention, scoring.counterfactual), scoring.route.cost
        anew = isinstance(scoring.process, Replay) and (queries < candidates or cost.for_each_behavior)
        fresh = key not in seen or anew
        examples, calls = cost.passes(Work(scoring.process, n, queries, candidates, parameters, epochs, batch, reach)) \
            if fresh else Passes(0.0, 0.0)
        total += PARAMETER * parameters * candidates if fresh and examples else 0.0
        read = FORWARD_AND_BACKWARD * queries  # the gradient of one more behavior
        slower = DOUBLE if scoring.wide else 1.0
        if cost.for_each_output:
            examples, calls = examples * outputs, calls * outputs * candidates / AT_A_TIME
        total += slower * (examples + read) * flops / NETWORK + calls * CALL + 100.0 * queries * candidates / READ
        seen.add(key)
    return total


def of_problem(problem: ModuleProblem) -> tuple[float, float]:
    """`flops_and_reach` of one example, kept on the problem."""
    network = problem.network
    return problem.memo("flops and reach", lambda: flops_and_reach(
        network.module, network.names, lambda: network.predict(problem.queries[:1]), problem.exclusive))


def flops_and_reach(module: nn.Module, names: Sequence[str], run: Callable[[], object],
                    lock: AbstractContextManager = nullcontext()) -> tuple[float, float]:
    """(operations of a forward pass, which is `run`, as torch counts them; the fraction of them from the first
    parameter in `names` on). lock: to be held during the pass."""
    before, owners = list[int](), {name.rpartition(".")[0] for name in names}
    with FlopCounterMode(display=False) as counter, lock:
        hooks = [module.get_submodule(owner).register_forward_pre_hook(
            lambda *_: before.append(counter.get_total_flops())) for owner in owners]
        try:
            run()
        finally:
            for hook in hooks:
                hook.remove()
        total = counter.get_total_flops()
    return float(total), 1 - before[0] / total if before and total else 1.0
