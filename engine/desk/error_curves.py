"""Approximation error along η and along α: what is known of the curves, and the single point that is looked at.

Over η a point of a convex model costs a fraction of a second, so a few points are computed each time one asks,
nearest work first. Over α every point means re-optimising every candidate, so each draw's curve is a job of its own;
only the point that is looked at is computed at once. The curves of other models are jobs over both, and the point
that is looked at is one of theirs. A behavior that carries a user's words has a job of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from engine.analysis import error_curves
from engine.analysis.error_curves import ETAS, PerQuery
from engine.analysis.step_curves import StepCurves, StepCurvesRequest
from engine.desk.desk import Desk
from engine.desk.error_runs import SYMBOLS, ErrorRun, error_run
from engine.desk.shipped import shipped
from engine.desk.waiting import Waiting
from engine.problems import ProblemSource
from engine.question.behaviors import BEHAVIORS
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store.results import Result

STEP_SECONDS, FIRST_SECONDS = 2.0, 0.6
"""How long points are computed before they are shown, and the first of them, for which somebody waits."""
MEANS = ["series", "x", "metric", "mean", "ci95", "n_seeds", "n_queries", "n_dropped", "low", "high"]
SEEDS = ["series", "x", "metric", "seed", "mean"]


@dataclass(frozen=True)
class ErrorCurves:
    """Tidy frames of what is known so far. means: series, x, metric, mean, ci95, low, high, n_seeds, …; seeds: one
    row a draw. done of total points or draws; waiting: the jobs or trainings still under way."""

    means: pd.DataFrame
    seeds: pd.DataFrame
    done: int
    total: int
    waiting: tuple[Waiting, ...] = ()

    @property
    def complete(self) -> bool:
        return self.done >= self.total


@dataclass(frozen=True)
class CurvePoint:
    """One point of a curve: exact and approximate scores of one draw, and their agreement per query."""

    exact: Scores
    approximate: Scores
    agreement: PerQuery = field(repr=False)


def live(source: ProblemSource) -> bool:
    """Whether single points are computed at once, beside the curves."""
    return source.problem_class.convex


def step_numbers(desk: Desk, source: ProblemSource, eta: float, candidates: int | None = None,
                 behavior: str | None = None) -> Mapping[str, PerQuery] | Waiting:
    """behavior -> metric -> (m,) at one η of one draw: computed now unless it is known, or out of `behavior`'s run."""
    if not live(source):
        run = error_run(desk, source, "eta", candidates, behavior)
        return run if isinstance(run, Waiting) else _at_eta(run, eta)
    if (known := _known_step(desk, source, eta)) is not None:
        return known
    sampled = desk.sampled(source)
    if isinstance(sampled, Waiting):
        return sampled
    return desk.memory.cached(_step_key(source, eta), lambda: error_curves.step_agreement(sampled.problem, eta))


def eta_curves(desk: Desk, sources: Sequence[ProblemSource], seconds: float = STEP_SECONDS,
               candidates: int | None = None, behavior: str | None = None) -> ErrorCurves:
    """First order against exact over the η grid: what is known, and as many new points as fit into `seconds`.

    behavior: one that carries a user's words has curves of its own (default: those of the registered ones).
    """
    if not live(sources[0]):
        return _from_runs(desk, sources, "eta", candidates, behavior, lambda run: {
            (BEHAVIORS[name].title, eta): agreement for (name, eta), agreement in run.eta_agreement().items()})
    begun = any(desk.memory.get(_step_key(source, ETAS[0])) is not None for source in sources)
    deadline, known = time.monotonic() + (seconds if begun else min(seconds, FIRST_SECONDS)), {}
    waiting: tuple[Waiting, ...] = ()
    for source in sources:
        for eta in ETAS:
            numbers = _known_step(desk, source, eta)
            if numbers is None and time.monotonic() < deadline and not waiting:
                answer = step_numbers(desk, source, eta)
                if isinstance(answer, Waiting):
                    waiting = (answer,)
                else:
                    numbers = answer
            if numbers is not None:
                known[source.seed, eta] = numbers
    points = {(BEHAVIORS[behavior].title, eta): {seed: known[seed, eta][behavior] for seed, at in known if at == eta}
              for eta in ETAS for behavior in error_curves.differentiable(sources[0].kind)}
    return _curves(points, len(known), len(sources) * len(ETAS), waiting)


def example(desk: Desk, source: ProblemSource) -> Result | None:
    """The run that came with the program, out of which the curves over η are answered; none where a user's own behavior
    is registered, which it lacks."""
    result = shipped(StepCurvesRequest(source=source)) if live(source) else None
    lacks = result and set(error_curves.differentiable(source.kind)) - set(_step_curves(desk, result).behaviors)
    return None if lacks else result


def _step_curves(desk: Desk, result: Result) -> StepCurves:
    return desk.memory.cached(("step curves", result.digest), lambda: StepCurvesRequest.loaded(result))


def alpha_curves(desk: Desk, sources: Sequence[ProblemSource], candidates: int | None, behavior: str) -> ErrorCurves:
    """Every inverse-Hessian solver against the optimum over the α grid, from the draws whose job is done."""
    solvers = error_curves.solvers(sources[0].kind)
    return _from_runs(desk, sources, "alpha", candidates, behavior, lambda run: {
        (solvers[name].title, alpha): agreement for (name, alpha), agreement in run.alpha_agreement(behavior).items()})


