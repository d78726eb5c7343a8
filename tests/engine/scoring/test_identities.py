"""Every identity, on scores of real problems: softmax regression, a small network and a small language model."""

import itertools
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.estimators import ESTIMATORS
from engine.models.recipe import Recipe
from engine.problems.module import Checkpoint
from engine.question.behaviors import reading
from engine.question.interventions import Upweight
from engine.question.specification import fitting
from engine.scoring.compute import compute
from engine.scoring.identities import EVERY_PROBLEM, IDENTITIES, Gives, ProblemFacts, relation
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive
from tests.engine.exact import network_cases
from tests.engine.single_thread import one_thread  # noqa: F401
from tests.truth import language_cases

INTERVENTIONS = ({"kind": "remove"}, {"kind": "remove", "normalization": "n"},
                 *({"kind": "upweight", "alpha": alpha} for alpha in (0.01, -0.02)), {"kind": "infinitesimal"},
                 {"kind": "add_occurrence"}, {"kind": "auxiliary"})
PROCESSES = (
    *({"kind": "one_step", "eta": eta} for eta in (0.2, 0.6)),
    *({"kind": "unrolled", "eta": 0.2, "steps": steps} for steps in (1, 3)),
    *({"kind": "trajectory", "eta": eta, "checkpoints": 2, "every": every} for eta, every in ((0.2, 3), (0.6, 5))),
    {"kind": "trajectory", "eta": 0.2, "checkpoints": 1, "every": 3, "weights": "step"},
    {"kind": "local_response", "damping": 3.0}, {"kind": "reoptimize", "damping": 3.0},
    {"kind": "reoptimize"}, {"kind": "reoptimize", "baseline": "reoptimized"},
    {"kind": "local_search", "iterations": 3, "damping": 3.0},
    *({"kind": "local_search", "iterations": 2, "baseline": baseline} for baseline in ("factual", "reoptimized")),
    *({"kind": "retrain", "seeds": seeds} for seeds in (1, 2)), {"kind": "retrain", "first": 2},
    *({"kind": "replay", "seeds": seeds, "eta": 0.2, "steps": steps} for seeds, steps in ((1, 5), (1, 7), (2, 5))),
    {"kind": "replay", "first": 1, "eta": 0.2, "steps": 5})
ROUTES = ("exact", "first_order", "cosine", "representer", "ntk", "ntk_last_layer", "cholesky", "cg", "lissa", "kfac",
          "trak", "source", "dvemb", "tracin_run", "in_run_shapley")


def network():
    recipe = Recipe(epochs=2, batch_size=4, learning_rate=0.1, checkpoints=2)
    problem = network_cases.problem(network_cases.smooth, (4,), recipe=recipe, build=network_cases.smooth, n=10, l2=1.0,
                                    queries=3, candidates=range(5))
    problem.checkpoints = tuple(Checkpoint(scale * problem.theta, rate) for scale, rate in ((0.5, 0.2), (0.9, 0.1)))
    return problem


def language():
    """All parameters are trained, and those count whose objective is held by the penalty without ending at zero."""
    return language_cases.problem("all parameters", l2=1.0, parameters=r"layers\.1\.mlp\.down_proj")


PROBLEMS = {"two classes": lambda: naive.problem(n=20, d=3, classes=2, queries=3, candidates=range(6)),
            "two classes, intercept": lambda: naive.problem(n=20, d=3, classes=2, queries=3, candidates=range(6),
                                                            intercept=True),
            "three classes": lambda: naive.problem(n=20, d=3, classes=3, queries=3, candidates=range(6)),
            "network": network, "language model": language}


def scorings(problem):
    """Every scoring of the tables above that the problem can answer."""
    found = []
    for behavior, intervention, process, route in itertools.product(reading(problem.reads), INTERVENTIONS, PROCESSES,
                                                                     ROUTES):
        estimator = ESTIMATORS[route]
        if process["kind"] not in fitting(intervention["kind"]) or not estimator.serves(problem):
            continue
        if route in ("source", "in_run_shapley") and problem.reads == "tokens":
            continue  # factors are of whole layers and this problem selects one matrix; AdamW has no second order
        try:
            asked = Scoring.of(behavior, intervention, process, route)
            if asked.intervention.label_free:
                problem.check_raised(asked.readout)
        except ValueError:
            continue
        found.append(asked)
    return found


def holds(gives, first, second):
    """Whether two scores have in common what is claimed, for every query, over what is above resolution in both."""
    for known, a, b in zip(first.known & second.known, first.oriented, second.oriented, strict=True):
        one, other = a[known], b[known]
        if not known.any():
            continue
        near = 1e-6 * np.abs(other).max()
        if gives is Gives.EQUAL and not np.allclose(one, other, rtol=0, atol=near):
            return False
        if gives is Gives.PROPORTIONAL:
            factor = one @ other / (other @ other)
            if factor <= 0 or not np.allclose(one, factor * other, rtol=0, atol=factor * near):
                return False
        if gives is Gives.SHIFTED and np.ptp(one - other) > near:
            return False
        order = np.argsort(other, kind="stable")  # of candidates that are further apart than rounding
        apart = np.diff(other[order]) > 1e-5 * np.abs(other).max()
        if (np.diff(one[order])[apart] <= 0).any():
            return False
    return True


