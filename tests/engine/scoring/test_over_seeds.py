"""Means over seeds come with their standard error: from single runs, through manifests, files and jobs."""

import numpy as np
import pytest

from engine.cli.score_files import read_scores, write_scores
from engine.jobs import run_job
from engine.models.recipe import Recipe
from engine.problems import ProblemSource
from engine.requests.scores import ScoresRequest
from engine.scoring.compute import compute
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from tests.engine.exact import network_cases
from tests.engine.requests_for_tests import scores_payload

RETRAINED = ({"kind": "remove", "normalization": "n"}, "retrain")
REPLAYED = ({"kind": "infinitesimal"}, "replay")
TINY = ProblemSource(dataset="digits", model="mlp", n_train=20, n_test=20, n_queries=2, n_candidates=3,
                     recipe={"epochs": 1, "batch_size": 10, "learning_rate": 0.05})


def of_runs(parts, **runs):
    return Scoring.of("query_loss", parts[0], {"kind": parts[1], **runs})


@pytest.fixture(scope="module")
def network():
    recipe = Recipe(epochs=2, batch_size=4, learning_rate=0.2, momentum=0.5)
    return network_cases.problem(network_cases.smooth, (4,), recipe=recipe, build=network_cases.smooth, n=10,
                                 queries=4, candidates=range(3, 9))


@pytest.mark.parametrize("parts", [RETRAINED, REPLAYED], ids=["retrain", "replay"])
@pytest.mark.parametrize("few", [False, True], ids=["many candidates", "few candidates"])
def test_mean_and_standard_error_are_those_of_single_runs(network, parts, few):
    asked = network.with_candidates([3, 5]) if few else network
    mean, *single = compute(asked, [of_runs(parts, seeds=3), *(of_runs(parts, first=first) for first in range(3))])
    values = np.stack([one.values for one in single])
    np.testing.assert_allclose(mean.values, values.mean(0), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(mean.standard_error, values.std(0, ddof=1) / 3 ** 0.5, rtol=1e-6, atol=1e-14)
    noise = np.median(np.sqrt((mean.standard_error ** 2).mean(1)) / mean.values.std(1))
    assert mean.noise == pytest.approx(noise) == mean.provenance["noise_of_seeds"]
    assert all(one.standard_error is None and one.noise is None for one in single)


def test_of_the_same_scores_for_all_nothing_is_unsettled():
    scoring = of_runs(RETRAINED, seeds=2)
    found = Scores(scoring, np.ones((2, 3)), np.arange(3), np.ones(3, bool), np.zeros(3), {}, None, np.zeros((2, 3)))
    assert found.noise is None


def test_files_and_jobs_keep_it(network, tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    scores = compute(network, of_runs(RETRAINED, seeds=2))[0]
    write_scores(tmp_path / "scores.npz", scores, "command")
    read = read_scores([tmp_path / "scores.npz"], network)["scores"]
    np.testing.assert_array_equal(read.standard_error, scores.standard_error)
    asked = [of_runs(RETRAINED, seeds=2), of_runs(RETRAINED)]
    kept = ScoresRequest.loaded(run_job(ScoresRequest.name, scores_payload(TINY, asked, 3)))
    direct = compute(TINY.build().problem, asked)
    np.testing.assert_allclose(kept[0].standard_error, direct[0].standard_error, rtol=1e-6)
    assert kept[0].noise == pytest.approx(direct[0].noise) and kept[1].standard_error is None
