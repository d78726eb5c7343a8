"""Problem sources: what is drawn, pooled and wrapped, and what is refused."""

import json

import numpy as np
import pytest
import torch

from engine import data
from engine.basics.errors import InvalidInput
from engine.problems import ProblemSource, build_cached
from engine.problems.families.inputs import average_pool

TINY = {"dataset": "digits", "n_train": 50, "n_test": 20, "n_queries": 6, "n_candidates": 8}


def test_the_problem_holds_the_pictures_that_the_draw_names():
    drawn = ProblemSource(**TINY, seed=3, l2=0.02, intercept=True).build()
    problem, sample, digits = drawn.problem, drawn.sample, data.load("digits")
    assert problem.x.shape == (50, 65) and problem.queries.shape == (6, 65) and len(problem.candidates) == 8
    assert problem.l2 == 0.02 and problem.intercept and problem.classes == 10 and drawn.x_test.shape == (20, 64)
    np.testing.assert_array_equal(problem.x[:, :-1], digits.x_train[sample.train_index])
    np.testing.assert_array_equal(problem.y, digits.y_train[sample.train_index])
    np.testing.assert_array_equal(problem.queries[:, :-1], digits.x_test[sample.query_index])
    np.testing.assert_array_equal(problem.query_labels, digits.y_test[sample.query_index])
    np.testing.assert_array_equal(problem.candidates, sample.candidates)


def test_sizes_left_out_take_all_there_is():
    drawn = ProblemSource().build()
    assert (drawn.problem.n, len(drawn.problem.queries), len(drawn.problem.candidates)) == (1297, 500, 1297)
    assert drawn.problem.l2 == 1e-4 and not drawn.problem.intercept


@pytest.mark.parametrize("pool", [1, 2])
def test_room_for_the_inputs_is_known_before_they_are_made(pool):
    source = ProblemSource(**TINY, pool=pool)
    problem = source.build().problem
    assert source.example_bytes() == problem.x.nbytes + problem.queries.nbytes


def test_a_seed_decides_and_another_draws_another():
    first, again, other = (ProblemSource(**TINY, seed=seed).build().problem for seed in (0, 0, 1))
    assert first.fingerprint == again.fingerprint != other.fingerprint


@pytest.mark.parametrize(("options", "parameters"), [
    ({}, 640), ({"intercept": True}, 650), ({"pool": 2}, 160), ({"pool": 4, "intercept": True}, 50)])
def test_parameters_are_known_before_a_problem_is_built(options, parameters):
    source = ProblemSource(**TINY, **options)
    assert source.parameters() == parameters == source.build().problem.parameters


def test_the_last_problem_is_kept_and_only_that():
    source, other = ProblemSource(**TINY), ProblemSource(**TINY, seed=1)
    first = build_cached(source)
    assert build_cached(ProblemSource(**TINY)) is first
    assert build_cached(other).source == other and build_cached(source) is not first


def test_pooling_by_hand():
    """Two 4 × 4 pictures to 2 × 2 means; in colour each channel on its own."""
    grey = np.arange(16.0)
    np.testing.assert_array_equal(average_pool(np.stack([grey, 2 * grey]), (4, 4), 2),
                                  [[2.5, 4.5, 10.5, 12.5], [5.0, 9.0, 21.0, 25.0]])
    colour = np.stack([grey, grey + 100], 1).reshape(1, -1)  # (h, w, 2), pixel by pixel
    np.testing.assert_array_equal(average_pool(colour, (4, 4, 2), 2)[0].reshape(4, 2),
                                  np.stack([[2.5, 4.5, 10.5, 12.5], [102.5, 104.5, 110.5, 112.5]], 1))
    np.testing.assert_array_equal(average_pool(grey[None], (4, 4), 4), [[7.5]])


def test_a_pooled_problem_has_pooled_queries_and_test_pictures():
    plain, pooled = (ProblemSource(**TINY, pool=pool).build() for pool in (1, 4))
    assert pooled.problem.x.shape == (50, 4) and pooled.x_test.shape == (20, 4)
    first = plain.problem.queries[0].reshape(8, 8)
    corners = [first[:4, :4], first[:4, 4:], first[4:, :4], first[4:, 4:]]
    torch.testing.assert_close(pooled.problem.queries[0], torch.stack([corner.mean() for corner in corners]))


def test_accuracy_is_that_of_all_test_pictures():
    drawn = ProblemSource(**TINY).build()
    guesses = (torch.as_tensor(drawn.x_test) @ drawn.problem.weights).argmax(1).numpy()
    assert drawn.test_accuracy() == (guesses == drawn.sample.y_test).mean() > 0.5


def test_it_survives_json():
    source = ProblemSource(**TINY, l2=1e-3)
    assert ProblemSource.parse(json.loads(source.model_dump_json())) == source and hash(source)


@pytest.mark.parametrize(("fields", "said"), [
    ({"n_train": 0}, "n_train"), ({"n_queries": 1.5}, "n_queries"), ({"seed": -1}, "seed"),
    ({"seed": True}, "true/false"),
    ({"pool": 0}, "pool"), ({"l2": 0}, "l2"), ({"l2": float("nan")}, "l2"), ({"l2": 1e9}, "l2"),
    ({"n_trian": 5}, "Unknown key `n_trian`"), ({"intercept": "perhaps"}, "intercept"),
])
def test_values_that_are_refused(fields, said):
    with pytest.raises(InvalidInput, match=said):
        ProblemSource.parse(fields)


@pytest.mark.parametrize(("fields", "said"), [
    ({"dataset": "digit"}, "did you mean `digits`"),
    ({"n_train": 5_000}, "only 1,297"),
    ({"n_queries": 30}, "only 20"),
    ({"n_candidates": 51}, "only 50"),
    ({"n_train": 1, "n_candidates": 1}, "one class"),
    ({"pool": 3}, "pool=3 does not divide"),
])
def test_draws_that_are_refused(fields, said):
    with pytest.raises(InvalidInput, match=said) as caught:
        ProblemSource.parse({**TINY, **fields}).build()
    assert str(caught.value).endswith((".", "?"))


def test_arrays_without_pictures_cannot_be_pooled():
    with pytest.raises(InvalidInput, match="pool=2"):
        average_pool(np.ones((2, 16)), None, 2)


def test_an_unknown_device_is_refused():
    with pytest.raises(InvalidInput, match="`tpu` is not available"):
        ProblemSource(**TINY).build("tpu")