def lacking(problem):
    """What nothing has in common: there is no drift from the one optimum, and no behavior of tokens is an increasing
    function of another."""
    return ({Gives.SHIFTED} if problem.convex else set()) | ({Gives.RANKING} if problem.reads == "tokens" else set())


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_what_the_table_says_holds_of_the_scores(name, one_thread):  # noqa: F811
    problem = PROBLEMS[name]()
    facts, asked = ProblemFacts.of(problem), scorings(problem)
    computed = compute(problem, asked)
    assert all(scores.converged.all() for scores in computed)
    arrays = {scores.scoring: scores for scores in computed}
    assert np.mean([scores.above_resolution.mean() for scores in computed]) > 0.9
    related = {(a, b): relation(a, b, facts) for a, b in itertools.combinations(asked, 2)}
    told = {pair: found for pair, found in related.items() if found is not None}
    assert {found.gives for found in told.values()} == set(Gives) - lacking(problem)
    for (a, b), found in told.items():
        assert holds(found.gives, arrays[a], arrays[b]), (a.title, b.title, found)
        assert relation(b, a, facts).gives is found.gives


QUICK = ("two classes", "three classes", "network")


@lru_cache
def quick(name):
    """A problem, what identities ask of it, and for each of them the scorings of the tables that it reads."""
    problem = PROBLEMS[name]()
    facts, asked = ProblemFacts.of(problem), scorings(problem)
    return problem, facts, {one.name: [scoring for scoring in asked if one.read(scoring, facts)] for one in IDENTITIES}


@pytest.mark.grid
@pytest.mark.parametrize("identity", IDENTITIES, ids=lambda one: one.name)
@settings(max_examples=6, derandomize=True)
@given(data=st.data())
def test_every_identity_holds_after_orientation_on_both_sides_of_zero(identity, data, one_thread):  # noqa: F811
    """Of a scoring and what it is read as: the weight that is given or taken is drawn on both sides of α = 0, and most
    often where the identity says something of weights."""
    problem, facts, read = quick(data.draw(st.sampled_from([name for name in QUICK if quick(name)[2][identity.name]])))
    asked = read[identity.name]
    of_weights = [scoring for scoring in asked if isinstance(scoring.intervention, Upweight)]
    scoring = data.draw(st.sampled_from(of_weights or asked))
    if of_weights:
        share = data.draw(st.floats(0.05, 0.8)) * data.draw(st.sampled_from((1, -1)))
        scoring = Scoring.of(scoring.behavior, Upweight(alpha=share / problem.n), scoring.process, scoring.estimator)
    first, second = compute(problem, [scoring, identity.read(scoring, facts)])
    assert holds(identity.gives, first, second), (scoring.title, second.scoring.title)
    assert relation(scoring, second.scoring, facts).gives.weakness <= identity.gives.weakness


@pytest.mark.slow
def test_every_identity_is_used_somewhere():
    used = set()
    for build in PROBLEMS.values():
        problem = build()
        facts = ProblemFacts.of(problem)
        used |= {one.name for one in IDENTITIES for scoring in scorings(problem) if one.read(scoring, facts)}
    assert used == {one.name for one in IDENTITIES}


ADD, REMOVE, REOPTIMIZE = {"kind": "add_occurrence"}, {"kind": "remove"}, {"kind": "reoptimize"}
RATE = {"kind": "infinitesimal"}
STEP, SEARCH = {"kind": "one_step", "eta": 0.1}, {"kind": "local_search"}
CONVEX = ProblemFacts(convex=True, linear=True, classes=3)
TWO = ProblemFacts(convex=True, linear=True, classes=2)
KEPT = ProblemFacts(stored_checkpoints=True)


