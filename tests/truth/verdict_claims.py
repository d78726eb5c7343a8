"""What every kind of claim of a verdict means in numbers: a predicate each, of what was computed for the pair."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.stats import kendalltau
from torch.nn.functional import cross_entropy

from engine.analysis.comparison import remarks_on
from engine.exact.local_search import FRACTION_LEFT
from engine.question.specification import AXES, AXIS_NAMES
from engine.scoring.compute import compute
from engine.scoring.said import Said, Says
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive
from tests.truth.drawn_specifications import Pool
from tests.truth.naive import Naive

ROUNDING, APART = 2e-6, 1e-5
"""Of a query's largest score: how far equal scores may be apart, and how far two must be apart to have an order."""
TRUTH = 1e-5
"""How far an answer that is known to be right may be from an independent one."""
SLOPES = {"query_loss": lambda f, y: f.log_softmax(-1)[y], "query_logit": lambda f, y: f[y],
          "soft_margin": lambda f, y: f[y] - torch.cat([f[:y], f[y + 1:]]).logsumexp(0),
          "hard_margin": lambda f, y: f[y] - torch.cat([f[:y], f[y + 1:]]).max(),
          "probability": lambda f, y: f.softmax(-1)[y], "correct": lambda f, y: (f.argmax() == y).double()}


@dataclass(frozen=True, eq=False)
class Case:
    """A pair with a claim that is made of it. measured: whether the verdict was told what the scores show."""

    pool: Pool
    a: Scoring
    b: Scoring
    said: Said
    claims: tuple[Said, ...]
    measured: bool = True

    @cached_property
    def queries(self) -> list[tuple[np.ndarray, np.ndarray]] | None:
        """Oriented scores of what the claim speaks of, query by query, over the candidates whose scores take part in
        both; None where one of them cannot be computed."""
        if len(self.said.of) != 2 or not all(scoring in self.pool.scores for scoring in self.said.of):
            return None
        first, second = (self.pool.scores[scoring] for scoring in self.said.of)
        kept = ~np.isnan(first.trusted) & ~np.isnan(second.trusted)
        return [(x[both], y[both]) for x, y, both in zip(first.oriented, second.oriented, kept, strict=True)
                if both.any()]

    def holds(self, predicate) -> bool:
        """Of every query that can be computed; a claim on scores that nobody has holds."""
        return self.queries is None or all(predicate(x, y) for x, y in self.queries)

    @cached_property
    def taus(self) -> np.ndarray:
        """Of the queries that neither ranks as constant."""
        found = np.array([kendalltau(x, y).statistic for x, y in self.queries])
        return found[~np.isnan(found)]

    @property
    def alike(self) -> bool:
        return bool(self.taus.size and (self.taus > 1 - 1e-9).all())


def scale(*arrays):
    return max(np.abs(one).max(initial=0) for one in arrays)


def equal(x, y):
    return bool((np.abs(x - y) <= ROUNDING * scale(x, y)).all())


def proportional(x, y):
    factor = x @ y / (y @ y) if y.any() else 1.0
    return bool(factor >= 0 and (np.abs(x - factor * y) <= ROUNDING * scale(x, factor * y)).all())


def shifted(x, y):
    return bool(np.ptp(x - y) <= ROUNDING * scale(x, y))


def same_order(x, y):
    """No two candidates that both tell apart are turned round."""
    gaps, others = x[:, None] - x, y[:, None] - y
    clear = (np.abs(gaps) > APART * scale(x)) & (np.abs(others) > APART * scale(y))
    return bool((np.sign(gaps) == np.sign(others))[clear].all())


def distance(case) -> bool:
    """The number that is said, of the standard deviation of a query's scores."""
    each = [(np.abs(x - y).max(), max(x.std(), y.std())) for x, y in case.queries]
    apart = max(gap / spread if spread > 0 else gap for gap, spread in each)
    number = re.search(r"(?:to|than) ([\d.e−-]+)", case.said.text)
    return apart <= (3 * float(number[1]) if number else 1e-15) and bool((case.taus > 0.99).all())


