"""Benchmarks of rankings as quanda defines them: the same numbers for the same scores.

Its score for mislabelled examples is another one, the area under the share of them found by the share inspected; its
top-k cardinality counts what all tops have together, where `stability` compares tops in pairs. Those are not compared.
"""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from engine.metrics.detection import auprc
from engine.metrics.rank_similarity import spearman

quanda = pytest.importorskip("quanda.metrics", reason="quanda is not installed; it wants captum below 0.9, so that "
                             "it needs an environment of its own: pip install quanda==0.5.0")
QUERIES, CANDIDATES, CLASSES = 6, 30, 4


@pytest.fixture
def scores():
    """(m, k)"""
    return np.random.default_rng(0).normal(size=(QUERIES, CANDIDATES))


@pytest.fixture
def data():
    torch.manual_seed(0)
    return TensorDataset(torch.randn(CANDIDATES, 3), torch.arange(CANDIDATES) % CLASSES)


def test_shortcut_examples_are_found_as_quanda_counts_them(scores, data):
    rows = torch.arange(0, CANDIDATES, CLASSES)
    theirs = quanda.downstream_eval.ShortcutDetectionMetric(
        nn.Linear(3, CLASSES), data, rows, 0, filter_by_non_shortcut=False, filter_by_shortcut_pred=False)
    theirs.update(torch.tensor(scores))
    flags = np.isin(np.arange(CANDIDATES), rows)
    assert np.mean([auprc(flags, row) for row in scores]) == pytest.approx(theirs.compute()["score"], abs=1e-6)


def test_the_first_examples_subclass_is_quandas_with_one_example(scores, data):
    wanted = torch.arange(QUERIES) % CLASSES
    theirs = quanda.downstream_eval.SubclassDetectionMetric(nn.Linear(3, 2), data, data.tensors[1], s=1)
    theirs.update(torch.tensor(scores), test_targets=wanted)
    ours = data.tensors[1].numpy()[scores.argmax(1)] == wanted.numpy()
    assert ours.mean() == pytest.approx(theirs.compute()["score"], abs=1e-6)


def test_rankings_under_random_weights_are_compared_as_in_quanda(scores):
    from quanda.utils.functions import correlation_functions

    after = scores + np.random.default_rng(1).normal(size=scores.shape)
    theirs = correlation_functions["spearman"](torch.tensor(scores), torch.tensor(after))
    ours = spearman(torch.tensor(np.stack([scores, after])))[0, 1]
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-6)
