"""Benchmarks of rankings as other libraries define them: the same numbers for the same scores.

dattri: linear datamodeling score, leave-one-out correlation and AUROC of mislabelled examples.
"""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from engine.analysis.datamodels import linear_datamodeling_score, subsets
from engine.analysis.scorecard.retrained import pearson

QUERIES, CANDIDATES, MODELS = 5, 30, 12
dattri = pytest.importorskip("dattri.metric", reason="dattri is not installed: see requirements-bench.txt")


@pytest.fixture
def drawn():
    """Scores (m, k), outcomes (m, J), subsets (J, k) and exact effects (m, k)."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(QUERIES, CANDIDATES))
    kept = subsets(CANDIDATES, MODELS)
    outcomes = scores @ kept.T + 3 * rng.normal(size=(QUERIES, MODELS))
    return scores, outcomes, kept, scores + rng.normal(size=scores.shape)


def test_linear_datamodeling_score_is_dattris(drawn):
    scores, outcomes, kept, _ = drawn
    places = torch.tensor(np.stack([row.nonzero()[0] for row in kept]))
    theirs, _ = dattri.lds(torch.tensor(scores.T), (torch.tensor(outcomes.T), places))
    np.testing.assert_allclose(linear_datamodeling_score(scores, outcomes, kept), theirs.numpy(), atol=1e-12)


def test_leave_one_out_correlation_is_dattris(drawn):
    scores, _, _, exact = drawn
    theirs, _ = dattri.loo_corr(torch.tensor(scores.T), (torch.tensor(exact.T), torch.arange(CANDIDATES)))
    np.testing.assert_allclose(pearson(scores, exact), theirs.numpy(), atol=1e-12)


def test_mislabelled_examples_are_found_as_dattri_counts_them():
    """Where no two scores are equal; it breaks ties by place, and an AUROC by halves."""
    rng = np.random.default_rng(1)
    own, wrong = rng.normal(size=CANDIDATES), rng.random(CANDIDATES) < 0.3
    theirs, _ = dattri.mislabel_detection_auc(torch.tensor(own), torch.tensor(wrong))
    assert roc_auc_score(wrong, own) == pytest.approx(float(theirs), abs=1e-6)
