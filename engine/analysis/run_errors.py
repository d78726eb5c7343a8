r"""What approximations of a training's derivative get wrong, by cause, with the exact replay as zero.

SOURCE takes several steps away from the run as it was. Each is undone by itself:

    replay      the run, exactly
    scale       Adam's D (`Rule.scale`) held at what it is in every step, and with it the cut of a gradient's length:
                as if no example's weight, and no θ, changed v̂
    lag         a gradient acts at once and as a whole, instead of through Adam's mean m̂
    batches     every step over all examples instead of its batch (a descent has no others)
    segments    a segment's curvature and gradients are means
    flow        e^{−τH} instead of (I − ηH)^K, told apart for a descent whose segments' own steps would not diverge;
                else the two are one cause, for a network with η/(1 − μ) instead of momentum
    curvature   EK-FAC of the Gauss–Newton matrix instead of the Hessian, which may bend downwards (softmax
                regression has its Hessian's own eigenbasis)

    error of a cause  ‖S_i − S_{i−1}‖ / ‖S_0‖,     error so far  ‖S_i − S_0‖ / ‖S_0‖,     norms over (m, k)

Under Adam the curvature comes before the segments: e^{−τA} of a mean Hessian that bends downwards, times a D of up to
1/ε, may be too large for a number. Errors by cause need not add up: one may undo a part of another. Beside them stand
the other approximations of the run, each as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import inf, isfinite, nan
from typing import ClassVar

import pandas as pd
import torch
from torch import Tensor

from engine.analysis.linear_range import check_one_run, in_double, rate
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.ekfac import factors_over
from engine.curvature.hessian import Hessian
from engine.estimators import ESTIMATORS
from engine.estimators.averaged import Factored
from engine.estimators.source import descent_segments, flow, powers, source_response
from engine.exact.moments import by_stretches
from engine.exact.replay import cached_run
from engine.exact.step_curvature import HESSIAN
from engine.exact.step_graph import StepGraph
from engine.gradients.products import TrainingGradients
from engine.gradients.response import signal_of
from engine.gradients.vectorised import along_signal, gradients_of
from engine.metrics.kendall import tau_b
from engine.models.randomness import own_randomness
from engine.problems import ModuleProblem, Problem, SoftmaxProblem, by_form
from engine.question import direction
from engine.question.behavior import Behavior
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import Infinitesimal
from engine.question.processes import Replay
from engine.requests import OfCandidates
from engine.requests.fields import Descent, Differentiable
from engine.scoring.scoring import Scoring
from engine.store.results import Store

TITLES = {"scale": "Adam's scales held", "lag": "Adam's mean gradient without lag", "batches": "batches averaged",
          "segments": "means over segments", "flow": "flow instead of steps",
          "segments and flow": "means over segments, as a flow", "curvature": "EK-FAC instead of the Hessian"}
Stages = Iterator[tuple[str, Tensor]]


@dataclass(frozen=True)
class RunErrors:
    """causes: cause, title, error, so_far, tau: SOURCE's, in the order in which it leaves the run, ∞ where its scores
    overflow, as held scales may blow up in a long run; empty where they are not told apart, with the sentence `why`.
    methods: estimator, title, error, tau, of those that answer for this training. parts: candidate, part, first, last,
    rate: dB̄/dα by the candidate's weight in steps first to last alone."""

    behavior: str
    causes: pd.DataFrame
    methods: pd.DataFrame
    parts: pd.DataFrame
    why: str = ""

    @property
    def sentence(self) -> str:
        """The largest cause, among those that take SOURCE further from the run than it was before them."""
        if not len(self.causes):
            return self.why
        further = self.causes[self.causes["so_far"].diff().fillna(1.0) > 0]
        largest = self.causes.loc[further["error"].idxmax()]
        last = self.causes.iloc[-1]
        return (f"SOURCE differs from the exact derivative by {percent(last['so_far'])} and ranks with a Kendall τ of "
                f"{last['tau']:.2f}; its largest single cause is *{largest['title']}*, {percent(largest['error'])}.")


