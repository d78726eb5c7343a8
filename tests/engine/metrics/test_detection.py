"""Detection metrics by hand, against a loop, and at ties."""

import numpy as np
import pytest

from engine.applications.language.detection import false_positive_rate
from engine.basics.errors import InvalidInput
from engine.metrics.agreement import top_size
from engine.metrics.detection import METRICS, auroc_by_chance, detection, precision_at, precision_recall

FLAGS = np.array([1, 0, 1, 1, 0, 0, 0, 0, 0, 0], dtype=bool)
SUSPICION = np.array([9.0, 8, 7, 6, 5, 4, 3, 2, 1, 0])


def test_by_hand():
    found = detection(FLAGS, SUSPICION, (0.1, 0.2, 0.4))
    assert found["AUPRC"] == pytest.approx((1 / 1 + 2 / 3 + 3 / 4) / 3)
    assert found["AUROC"] == pytest.approx((7 + 6 + 6) / 21)
    assert [found[name] for name in ("P@10%", "P@20%", "P@40%")] == [1.0, 0.5, 0.75]
    assert tuple(detection(FLAGS, SUSPICION)) == METRICS


def test_against_a_loop():
    rng = np.random.default_rng(0)
    flags, scores = rng.random(500) < 0.2, rng.standard_normal(500)
    order = np.argsort(-scores)
    hits = np.cumsum(flags[order])
    found = detection(flags, scores)
    assert found["AUPRC"] == pytest.approx(np.mean((hits / np.arange(1, 501))[flags[order]]))
    above = (scores[flags][:, None] > scores[~flags]).mean()
    assert found["AUROC"] == pytest.approx(above)
    assert found["P@5%"] == hits[24] / 25


def test_ties_across_the_border_count_as_a_draw_among_them():
    scores = np.array([3.0, 2, 2, 2, 2, 1, 1, 1, 1, 1])
    assert precision_at(FLAGS, scores, 0.3) == pytest.approx((1 + 2 * 2 / 4) / 3)
    assert precision_at(FLAGS, np.zeros(10), 0.5) == pytest.approx(0.3)


def test_the_curve_runs_from_the_most_suspicious_on():
    precision, recall = precision_recall(FLAGS, SUSPICION)
    assert (np.diff(recall) >= 0).all() and recall[-1] == 1 and precision[0] == 1
    assert np.interp(2 / 3, recall, precision) == pytest.approx(2 / 3, abs=0.1)


def test_what_cannot_be_measured():
    for flags in (np.zeros(10, dtype=bool), np.ones(10, dtype=bool)):
        with pytest.raises(InvalidInput, match="no label or every label"):
            detection(flags, SUSPICION)
    with pytest.raises(InvalidInput, match="10 flags and 9 scores"):
        detection(FLAGS, SUSPICION[:9])
    assert all(np.isnan(value) for value in detection(FLAGS, SUSPICION * np.nan).values())


@pytest.mark.parametrize("n", [20, 21, 24, 25])
def test_precision_and_false_positives_count_the_same_top(n):
    """Flagged and innocent records of one top add up to its size, ties and all."""
    rng = np.random.default_rng(n)
    flags, scores = np.arange(n) % 3 == 0, rng.integers(0, 4, n).astype(float)
    found = precision_at(flags, scores, 0.1) * top_size(n, 0.1)
    innocent = false_positive_rate(~flags, scores, 0.1) * (~flags).sum()
    assert found + innocent == pytest.approx(top_size(n, 0.1))


@pytest.mark.parametrize(("flagged", "others"), [(8, 72), (100, 900)])
def test_random_rankings_exceed_what_chance_explains_as_often_as_said(flagged, others):
    rng, flags = np.random.default_rng(0), np.arange(flagged + others) < flagged
    found = [detection(flags, rng.random(flagged + others), ())["AUROC"] for _ in range(1000)]
    assert np.mean(np.array(found) > auroc_by_chance(flagged, others, 0.05)) == pytest.approx(0.05, abs=0.02)
