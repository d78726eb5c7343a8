"""Which scores take part, against the definitions spelt out pair by pair."""

import numpy as np
import pytest

from engine.metrics.agreement import pairwise
from engine.metrics.positions import has_position, has_sign
from engine.metrics.subsets import over_known


def naively_placed(values, error):
    """#{j ≠ k : |s_j − s_k| < e_k} < (k − 1)/2 over the finite scores of a query, candidate by candidate."""
    found = np.isfinite(values)
    for q, k in np.argwhere(found):
        others = [j for j in range(values.shape[1]) if j != k and np.isfinite(values[q, j])]
        near = sum(abs(values[q, j] - values[q, k]) < error[q, k] for j in others)
        found[q, k] = not others or np.isnan(error[q, k]) or error[q, k] == 0 or 2 * near < len(others)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_positions_are_those_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((6, 1 + seed))
    if seed % 2:
        values = np.round(values, 1)  # ties
    values[rng.random(values.shape) < 0.1] = rng.choice([np.nan, np.inf, -np.inf])
    error = rng.choice([0.0, 0.05, 0.3, 0.9, 3.0, np.inf, np.nan, 1e-300], values.shape)
    np.testing.assert_array_equal(has_position(values, error), naively_placed(values, error))


def test_an_error_takes_a_position_only_where_half_of_the_others_are_nearer():
    values = np.array([[0.0, 1.0, 2.0, 3.0, 4.0]])
    for error, expected in ((0.9, True), (1.5, True), (2.5, False)):  # 0, 1 and 2 of 4 others are nearer
        assert has_position(values, np.array([[error, 0, 0, 0, 0]]))[0, 0] == expected
    assert has_position(values).all() and has_position(values, np.full(values.shape, np.nan)).all()


def test_a_sign_is_left_out_where_the_error_reaches_zero():
    values = np.array([[1.0, -1.0, 0.0, 0.0, 2.0, np.nan, np.inf]])
    error = np.array([[0.5, 1.0, 0.0, 1e-9, np.nan, 0.0, 0.0]])
    np.testing.assert_array_equal(has_sign(values, error), [[True, False, True, False, True, False, False]])
    np.testing.assert_array_equal(has_sign(values), np.isfinite(values))


def test_a_flag_alone_changes_no_agreement_and_signs_have_candidates_of_their_own():
    """Errors far above a millionth of the scores keep every pair; those that reach 0 take the sign alone."""
    rng = np.random.default_rng(0)
    stack = rng.standard_normal((2, 5, 40))
    error = 1e-3 * np.abs(stack)
    error[0, :2, :4] = 1.01 * np.abs(stack[0, :2, :4])
    ranks, signs = (np.logical_and(*(rule(*one) for one in zip(stack, error, strict=True)))
                    for rule in (has_position, has_sign))
    found = over_known(lambda part: pairwise(part), stack, ranks, signs)
    whole = pairwise(stack)
    assert (~signs).sum() == 8
    for query in range(5):
        if ranks[query].all():
            assert found["kendall"][0, 1, query] == whole["kendall"][0, 1, query]
        kept = signs[query]
        a, b = stack[:, query, kept]
        assert found["sign"][0, 1, query] == np.mean(np.sign(a) == np.sign(b))
