"""A stream has the scores of the whole array, whatever its cuts, and holds no more than a part and the ends."""

import gc
import weakref

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.basics.footprint import footprint
from engine.data.records import Record
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.scoring.streaming import End, streamed
from tests.engine import problems_for_tests as softmax
from tests.truth import cases, language_cases

ADD, DERIVATIVE = {"kind": "add_occurrence"}, {"kind": "infinitesimal"}
STEP, RESPONSE = {"kind": "one_step", "eta": 0.1}, {"kind": "local_response", "damping": 0.5}
TRAJECTORY = {"kind": "trajectory", "eta": 0.1, "checkpoints": 2}
K = 5


def regression():
    return softmax.problem(n=30, l2=0.05)


def network():
    return cases.problem("tanh", "float64")


def new(problem, count):
    generator = torch.Generator().manual_seed(3)
    width = problem.x.shape[1]
    return (torch.randn(count, width, generator=generator, dtype=torch.float64),
            torch.randint(problem.classes, (count,), generator=generator))


def parts(problem, x, y, sizes):
    for own in zip(x.split(sizes), y.split(sizes), strict=True):
        yield problem.with_outside(*own), ()


def expected(scores, sign):
    """(numbers, oriented) of the k first by a plain sort of everything."""
    order = np.argsort(-sign * scores.oriented, axis=1, kind="stable")[:, :K]
    return order, np.take_along_axis(scores.oriented, order, 1)


@pytest.mark.parametrize(("build", "intervention", "process", "estimator"), [
    (regression, ADD, STEP, "exact"), (regression, ADD, STEP, "first_order"),
    (regression, ADD, {**TRAJECTORY, "every": 3}, "first_order"), (regression, DERIVATIVE, RESPONSE, "exact"),
    (regression, DERIVATIVE, RESPONSE, "cg"), (regression, DERIVATIVE, RESPONSE, "lissa"),
    (regression, {"kind": "upweight", "alpha": 0.1}, {"kind": "reoptimize"}, "exact"),
    (network, ADD, STEP, "exact"), (network, ADD, STEP, "first_order"), (network, ADD, TRAJECTORY, "first_order"),
    (network, ADD, STEP, "cosine"), (network, DERIVATIVE, RESPONSE, "exact"),
    (network, DERIVATIVE, RESPONSE, "cg_gauss_newton"), (network, DERIVATIVE, RESPONSE, "datainf"),
    (network, DERIVATIVE, RESPONSE, "ekfac")])
def test_the_ends_are_those_of_the_whole_array(build, intervention, process, estimator):
    problem, scoring = build(), Scoring.of("query_loss", intervention, process, estimator)
    x, y = new(problem, 23)
    whole = compute(problem.with_outside(x, y), scoring)[0]
    for sizes in ([7, 1, 8, 7], [23]):
        ends = streamed(problem, parts(problem, x, y, sizes), scoring, K)
        assert (ends.count, ends.left_out) == (23, 0)
        for end, sign in ((ends.top, 1), (ends.bottom, -1)):
            numbers, oriented = expected(whole, sign)
            np.testing.assert_array_equal(end.numbers, numbers)
            tolerance = {"cg": 1e-6, "cg_gauss_newton": 1e-6}.get(estimator, 1e-9 if "alpha" in intervention else 1e-12)
            np.testing.assert_allclose(end.scores, oriented, rtol=0, atol=tolerance * np.abs(whole.oriented).max())


