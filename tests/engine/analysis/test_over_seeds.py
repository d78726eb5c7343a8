"""Seeds are added until a ranking is stable; what they are like apart, against NumPy and SciPy."""

import numpy as np
import pytest
from scipy.stats import kendalltau, wasserstein_distance

from engine.analysis.over_seeds import MeanOverSeedsRequest, distribution
from engine.basics.errors import InvalidInput
from engine.models.recipe import Recipe
from engine.question.behaviors import BEHAVIORS
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests
from tests.engine.exact import network_cases
from tests.engine.exact.test_replay import ends

REMOVED = Scoring.of("soft_margin", {"kind": "remove", "normalization": "n"}, {"kind": "retrain", "first": 1})
REPLAYED = Scoring.of("soft_margin", {"kind": "infinitesimal"}, {"kind": "replay"})


def averaged(problem, scoring, **options):
    return MeanOverSeedsRequest(scoring=scoring, **options).run(problem)


@pytest.fixture(scope="module")
def network():
    recipe = Recipe(epochs=2, batch_size=4, learning_rate=0.2, momentum=0.5)
    return network_cases.problem(network_cases.smooth, (4,), recipe=recipe, build=network_cases.smooth, n=10,
                                 queries=3, candidates=[3, 5, 7, 8])


@pytest.fixture(scope="module")
def found(network):
    return averaged(network, REMOVED, stable=1.0, most=7)


def test_all_seeds_are_used_where_nothing_is_stable(found, network):
    assert list(found.single) == list(range(network.seed + 1, network.seed + 8))
    assert found.table["seeds"].tolist() == [2, 4, 6, 7] and not found.stable
    assert "not stable" in found.sentence and found.scores.scoring.process.seeds == 7
    asked = compute(network, found.scores.scoring)[0]
    np.testing.assert_allclose(found.scores.values, asked.values, rtol=1e-9)
    np.testing.assert_allclose(found.scores.standard_error, asked.standard_error, rtol=1e-6)
    assert found.scores.provenance["digest"] == asked.provenance["digest"]


def test_stability_is_tau_between_halves_of_the_seeds(found):
    values = [one.values for one in list(found.single.values())[:4]]
    halves = (values[0] + values[2]) / 2, (values[1] + values[3]) / 2
    expected = np.mean([kendalltau(*rows).statistic for rows in zip(*halves, strict=True)])
    assert found.table["stability"][1] == pytest.approx(expected)


def test_a_run_is_worth_its_tau_with_the_mean_of_the_others(found):
    values = np.stack([one.values for one in found.single.values()])
    for place, (seed, tau) in enumerate(found.agreement.itertuples(index=False)):
        others = np.delete(values, place, 0).mean(0)
        expected = np.mean([kendalltau(*rows).statistic for rows in zip(values[place], others, strict=True)])
        assert seed == list(found.single)[place] and tau == pytest.approx(expected)
    assert f"{found.agreement['tau'].mean():.2f}" in found.run_sentence


def test_it_ends_as_soon_as_the_ranking_is_stable(network):
    early = averaged(network, REMOVED, stable=-1.0)
    assert early.stable and early.table["seeds"].tolist() == [2, 4] and "is stable" in early.sentence


def behaviors(network, k, weight, seeds):
    return np.stack([BEHAVIORS["soft_margin"].value(ends(network, k, weight, seed), network.query_labels).numpy()
                     for seed in seeds])


def test_the_distribution_is_that_of_real_trainings(network, found):
    table = distribution(network, found).set_index(["query", "candidate"])
    seeds = range(network.seed + 1, network.seed + 8)
    before, after = (behaviors(network, 5, weight, seeds) for weight in (1.0, 0.0))
    for query in range(3):
        row = table.loc[query, 5]
        assert row["wasserstein"] == pytest.approx(wasserstein_distance(before[:, query], after[:, query]), rel=1e-9)
        assert row["variance"] == pytest.approx(after[:, query].var(ddof=1) - before[:, query].var(ddof=1), rel=1e-8)


def test_the_variance_of_a_replay_is_a_derivative(network):
    table = distribution(network, averaged(network, REPLAYED, most=4)).set_index(["query", "candidate"])
    seeds, step = range(network.seed, network.seed + 4), 1e-4
    up, down = (behaviors(network, 5, 1 + sign * step, seeds).var(0, ddof=1) for sign in (1, -1))
    rate = network.n * (up - down) / (2 * step)
    np.testing.assert_allclose(table.xs(5, level="candidate")["variance"], rate, rtol=1e-5, atol=1e-9)
    assert table["wasserstein"].isna().all()


@pytest.mark.parametrize(("make", "scoring", "options", "said"), [
    (lambda network: network, Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 1}), {},
     "not an exact answer with seeds"),
    (lambda network: problems_for_tests.problem(), REPLAYED, {}, "is deterministic"),
    (lambda network: network, REMOVED, {"most": 3}, "greater than or equal to 4")])
def test_refusals(network, make, scoring, options, said):
    with pytest.raises(InvalidInput, match=said):
        averaged(make(network), scoring, **options)