def axes_named(case) -> bool:
    """The axes named are written differently, and the sentence tells them apart; one that is not named, and is written
    differently, can be taken over from the other without a score that changes."""
    a, b = case.said.of
    parts = [(one.behavior, one.intervention, one.process) for one in (a, b)]
    written = [axis for axis, first, second in zip(AXES, *parts, strict=True)
               if first != second or a.departures_on(axis) != b.departures_on(axis)]
    told = set(case.said.axes) <= set(written) and bool(case.said.axes)
    return told and all(against(case.said.text, a, b, axis) for axis in case.said.axes) and all(
        taken_over(case.pool, a, b, axis) for axis in written if axis not in case.said.axes)


def against(text, a, b, axis) -> bool:
    """Whether a sentence with brackets has two different descriptions of an axis, each with its chip."""
    if "(" not in text:
        return True
    end = r"(?:; (?:behavior|intervention|training)|\)\.|\)$)"
    found = re.search(rf"{AXIS_NAMES[axis]}: (.*?) against (.*?){end}", text)
    return found is not None and found[1] != found[2] and found[1].startswith(a.axis(axis)) and found[2].startswith(
        b.axis(axis))


def taken_over(pool, a, b, axis) -> bool:
    """Whether the exact answer to `a` stays as it is with one axis of `b`."""
    parts = {"behavior": a.behavior, "intervention": a.intervention, "process": a.process}
    name = dict(zip(AXES, parts, strict=True))[axis]
    moved = Scoring.of(*{**parts, name: getattr(b, name)}.values())
    one, other = compute(pool.problem, [a.exact_answer, moved])
    return equal(one.oriented[:, one.converged], other.oriented[:, one.converged])


def neither(case) -> bool:
    """Both are approximate, or the exact one is a search whose gradient is as large as is said, or whose curvature was
    not looked at."""
    exact = [scoring for scoring in case.said.of if scoring.exact]
    if not exact:
        return all(not scoring.exact for scoring in case.said.of)
    facts = case.pool.scores[exact[0]].provenance["convergence"]
    if facts.get("negative_curvature"):
        return True
    left = facts[FRACTION_LEFT]
    if left <= 1e-6 and case.pool.facts.convex:
        return False
    number = re.search(r"the gradient is up to ([\d.,e+-]+)", case.said.text)
    return left <= float(number[1].replace(",", "")) <= 1.2 * left if number else "gradient" not in case.said.text


def trusted(case) -> bool:
    """An independent computation gives the same scores, where there is one here."""
    scoring, = case.said.of
    expected = truth(case.pool, scoring)
    scores = case.pool.scores[scoring]
    if expected is None:
        return True
    found, true = scores.values[:, scores.converged], expected[:, scores.converged]
    return bool((np.abs(found - true) <= TRUTH * scale(true) + 1e-11).all())


