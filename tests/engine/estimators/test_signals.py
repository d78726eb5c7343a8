"""RepSim with signals, by hand, pair by pair."""

import numpy as np
import torch

from engine.estimators.signals import by_length, by_readout


def test_pairs_in_a_metric_with_the_readout_for_what_is_left_out():
    torch.manual_seed(0)
    similarity, behavior, training = torch.rand(4).double(), torch.rand(4, 3).double(), torch.rand(4, 3).double()
    half = torch.rand(3, 3).double()
    metric, readout = half @ half.T, torch.eye(3).double()[[0, 2, 2, 1]]
    found = by_readout(similarity, metric, readout)
    for row in range(4):
        s, b, t, e = similarity[row], behavior[row], training[row], readout[row]
        torch.testing.assert_close(found.by(behavior, training)[row], s * (b @ metric @ t))
        torch.testing.assert_close(found.by(training=training)[row], s * (e @ metric @ t))
        torch.testing.assert_close(found.by(behavior)[row], s * (b @ metric @ e))
    assert found.by() is similarity


def test_all_pairs_with_the_length_for_what_is_left_out():
    rng = np.random.default_rng(0)
    similarity, behavior, training = rng.random((2, 5)), rng.random((2, 3)), rng.random((5, 3))
    found = by_length(similarity)
    for q in range(2):
        for k in range(5):
            both, alone = float(behavior[q] @ training[k]), (np.linalg.norm(behavior[q]), np.linalg.norm(training[k]))
            np.testing.assert_allclose(found.by(behavior, training)[q, k], similarity[q, k] * both, rtol=1e-6)
            np.testing.assert_allclose(found.by(behavior)[q, k], similarity[q, k] * alone[0])
            np.testing.assert_allclose(found.by(training=training)[q, k], similarity[q, k] * alone[1])


def test_a_signal_of_length_one_alone_changes_nothing():
    similarity, signal = np.array([[0.2, -0.4]]), np.array([[0.6, 0.8], [0.0, 1.0]])
    np.testing.assert_allclose(by_length(similarity).by(training=signal), similarity)