def test_a_table_of_the_ends():
    problem, scoring = regression(), Scoring.of("query_loss", ADD, STEP)
    x, y = new(problem, 9)
    named = ((part, [f"row {one}" for one in range(start, start + 3)])
             for start, (part, _) in zip((0, 3, 6), parts(problem, x, y, 3), strict=True))
    frame = streamed(problem, named, scoring, 2).to_frame()
    whole = compute(problem.with_outside(x, y), scoring)[0]
    first = frame[frame["query"] == 0]
    assert list(first["end"]) == ["top", "top", "bottom", "bottom"] and list(first["rank"]) == [1, 2, 1, 2]
    order = np.argsort(-whole.values[0])
    assert list(first["candidate"]) == [order[0], order[1], order[-1], order[-2]]
    assert list(first["name"]) == [f"row {row}" for row in first["candidate"]]
    np.testing.assert_allclose(first["score"], whole.values[0, first["candidate"]], rtol=1e-12)
    assert len(streamed(problem, parts(problem, x, y, 4), scoring, 50).to_frame()) == 2 * 9 * len(problem.queries)


def test_what_has_no_score_stands_in_no_end():
    end = End.empty(1, 3, 1).joined(np.array([[np.nan, 2.0, 1.0]]), np.arange(3), np.array(["a", "b", "c"], object))
    end = end.joined(np.array([[np.nan, 2.0]]), np.arange(3, 5), np.array(["d", "e"], object))
    assert end.numbers.tolist() == [[1, 4, 2]] and end.names.tolist() == [["b", "e", "c"]]  # the earlier of two equals


@pytest.mark.parametrize(("build", "intervention", "process", "estimator"), [
    (regression, DERIVATIVE, RESPONSE, "exact"), (network, ADD, STEP, "first_order"),
    (network, DERIVATIVE, RESPONSE, "datainf")])
def test_no_more_than_a_part_is_alive(build, intervention, process, estimator):
    """Counted are the parts that can be reached whenever the next one is asked for, and the bytes of the problem."""
    problem, scoring = build(), Scoring.of("query_loss", intervention, process, estimator)
    alive, counts, sizes = [], [], []

    def watched():
        for _ in range(6):
            gc.collect()
            counts.append(sum(one() is not None for one in alive))
            sizes.append(footprint(problem))
            part = problem.with_outside(*new(problem, 16))
            alive.append(weakref.ref(part.outside.x))
            yield part, ()
            del part

    gc.freeze()  # what others left behind is not gone through again and again
    try:
        ends = streamed(problem, watched(), scoring, K)
    finally:
        gc.unfreeze()
    assert ends.count == 6 * 16 and max(counts) <= 2
    assert len(set(sizes[2:])) == 1
    assert footprint(ends.top, ends.bottom) <= 2 * 3 * 8 * K * len(problem.queries)


def test_records_come_in_a_stream():
    """A later record is longer than all before it."""
    problem = language_cases.problem(train=language_cases.TRAIN[:4], candidates=[0])
    further = [*language_cases.TRAIN[4:], language_cases.record("is it big old red so is it old a b", "it is so", "c")]
    further = [Record(**{**one.model_dump(), "id": f"new {index}"}) for index, one in enumerate(further)]
    scoring = Scoring.of("response_loss", ADD, STEP, "first_order")
    whole = compute(problem.with_records(further), scoring)[0]
    ends = streamed(problem, problem.with_each([further[:2], further[2:3], further[3:]]), scoring, K)
    numbers, oriented = expected(whole, 1)
    np.testing.assert_array_equal(ends.top.numbers, numbers)
    np.testing.assert_allclose(ends.top.scores, oriented, rtol=0, atol=1e-12 * np.abs(oriented).max())
    assert ends.top.names.tolist() == [[f"new {number}" for number in row] for row in numbers]


@pytest.mark.parametrize(("scoring", "k", "said"), [
    (Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"}), K, "asks about training examples"),
    (Scoring.of("query_loss", ADD, STEP), 0, "from 1 to")])
def test_what_cannot_be_streamed_is_said(scoring, k, said):
    problem = regression()
    with pytest.raises(InvalidInput, match=said):
        streamed(problem, parts(problem, *new(problem, 4), 2), scoring, k)
    with pytest.raises(InvalidInput, match="no candidates"):
        streamed(problem, [], Scoring.of("query_loss", ADD, STEP), K)
