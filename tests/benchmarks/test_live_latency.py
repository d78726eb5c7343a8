"""How long a change on a live page takes, once the model is trained: the figures that the dashboard promises."""

import pytest

from engine.exact.optima import training_data
from engine.problems import ProblemSource
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.benchmarks.bench_problems import SMALL, fashion, seconds

ADD = {"kind": "add_occurrence"}
STEPS = [{"kind": "one_step", "eta": 0.1}, {"kind": "unrolled", "eta": 0.1, "steps": 5}]
OPTIMA = [{"kind": "remove"}, {"kind": "upweight", "alpha": 1e-3}, {"kind": "upweight", "alpha": 1e-1}]


def measured(problem, scorings, limit, what):
    """Each scoring once, as a page would ask for it; prints all times and asserts the limit."""
    problem.fit  # noqa: B018 - trained before
    times = {scoring.title: seconds(lambda scoring=scoring: compute(problem, scoring))[0] for scoring in scorings}
    listed = "; ".join(f"{title} {time:.2f} s" for title, time in times.items())
    print(f"\n{what}: {listed} (limit {limit:.0f} s)")
    assert SMALL or all(time <= limit for time in times.values())


def test_steps_over_all_digits_within_a_second():
    problem = ProblemSource(dataset="digits", n_queries=200).build().problem
    scorings = [Scoring.of(behavior, ADD, step) for behavior in ("query_loss", "hard_margin") for step in STEPS]
    measured(problem, scorings, 1, f"digits, {problem.n} training examples, all candidates × 200 queries")


@pytest.mark.parametrize("prepared", [False, True], ids=["first", "prepared"])
def test_reoptimisation_of_digits_within_a_second(prepared):
    problem = ProblemSource(dataset="digits", n_queries=200, n_candidates=300).build().problem
    problem.fit  # noqa: B018 - trained before
    if prepared:
        training_data(problem)
    measured(problem, [Scoring.of("query_loss", intervention, {"kind": "reoptimize"}) for intervention in OPTIMA], 1,
             f"digits, {problem.n} training examples, 300 candidates × 200 queries, "
             f"{'factor prepared' if prepared else 'the first one prepares the factor'}")


def test_reoptimisation_of_fashion_within_three_seconds():
    n = 300 if SMALL else 2_000
    problem, name = fashion(n, 200, 100, pool=4 if SMALL else 1)
    problem.fit  # noqa: B018 - trained before
    prepared, _ = seconds(lambda: training_data(problem))
    measured(problem, [Scoring.of("query_loss", intervention, {"kind": "reoptimize"}) for intervention in OPTIMA], 3,
             f"{name}, {n} training examples of {problem.dimension} features, 100 candidates × 200 queries, after "
             f"{prepared:.1f} s of preparation")