PREDICATES = {
    Says.ONE_QUESTION: lambda case: case.holds(equal),
    Says.QUESTIONS_DIFFER: axes_named,
    Says.OTHER_QUESTION: lambda case: bool(case.said.of[0].departures),
    Says.ANOTHER_RUN: lambda case: case.a.exact and case.b.exact and case.a.differing_axes(case.b) == ("T",)
    and (not case.measured or not case.holds(equal) or any(one.says is Says.EQUAL_HERE for one in case.claims)),
    Says.RUN_AND_MEAN: lambda case: case.a.exact and case.b.exact and sorted(
        min(scoring.process.seeds, 2) for scoring in case.said.of) == [1, 2] and axes_named(case),
    Says.NO_QUESTION: lambda case: not any(scoring.route.implies for scoring in case.said.of),
    Says.SAME_SPECIFICATION: lambda case: case.a == case.b,
    Says.EQUAL: lambda case: case.holds(equal),
    Says.PROPORTIONAL: lambda case: case.holds(proportional) and case.holds(same_order),
    Says.SHIFTED: lambda case: case.holds(shifted) and case.holds(same_order),
    Says.RANKING: lambda case: case.holds(same_order),
    Says.EQUAL_HERE: lambda case: case.measured and case.holds(equal),
    Says.ALIKE_HERE: lambda case: case.measured and case.alike,
    Says.SAME_TO_A_DISTANCE: lambda case: case.measured and distance(case),
    Says.DISAGREE: lambda case: case.measured and not case.holds(equal) and not case.alike,
    Says.DIFFER: lambda case: case.measured and axes_named(case) and not case.holds(equal)
    and all(scoring.exact for scoring in case.said.of),
    Says.MAY_DIFFER: lambda case: not case.measured and axes_named(case),
    Says.NOT_DISTINGUISHED: lambda case: case.measured and not case.holds(equal) and not (
        case.a.exact and case.b.exact),
    Says.APPROXIMATES: lambda case: bool(case.said.of) and not any(scoring.exact for scoring in case.said.of),
    Says.TRUSTED: trusted,
    Says.BLAMED: lambda case: [scoring.exact for scoring in case.said.of] == [True, False] and any(
        one.says is Says.TRUSTED and one.of[0] == case.said.of[0] for one in case.claims),
    Says.UNDECIDED: lambda case: not case.measured and not case.pool.facts.convex,
    Says.NEITHER_RIGHT: lambda case: not any(one.says in (Says.BLAMED, Says.TRUSTED) for one in case.claims)
    and (not case.measured or neither(case)),
    Says.HOW_COMPUTED: lambda case: case.measured and any(
        case.said.text in remarks_on([case.pool.scores[scoring]]) for scoring in (case.a, case.b)),
}
"""A kind of claim without a predicate fails the test."""


def truth(pool: Pool, scoring: Scoring) -> np.ndarray | None:
    """Scores (m, k) by the book; None where no independent computation stands here."""
    key = "truth", scoring.digest
    return pool.problem.memo(key[0] + key[1], lambda: _by_the_book(pool.problem, scoring))


def _by_the_book(problem, scoring) -> np.ndarray | None:
    process, intervention, rows = scoring.process, scoring.intervention, problem.candidates.tolist()
    if hasattr(problem, "network"):
        book = Naive(problem)
        if process.kind in ("one_step", "unrolled") and not intervention.label_free:
            return book.differences(scoring.behavior, [book.steps(k, process.eta, process.steps) for k in rows])
        return None
    start = problem.weights
    if process.kind in ("one_step", "unrolled") and not intervention.label_free:
        return _differences(problem, scoring, [_stepped(problem, k, process) for k in rows], start)
    if process.kind == "reoptimize" and not process.damping or process.kind == "retrain":
        base = start if process.baseline == "factual" else naive.optimum(problem)
        return _differences(problem, scoring, [naive.optimum(problem, intervention, k) for k in rows], base)
    if process.kind == "local_response":
        hessian = naive.hessian(start, problem) + process.damping * torch.eye(start.numel(), dtype=torch.float64)
        moved = [-torch.linalg.solve(naive.gauge(hessian, problem) if not process.damping else hessian, _loss_gradient(
            problem, k, start).flatten()).view_as(start) for k in rows]
        return _rates(problem, scoring, moved, start)
    return None


def _loss_gradient(problem, k, weights):
    leaf = weights.clone().requires_grad_(True)
    return torch.autograd.grad(cross_entropy(problem.x[k:k + 1] @ leaf, problem.y[k:k + 1]), leaf)[0]


def _stepped(problem, k, process):
    weights = problem.weights.clone()
    for _ in range(process.steps):
        weights = weights - process.eta * _loss_gradient(problem, k, weights)
    return weights


def _read(problem, scoring, weights):
    return torch.stack([SLOPES[scoring.behavior](query @ weights, label)
                        for query, label in zip(problem.queries, problem.query_labels.tolist(), strict=True)])


def _differences(problem, scoring, moved, base):
    before = _read(problem, scoring, base)
    return torch.stack([_read(problem, scoring, weights) - before for weights in moved], 1).numpy()


def _rates(problem, scoring, moved, base):
    """By automatic differentiation along every direction."""
    return torch.stack([torch.func.jvp(lambda weights: _read(problem, scoring, weights), (base,), (along,))[1]
                        for along in moved], 1).numpy()