@pytest.mark.parametrize(("a", "b", "facts", "gives"), [
    (("query_loss", REMOVE, REOPTIMIZE), ("query_loss", REMOVE, {"kind": "retrain", "seeds": 3}), CONVEX, "equal"),
    (("query_loss", REMOVE, REOPTIMIZE), ("query_loss", REMOVE, {"kind": "retrain"}), EVERY_PROBLEM, None),
    (("query_loss", ADD, STEP), ("query_loss", ADD, {"kind": "unrolled", "eta": 0.1, "steps": 1}), EVERY_PROBLEM,
     "equal"),
    (("soft_margin", ADD, STEP), ("hard_margin", ADD, STEP), TWO, "equal"),
    (("soft_margin", ADD, STEP), ("hard_margin", ADD, STEP), CONVEX, None),
    (("query_loss", REMOVE, REOPTIMIZE), ("query_loss", REMOVE, {**REOPTIMIZE, "baseline": "reoptimized"}), CONVEX,
     "equal"),
    (("query_loss", REMOVE, REOPTIMIZE), ("query_loss", REMOVE, {**REOPTIMIZE, "baseline": "reoptimized"}),
     EVERY_PROBLEM, "same up to a constant per query"),
    (("query_loss", REMOVE, REOPTIMIZE), ("probability", REMOVE, {"kind": "retrain"}), CONVEX, "same ranking"),
    (("query_loss", REMOVE, REOPTIMIZE), ("query_loss", REMOVE, SEARCH), CONVEX, None),
    (("query_loss", REMOVE, SEARCH), ("query_loss", REMOVE, {**SEARCH, "iterations": 21}), CONVEX, None),
    (("query_loss", REMOVE, SEARCH), ("query_loss", REMOVE, {**SEARCH, "baseline": "reoptimized"}), EVERY_PROBLEM,
     "same up to a constant per query"),
    (("query_loss", REMOVE, SEARCH), ("probability", REMOVE, SEARCH), EVERY_PROBLEM, "same ranking"),
    (("query_loss", REMOVE, {**SEARCH, "damping": 0.5}, "cg"), ("query_loss", REMOVE, {**REOPTIMIZE, "damping": 0.5},
                                                                "cg"), EVERY_PROBLEM, "equal"),
    (("query_loss", REMOVE, {"kind": "retrain"}), ("probability", REMOVE, {"kind": "retrain"}), EVERY_PROBLEM,
     "same ranking"),
    (("query_loss", REMOVE, {"kind": "retrain", "first": 3}), ("soft_margin", REMOVE, {"kind": "retrain", "first": 3}),
     EVERY_PROBLEM, "same ranking"),
    (("query_loss", REMOVE, {"kind": "retrain", "first": 3}), ("soft_margin", REMOVE, {"kind": "retrain"}),
     EVERY_PROBLEM, None),
    (("query_loss", REMOVE, {"kind": "retrain", "seeds": 2}), ("probability", REMOVE, {"kind": "retrain", "seeds": 2}),
     EVERY_PROBLEM, None),
    (("query_loss", RATE, {"kind": "replay"}), ("probability", RATE, {"kind": "replay"}), EVERY_PROBLEM,
     "proportional"),
    (("query_loss", RATE, {"kind": "replay"}, "source"), ("probability", RATE, {"kind": "replay"}, "source"),
     EVERY_PROBLEM, "proportional"),
    (("query_loss", RATE, {"kind": "replay"}, "tracin_run"), ("probability", RATE, {"kind": "replay"}, "tracin_run"),
     EVERY_PROBLEM, None),
    (("query_loss", RATE, {"kind": "replay", "seeds": 2}), ("probability", RATE, {"kind": "replay", "seeds": 2}),
     EVERY_PROBLEM, None),
    (("query_logit", ADD, STEP), ("query_logit", ADD, {**STEP, "eta": 0.5}), CONVEX, "proportional"),
    (("query_logit", ADD, STEP), ("query_logit", ADD, {**STEP, "eta": 0.5}), EVERY_PROBLEM, None),
    (("query_loss", ADD, STEP), ("query_loss", ADD, {**STEP, "eta": 0.5}), CONVEX, None),
    (("query_loss", ADD, STEP, "first_order"), ("query_loss", ADD, {**STEP, "eta": 0.5}, "first_order"),
     EVERY_PROBLEM, "proportional"),
    (("query_loss", {"kind": "upweight", "alpha": 0.1}, REOPTIMIZE, "cg"),
     ("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"}, "cg"), EVERY_PROBLEM, "proportional"),
    (("query_loss", {"kind": "auxiliary"}, STEP), ("hard_margin", {"kind": "auxiliary"}, STEP), EVERY_PROBLEM,
     "same ranking"),
    (("answer_margin", {"kind": "auxiliary"}, STEP, "cosine"), ("answer_logit", {"kind": "auxiliary"}, STEP, "cosine"),
     EVERY_PROBLEM, "equal"),
    (("answer_margin", {"kind": "auxiliary"}, {**STEP, "eta": 0.5}), ("answer_logit", {"kind": "auxiliary"}, STEP),
     EVERY_PROBLEM, "proportional"),
    (("answer_margin", ADD, STEP), ("answer_logit", ADD, STEP), EVERY_PROBLEM, None),
    (("query_loss", ADD, {"kind": "trajectory", "eta": 0.1, "every": 5}), ("query_loss", ADD, {
        "kind": "trajectory", "eta": 0.1, "every": 7}), KEPT, "equal"),
    (("query_loss", ADD, {"kind": "trajectory", "eta": 0.1, "every": 5}), ("query_loss", ADD, {
        "kind": "trajectory", "eta": 0.1, "every": 7}), CONVEX, None),
    *((("query_loss", ADD, {"kind": "trajectory", "eta": 0.1}), ("query_loss", ADD, {
        "kind": "trajectory", "eta": 0.1, "weights": "step"}), facts, gives)
      for facts, gives in ((CONVEX, "equal"), (KEPT, None))),
])
def test_pairs_of_the_table(a, b, facts, gives):
    for first, second in ((a, b), (b, a)):
        found = relation(Scoring.of(*first), Scoring.of(*second), facts)
        assert (found.gives.value if found else None) == gives
        assert found is None or found.reasons
