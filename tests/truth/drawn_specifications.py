"""Specifications drawn at random on tiny problems, and what was computed for them: what verdicts are held against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from engine.basics.errors import WhichfluenceError
from engine.estimators import ESTIMATORS
from engine.models.recipe import Recipe
from engine.problems import Problem
from engine.problems.module import Checkpoint
from engine.question.behaviors import reading
from engine.question.specification import fitting
from engine.scoring.compute import check, compute
from engine.scoring.identities import ProblemFacts
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive
from tests.engine.exact import network_cases

DAMPINGS, ETAS = (0.0, 0.5, 3.0), (0.1, 0.2, 0.6)
ALPHAS = (-0.02, -0.003, 1e-4, 0.01, 0.3)
KINDS = ("remove", "upweight", "relabel", "infinitesimal", "infinitesimal_during", "add_occurrence", "auxiliary")
SELDOM = 0.3
"""How often a drawn scoring is approximate, where it can be."""


def softmax(classes, seed, **options):
    return naive.problem(n=18, d=3, classes=classes, queries=3, candidates=range(seed % 3, 18, 3), seed=seed, **options)


def network(seed):
    """Held by a penalty, so that it has an optimum next to which its Hessian is positive definite."""
    recipe = Recipe(epochs=2, batch_size=4, learning_rate=0.1, checkpoints=2)
    found = network_cases.problem(network_cases.smooth, (4,), recipe=recipe, build=network_cases.smooth, n=10, l2=0.5,
                                  queries=3, candidates=range(5), seed=seed)
    found.checkpoints = tuple(Checkpoint(scale * found.theta, rate) for scale, rate in ((0.5, 0.2), (0.9, 0.1)))
    return found


BUILDS = {"two classes": lambda seed: softmax(2, seed), "many classes": lambda seed: softmax(5, seed),
          "intercept": lambda seed: softmax(3, seed, intercept=True), "network": network}


def _intervention(rng, problem):
    kind = str(rng.choice(KINDS))
    own = {"remove": lambda: {"normalization": str(rng.choice(["n-1", "n"]))},
           "upweight": lambda: {"alpha": float(rng.choice(ALPHAS))},
           "relabel": lambda: {"label": int(rng.integers(problem.classes))},
           "infinitesimal_during": lambda: {"unit": "epoch", "at": int(rng.integers(1, 3))}}
    return {"kind": kind, **own.get(kind, dict)()}


def _process(rng, kind):
    searched = {"damping": float(rng.choice(DAMPINGS)), "baseline": str(rng.choice(["factual", "reoptimized"]))}
    runs = {"seeds": int(rng.integers(1, 3)), "first": int(rng.choice([0, 0, 1, 3]))}
    eta = {"eta": float(rng.choice(ETAS))}
    own = {"one_step": lambda: eta, "unrolled": lambda: {**eta, "steps": int(rng.choice([1, 3]))},
           "trajectory": lambda: {**eta, "checkpoints": 2, "every": int(rng.choice([3, 5]))},
           "local_response": lambda: {"damping": float(rng.choice(DAMPINGS))}, "reoptimize": lambda: searched,
           "local_search": lambda: {**searched, "iterations": int(rng.choice([2, 3]))}, "retrain": lambda: runs,
           "replay": lambda: {**runs, "eta": 0.2, "steps": int(rng.choice([5, 7]))}}
    return {"kind": kind, **own[kind]()}


def draw(rng, problem) -> Scoring | None:
    """A specification with an estimator; None where what was drawn does not go together, or not with the problem."""
    behavior, intervention = str(rng.choice(reading(problem.reads))), _intervention(rng, problem)
    process = _process(rng, str(rng.choice(fitting(intervention["kind"]))))
    fitted = [name for name, one in ESTIMATORS.items() if one.serves(problem) and not one.exact]
    estimator = str(rng.choice(fitted)) if rng.random() < SELDOM else "exact"
    return _fitting(problem, behavior, intervention, process, estimator)


def changed(rng, problem, scoring) -> Scoring | None:
    """The same with one part drawn anew: pairs that have much in common say most."""
    if not scoring.route.implies:
        return draw(rng, problem)
    parts = {"behavior": scoring.behavior, "intervention": scoring.intervention.model_dump(),
             "process": scoring.process.model_dump(), "estimator": scoring.estimator}
    part = str(rng.choice(list(parts)))
    anew = {"behavior": lambda: str(rng.choice(reading(problem.reads))),
            "intervention": lambda: _intervention(rng, problem),
            "process": lambda: _process(rng, scoring.process.kind),
            "estimator": lambda: str(rng.choice([name for name, one in ESTIMATORS.items() if one.serves(problem)]))}
    return _fitting(problem, *{**parts, part: anew[part]()}.values())


def _fitting(problem, *parts) -> Scoring | None:
    try:
        found = Scoring.of(*parts)
        found.route.route(problem, found.process.kind) if found.route.implies else None
        check(problem, found)
    except (WhichfluenceError, ValueError):
        return None
    return found


@dataclass(frozen=True, eq=False)
class Pool:
    """Scorings on one problem with their scores, and those of the exact answers to the same questions."""

    problem: Problem
    asked: tuple[Scoring, ...]
    scores: dict[Scoring, Scores]

    @classmethod
    def of(cls, name: str, seed: int, size: int) -> Pool:
        rng, problem, found = np.random.default_rng([seed, len(name)]), BUILDS[name](seed), {}
        while len(found) < size:
            near = bool(found) and rng.random() < 0.7
            scoring = changed(rng, problem, list(found)[rng.integers(len(found))]) if near else draw(rng, problem)
            if scoring is not None:
                found[scoring] = None
        references = [scoring.exact_answer for scoring in found if scoring.route.implies]
        scores = _computed(problem, list(dict.fromkeys((*found, *references))))
        return cls(problem, tuple(scoring for scoring in found if scoring in scores), scores)

    @cached_property
    def facts(self) -> ProblemFacts:
        return ProblemFacts.of(self.problem)

    def pairs(self, seed: int, count: int) -> list[tuple[Scoring, Scoring]]:
        """So many different ordered pairs, drawn: half of them of scorings that differ on one axis at most, of which
        most is claimed."""
        rng = np.random.default_rng(seed)
        every = list(product(self.asked, repeat=2))
        near = [pair for pair in every if len(pair[0].differing_axes(pair[1])) < 2]
        drawn = [pairs[place] for pairs in (near, every) for place in rng.permutation(len(pairs))[:count]]
        most = dict.fromkeys((*drawn[:count // 2], *drawn[::-1]))
        return list(most)[:count]


def _computed(problem, scorings) -> dict[Scoring, Scores]:
    """Of those that can be computed."""
    try:
        return dict(zip(scorings, compute(problem, scorings), strict=True))
    except WhichfluenceError:
        found = {}
    for scoring in scorings:
        try:
            found[scoring] = compute(problem, scoring)[0]
        except WhichfluenceError:
            continue
    return found

