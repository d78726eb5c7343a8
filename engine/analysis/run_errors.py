r"""What approximations of a training's derivative get wrong, by cause, with the exact replay as zero.

SOURCE takes several steps away from the run as it was. Each is undone by itself:

    replay      the run, exactly
    batches     every step over all examples instead of its batch (a descent has no others)
    segments    a segment's curvature and gradients are means
    flow        e^{−τH} in place of (I − ηH)^K, told apart for a descent whose segments' own steps would not diverge;
                else the two are one cause, for a network with η/(1 − μ) in place of momentum
    curvature   EK-FAC of the Gauss–Newton matrix in place of the mean Hessian, which may bend downwards (softmax
                regression has its Hessian's own eigenbasis)

    error of a cause  ‖S_i − S_{i−1}‖ / ‖S_0‖,     error so far  ‖S_i − S_0‖ / ‖S_0‖,     norms over (m, k)

Errors by cause need not add up: one may undo a part of another. Beside them stand the other approximations of the run,
each as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch

import pandas as pd
import torch
from torch import Tensor

from engine.analysis.linear_range import in_double
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.hessian import Hessian
from engine.estimators import ESTIMATORS
from engine.estimators.source import descent_segments, flow, powers, source_response
from engine.exact.moments import by_parts
from engine.exact.replay import kept_run, replay
from engine.exact.response import signal_of
from engine.gradients.products import TrainingGradients
from engine.gradients.vectorised import along_signal, gradients_of
from engine.metrics.kendall import tau_b
from engine.problems import ModuleProblem, Problem, SoftmaxProblem
from engine.question.behavior import Behavior
from engine.question.interventions import Infinitesimal
from engine.question.processes import Replay

TITLES = {"batches": "batches averaged out", "segments": "means over segments", "flow": "flow in place of steps",
          "segments and flow": "means over segments, as a flow", "curvature": "EK-FAC in place of the Hessian"}
Stages = Iterator[tuple[str, Tensor]]


@dataclass(frozen=True)
class RunErrors:
    """causes: cause, title, error, so_far, tau: SOURCE's, in the order in which it leaves the run; empty where they
    are not told apart, with the sentence `why`. methods: estimator, title, error, tau. parts: candidate, part,
    first, last, rate: dB̄/dα by the candidate's weight in steps first to last alone."""

    behavior: str
    causes: pd.DataFrame
    methods: pd.DataFrame
    parts: pd.DataFrame
    why: str = ""

    @property
    def sentence(self) -> str:
        """The largest cause."""
        if not len(self.causes):
            return self.why
        largest = self.causes.loc[self.causes["error"].idxmax()]
        last = self.causes.iloc[-1]
        return (f"SOURCE is off the exact derivative by {last['so_far']:.1%} and ranks with a Kendall τ of "
                f"{last['tau']:.2f}; its largest single cause is *{largest['title']}*, {largest['error']:.1%}.")


def run_errors(problem: Problem, behavior: str, process: Replay = Replay(), options: Options | None = None
               ) -> RunErrors:
    """Of the run of the problem's own seed, for all queries and candidates.

    Raises `InvalidInput` for a behavior without a gradient, and as `replay` does.
    """
    options = options or Options()
    held, read = in_double(problem, behavior, process)
    with held.exclusive:
        exact = _exact(held, process, read, options.share(0, 4))
        causes, why = _causes(held, process, read, exact, options.share(1, 4))
        methods = _methods(held, process, read, exact, options.share(2, 4))
        parts = _by_parts(held, process, read, options.share(3, 4))
    return RunErrors(behavior, causes, methods, parts, why)


def _exact(problem: Problem, process: Replay, read: Behavior, options: Options) -> Tensor:
    response = replay(problem, [Infinitesimal()], process, problem.candidates, options)[0]
    return response.scores(read, problem.query_labels)


def _causes(problem: Problem, process: Replay, read: Behavior, exact: Tensor, options: Options
            ) -> tuple[pd.DataFrame, str]:
    rows, before = [], exact
    try:
        for cause, scores in stages(problem, process, read, options):
            rows.append({"cause": cause, "title": TITLES[cause], "error": _off(scores - before, exact),
                         "so_far": _off(scores - exact, exact), "tau": _tau(scores, exact)})
            before = scores
    except InvalidInput as error:
        return pd.DataFrame(columns=["cause", "title", "error", "so_far", "tau"]), str(error)
    return pd.DataFrame(rows), ""