def percent(error: float) -> str:
    """An error as a share, in words."""
    return f"{error:.1%}" if isfinite(error) else "more than any number"


class RunErrorsRequest(OfCandidates[RunErrors]):
    """Compare approximations of `replay` with it, and split SOURCE's error by cause.

    Of the one run of the process, for all queries. Raises `InvalidInput` for a behavior without a gradient, for several
    runs, and as `replay` does.
    """

    name: ClassVar = "run-errors"
    numerics: ClassVar = 2
    doing: ClassVar = "the training, differentiated"
    outputs: ClassVar = {"out": "Output table, one row per cause of SOURCE's error and per estimator.",
                         "parts": "Further output table: influence by training time, one row per epoch or segment and "
                                  "candidate."}

    behavior: Differentiable = "query_loss"
    process: Descent = Replay()

    def title(self, problem: str) -> str:
        return f"Approximations of the training run on {problem}, examples: {self.count:,}"

    def tables(self, answer: RunErrors, problem: Problem) -> list[pd.DataFrame]:
        """Causes and estimators in one table, and the parts."""
        causes = answer.causes.rename(columns={"cause": "name"}).assign(what="cause")
        methods = answer.methods.rename(columns={"estimator": "name"}).assign(what="estimator",
                                                                               so_far=answer.methods["error"])
        return [pd.concat([causes, methods])[["what", "name", "error", "so_far", "tau"]], answer.parts]

    @property
    def computed(self) -> list[Scoring]:
        return [Scoring.of(self.behavior, Infinitesimal(), self.process)]

    @property
    def quantities(self) -> dict[str, str]:
        return {"parts": direction.mean_rate(BEHAVIORS[self.behavior])}

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> RunErrors:
        check_one_run(problem, self.process)
        held, read = in_double(problem, self.behavior, self.process)
        with held.exclusive:
            exact = rate(held, read, self.process, options.stage(0, 4))
            causes, why = _causes(held, self.process, read, exact, options.stage(1, 4))
            methods = _methods(held, self.process, read, exact, options.stage(2, 4))
            parts = _by_parts(held, self.process, read, options.stage(3, 4))
        return RunErrors(self.behavior, causes, methods, parts, why)

    def sentences(self, answer: RunErrors) -> list[str]:
        return [answer.sentence.replace("*", "")]


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
             and one.offered(problem, process.kind)]
    rows = []
    for index, name in enumerate(names):
        route, options_of = ESTIMATORS[name].route(problem, process.kind), options.stage(index, len(names))
        try:
            response = route(problem, [Infinitesimal()], process, problem.candidates, options_of)[0]
        except InvalidInput:  # one that is not known for this optimizer, or too large
            continue
        scores = response.scores(read, problem.query_labels)
        rows.append({"estimator": name, "title": ESTIMATORS[name].title, "error": _off(scores - exact, exact),
                     "tau": _tau(scores, exact)})
    return pd.DataFrame(rows)


def _by_parts(problem: Problem, process: Replay, read: Behavior, options: Options) -> pd.DataFrame:
    stretches, rates = by_stretches(problem, process, read, options)
    return pd.DataFrame([{"candidate": k, "part": index + 1, "first": stretch.start, "last": stretch.stop - 1,
                          "rate": float(rates[index, k])}
                         for k in problem.candidates.tolist() for index, stretch in enumerate(stretches)])


def _off(difference: Tensor, exact: Tensor) -> float:
    """∞ where a part of it is no number."""
    relative = float(difference.norm() / exact.norm())
    return relative if isfinite(relative) else inf