def eta_point(desk: Desk, source: ProblemSource, behavior: str, eta: float, candidates: int | None = None
              ) -> CurvePoint | Waiting:
    """Exact and first-order scores of every candidate at one η: now, or out of a run."""
    pair = error_curves.step_pair(behavior, eta)
    if not live(source):
        run = error_run(desk, source, "eta", candidates, behavior)
        if isinstance(run, Waiting):
            return run
        return CurvePoint(run.scores[pair[0]], run.scores[pair[1]], _at_eta(run, eta)[behavior])
    scores = desk.scores(source, list(pair), None)
    if isinstance(scores, Waiting):
        return scores
    numbers = step_numbers(desk, source, eta)
    return numbers if isinstance(numbers, Waiting) else CurvePoint(scores[0], scores[1], numbers[behavior])


def alpha_point(desk: Desk, source: ProblemSource, behavior: str, alpha: float, solver: str,
                candidates: int | None) -> CurvePoint | Waiting:
    """Exact scores of upweighting by α, re-optimised now or out of the finished run, and those of one solver."""
    run, kind = error_run(desk, source, "alpha", candidates, behavior), source.kind
    if isinstance(run, Waiting) and not live(source):
        return run
    known = {} if isinstance(run, Waiting) else run.scores
    exact = _scores(desk, source, behavior, lambda name: error_curves.upweighted(name, alpha, kind), candidates, known)
    if isinstance(exact, Waiting):
        return exact
    unit = _scores(desk, source, behavior, lambda name: error_curves.solver_scoring(name, solver, kind=kind),
                   candidates, known)
    if isinstance(unit, Waiting):
        return unit
    scaled = error_curves.at_alpha(unit, alpha)
    key = ("error curves: point", source.key, candidates, behavior, alpha, solver)
    return CurvePoint(exact, scaled, desk.memory.cached(key, lambda: error_curves.agreement(exact, scaled)))


def alpha_points(desk: Desk, source: ProblemSource, behavior: str, alpha: float, candidates: int | None,
                 chosen: str) -> dict[str, CurvePoint]:
    """The chosen point under every solver whose scores are at hand: all of them once the draw's run is done."""
    waiting = isinstance(error_run(desk, source, "alpha", candidates, behavior), Waiting)
    solvers = [chosen] if waiting else list(error_curves.solvers(source.kind))
    points = {solver: alpha_point(desk, source, behavior, alpha, solver, candidates) for solver in solvers}
    return {solver: point for solver, point in points.items() if isinstance(point, CurvePoint)}


def _step_key(source: ProblemSource, eta: float) -> tuple:
    return "step agreement", source.key, eta, error_curves.differentiable(source.kind)


def _known_step(desk: Desk, source: ProblemSource, eta: float) -> Mapping[str, PerQuery] | None:
    """The numbers at one η that are in memory, or came with the program."""
    known = desk.memory.get(_step_key(source, eta))
    if known is not None or (result := example(desk, source)) is None:
        return known
    return _step_curves(desk, result).at(eta)


def _at_eta(run: ErrorRun, eta: float) -> dict[str, PerQuery]:
    return {behavior: agreement for (behavior, at), agreement in run.eta_agreement().items() if at == eta}


def _scores(desk: Desk, source: ProblemSource, behavior: str, scoring: Callable[[str], Scoring],
            candidates: int | None, known: Mapping[Scoring, Scores]) -> Scores | Waiting:
    """Scores of one behavior: those that are known, else of all that share its run at once."""
    if scoring(behavior) in known:
        return known[scoring(behavior)]
    behaviors = error_curves.series(behavior, source.kind)
    scores = desk.scores(source, [scoring(name) for name in behaviors], candidates)
    return scores if isinstance(scores, Waiting) else scores[behaviors.index(behavior)]


def _from_runs(desk: Desk, sources: Sequence[ProblemSource], panel: str, candidates: int | None, behavior: str | None,
               agreements: Callable[[ErrorRun], Mapping[tuple[str, float], PerQuery]]) -> ErrorCurves:
    """The curves of every draw whose run is done; agreements(run): (series, x) -> metric -> (m,)."""
    points: dict[tuple[str, float], dict[int, PerQuery]] = {}
    done, waiting = 0, []
    for source in sources:
        run = error_run(desk, source, panel, candidates, behavior)
        if isinstance(run, Waiting):
            waiting.append((f"seed {source.seed}", run))
            continue
        done += 1
        for point, agreement in agreements(run).items():
            points.setdefault(point, {})[source.seed] = agreement
    return _curves(points, done, len(sources), (_together(desk, sources, panel, waiting),) if waiting else ())


def _together(desk: Desk, sources: Sequence[ProblemSource], panel: str, parts: Sequence[tuple[str, Waiting]]
              ) -> Waiting:
    """What the draws wait for, as one piece of work."""
    title = f"Error curves over {SYMBOLS[panel]} on {sources[0].title}, {len(sources)} seeds"
    return desk.jobs.together(title, [source.key for source in sources], parts, len(sources))


def _curves(points: Mapping[tuple[str, float], Mapping[int, PerQuery]], done: int, total: int,
            waiting: tuple[Waiting, ...]) -> ErrorCurves:
    means, seeds = [], []
    for (series, x), by_seed in points.items():
        if not by_seed:
            continue
        for row in error_curves.summary(list(by_seed.values())):
            per_seed, half = row.pop("per_seed"), np.nan_to_num(row["ci95"])
            means.append({"series": series, "x": x, **row, "low": row["mean"] - half, "high": row["mean"] + half})
            seeds += [{"series": series, "x": x, "metric": row["metric"], "seed": seed, "mean": value}
                      for seed, value in zip(by_seed, per_seed, strict=True)]
    return ErrorCurves(pd.DataFrame(means, columns=MEANS), pd.DataFrame(seeds, columns=SEEDS), done, total, waiting)