def _methods(problem: Problem, process: Replay, read: Behavior, exact: Tensor, options: Options) -> pd.DataFrame:
    names = [name for name, one in ESTIMATORS.items() if not one.exact and process.kind in one.processes
             and name not in problem.unoffered and one.serves(problem)]
    rows = []
    for place, name in enumerate(names):
        route = ESTIMATORS[name].route(problem, process.kind)
        found = route(problem, [Infinitesimal()], process, problem.candidates, options.share(place, len(names)))[0]
        scores = found.scores(read, problem.query_labels)
        rows.append({"estimator": name, "title": ESTIMATORS[name].title, "error": _off(scores - exact, exact),
                     "tau": _tau(scores, exact)})
    return pd.DataFrame(rows)


def _by_parts(problem: Problem, process: Replay, read: Behavior, options: Options) -> pd.DataFrame:
    parts, rates = by_parts(problem, process, read, options)
    return pd.DataFrame([{"candidate": k, "part": place + 1, "first": part.start, "last": part.stop - 1,
                          "rate": float(rates[place, k])}
                         for k in problem.candidates.tolist() for place, part in enumerate(parts)])


def _off(difference: Tensor, exact: Tensor) -> float:
    return float(difference.norm() / exact.norm())


def _tau(scores: Tensor, exact: Tensor) -> float:
    """Kendall τ-b with the exact scores, a query at a time, averaged."""
    return float(tau_b(torch.stack([scores.double(), exact.double()]))[0, 1].nanmean())


@singledispatch
def stages(problem: Problem, process: Replay, read: Behavior, options: Options) -> Stages:
    """(cause, scores (m, k) with this and all causes before it), from the run to SOURCE itself."""
    raise TypeError(f"no training run is known for {problem.noun}")


@stages.register
def _of_softmax(problem: SoftmaxProblem, process: Replay, read: Behavior, options: Options) -> Stages:
    parts = descent_segments(problem, process, problem.candidates, options)
    causes = [("segments", powers), ("flow", flow)] if all(part.contracts for part in parts) else [
        ("segments and flow", flow)]
    for cause, form in causes:
        response = source_response(problem, process, problem.candidates, options, form=form)
        yield cause, response.scores(read, problem.query_labels)


@stages.register
def _of_module(problem: ModuleProblem, process: Replay, read: Behavior, options: Options) -> Stages:
    if not problem.training()[0].rule.linear:
        raise InvalidInput("This optimizer scales every parameter's gradient by itself, so that the causes of SOURCE's "
                           "error are not told apart; compare its scores with `exact` as a whole.")
    yield "batches", over_all_examples(problem, read, options)
    for cause, exact in (("segments and flow", True), ("curvature", False)):
        response = source_response(problem, process, problem.candidates, options, exact=exact)
        yield cause, response.scores(read, problem.query_labels)


def over_all_examples(problem: ModuleProblem, read: Behavior, options: Options) -> Tensor:
    """dB/dα (m, k) through the run's own states, each of whose steps is differentiated as one over all examples."""
    run, network = kept_run(problem, problem.seed, options)
    rule, candidates = run.steps.rule, problem.candidates
    signal = signal_of(read, network.predict(problem.queries), problem.query_labels)
    slopes = gradients_of(network, problem.queries, signal, along_signal, check=options.check)
    columns = (slopes, *(torch.zeros_like(slopes) for _ in range(rule.remembers)))
    found = slopes.new_zeros(len(slopes), len(candidates))
    for place, moment in run.points.backwards(options.check):
        step = run.steps.all[place]
        here = problem.with_network(run.steps.trained(moment[0]))
        *before, pull = rule.back((*moment, torch.zeros_like(moment[0])), columns, step.rate, step.count)
        before[0] = before[0] + (Hessian(here, -here.l2, options) @ pull.T).T
        found += TrainingGradients(here, candidates, budget=options.budget // 4, check=options.check).along(pull)
        columns = tuple(before)
        options.progress(1.0 - place / len(run.steps))
    return found
