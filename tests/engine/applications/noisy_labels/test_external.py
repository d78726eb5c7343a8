"""Scores of another program beside the rankings of a search: read, turned by the consensus alone, and detected with."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from engine.applications.noisy_labels import external
from engine.applications.noisy_labels.pairs import CONSENSUS, Pair
from engine.applications.noisy_labels.rankings import detections
from engine.applications.noisy_labels.search import Scored
from engine.basics.errors import InvalidInput
from engine.basics.folders import HOME
from engine.external.table import Table
from engine.store import external_scores

N = 60
RNG = np.random.default_rng(0)
NOISY = np.arange(N) % 5 == 0
CONSENSUS_SCORES = NOISY + RNG.normal(size=N)
THEIRS = CONSENSUS_SCORES + 0.3 * RNG.normal(size=N)
DATA = SimpleNamespace(evidence=SimpleNamespace(y=np.arange(N) % 3, classes=3), fingerprint="f")
SCORED = Scored({CONSENSUS: CONSENSUS_SCORES}, *[np.zeros(N)] * 4, facts={}, by_heart=False)


@pytest.mark.parametrize(("sign", "factor"), [("plus", 1), ("minus", -1)])
def test_scores_are_turned_by_the_consensus_and_ranked_beside_it(tmp_path, monkeypatch, sign, factor):
    monkeypatch.setenv(HOME, str(tmp_path))
    order = RNG.permutation(N)
    held = external.matched(DATA, Table(factor * THEIRS[order, None], rows=order), "self.npy")
    told = external.direction(SCORED, held)
    assert told.sign == sign and "consensus" in told.sentence
    settings = external.settings_of(held, "self; influence", sign, told)
    assert external.settings_in(settings.text) == settings and settings.decided == "data" and settings.tau > 0.5
    external_scores.keep(held)
    joined = external.with_external(SCORED, DATA, [settings])
    np.testing.assert_array_equal(joined.suspicion[Pair("self; influence")], THEIRS)
    table = detections(joined.suspicion, NOISY).set_index("method")
    assert table.loc["self; influence", "AUPRC"] == pytest.approx(average_precision_score(NOISY, THEIRS))
    with pytest.raises(InvalidInput, match="A ranking of this name exists already"):
        external.with_external(joined, DATA, [settings])
    with pytest.raises(InvalidInput, match="other labels"):
        external.with_external(SCORED, SimpleNamespace(fingerprint="g"), [settings])


def test_a_direction_that_the_consensus_does_not_tell_is_left_open():
    held = external.matched(DATA, Table(np.random.default_rng(4).normal(size=(1, N))), "x")
    told = external.direction(SCORED, held)
    assert told.sign == "" and "does not determine" in told.sentence
    assert external.settings_of(held, "x", "minus", told).decided == "user"


@pytest.mark.parametrize(("values", "match"), [
    (np.zeros((1, N - 1)), "60 labels are searched"), (np.zeros((N, N)), "the diagonal"),
    (np.where(np.arange(N) == 3, np.nan, 1.0)[None], "1 of the 60 scores are not finite")])
def test_what_is_no_score_for_each_label_is_refused(values, match):
    with pytest.raises(InvalidInput, match=match):
        external.matched(DATA, Table(values), "x")
    with pytest.raises(InvalidInput, match="numbered 1 to 60"):
        external.matched(DATA, Table(np.zeros((N, 1)), rows=np.arange(1, N + 1)), "x")


def test_predicted_probabilities_become_the_scores_of_confident_learning():
    """Rows by their number, and the way they stand is known: the label that the model doubts most is first."""
    y = DATA.evidence.y
    p = np.full((N, 3), 0.1)
    p[np.arange(N), y] = 0.8
    p[7] = np.roll(p[7], 1)
    order = RNG.permutation(N)
    held = external.matched(DATA, Table(p[order], rows=order), "p.csv")
    assert np.argmax(held.values[0]) == 7 and np.ptp(np.delete(held.values[0], 7)) < 1e-12
    told = external.direction(SCORED, held)
    assert told.sign == "plus" and "predicted probabilities" in told.sentence
    with pytest.raises(InvalidInput, match="60 × 3, but 60 labels"):
        external.matched(DATA, Table(2 * p), "p.csv")