def _tau(scores: Tensor, exact: Tensor) -> float:
    """Kendall τ-b with the exact scores, a query at a time, averaged; NaN where a score is no number."""
    if not scores.isfinite().all():
        return nan
    return float(tau_b(torch.stack([scores.double(), exact.double()]))[0, 1].nanmean())


def _of_softmax(problem: SoftmaxProblem, process: Replay, read: Behavior, options: Options) -> Stages:
    segments = descent_segments(problem, process, problem.candidates, options)
    causes = [("segments", powers), ("flow", flow)] if all(segment.contracts for segment in segments) else [
        ("segments and flow", flow)]
    for cause, form in causes:
        response = source_response(problem, process, problem.candidates, options, form=form)
        yield cause, response.scores(read, problem.query_labels)


def _of_module(problem: ModuleProblem, process: Replay, read: Behavior, options: Options) -> Stages:
    def source(exact: bool = False) -> Tensor:
        response = source_response(problem, process, problem.candidates, options, exact=exact)
        return response.scores(read, problem.query_labels)

    states = partial(through_states, problem, read, options, seed=process.run(problem.seed))
    if problem.training()[0].rule.linear:
        yield "batches", states()
        yield "segments and flow", source(exact=True)
        yield "curvature", source()
        return
    yield "scale", states(held=True, batches=True)
    yield "lag", states(held=True, lag=False, batches=True)
    yield "batches", states(held=True, lag=False)
    yield "curvature", states(held=True, lag=False, factored=True)
    yield "segments and flow", source()


stages = by_form(_of_softmax, _of_module)
"""(cause, scores (m, k) with this and all causes before it), from the run to SOURCE itself."""


def through_states(problem: ModuleProblem, read: Behavior, options: Options, *, held: bool = False, lag: bool = True,
                   batches: bool = False, factored: bool = False, seed: int | None = None) -> Tensor:
    """dB/dα (m, k) backwards through the run's own states, each of whose steps is differentiated as one over all
    examples; batches: over its own. held: with the optimizer's scale standing still, with lag or without, as in
    `Rule.back_held`. factored: with EK-FAC's curvature of all examples at each state. seed: of the run, by default the
    problem's own."""
    run, network = cached_run(problem, problem.seed if seed is None else seed, options)
    rule, candidates = run.steps.rule, problem.candidates
    signal = signal_of(read, network.predict(problem.queries), problem.query_labels)
    slopes = gradients_of(network, problem.queries, signal, along_signal, check=options.check)
    columns = (slopes, *(torch.zeros_like(slopes) for _ in range(rule.remembers)))
    rates = slopes.new_zeros(len(slopes), problem.n)
    with own_randomness(problem.device):
        for index, (theta, *state) in run.points.backwards(options.check):
            step = run.steps.all[index]
            graph = StepGraph(run.steps, theta, step)
            given = (theta, *state, graph.gradient), columns, step.rate, step.count
            before, *memory, pull = rule.back_held(*given, lag=lag) if held else rule.back(*given)
            if batches:
                bent, owned = run.pulled(graph, pull, HESSIAN)
                rates.index_add_(1, step.rows, owned, alpha=problem.n)
            else:
                bent, owned = _over_all(problem.with_network(run.steps.trained(theta)), pull, options, factored)
                rates[:, candidates] += owned
            columns = (before + bent, *memory)
            options.progress(1.0 - index / len(run.steps))
    return rates[:, candidates]


def _over_all(problem: ModuleProblem, columns: Tensor, options: Options, factored: bool) -> tuple[Tensor, Tensor]:
    """(H u (r, P), ⟨u, ∇ℓ(z_k)⟩ (r, k)) for u (r, P), of the mean loss of all examples."""
    if factored:
        bent = Factored(problem, factors_over([problem], options)).product(columns.T).T
    else:
        bent = Hessian(problem, options=options).of_losses(columns.T).T
    rows = TrainingGradients(problem, problem.candidates, budget=options.budget // 4, check=options.check)
    return bent, rows.along(columns)
