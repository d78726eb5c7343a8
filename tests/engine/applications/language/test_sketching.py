"""Two draws of the projection: the second is that of the next seed, and how far they agree is measured and said."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from engine.applications.language import sketching
from engine.applications.language.attribution import Attribution, Setting
from engine.applications.language.estimators import LANGUAGE_ESTIMATORS
from engine.applications.language.projection import Projection

WIDTH = 32
WHOLE = 4 * 2 * 10 * 3 * 1_000


@pytest.fixture(scope="module")
def made(attribution, plain_setting):
    """(dimension, seed) -> features of the shared training under that projection."""
    def features(dimension, seed=0):
        projection = {"dimension": dimension, "seed": seed}
        found = Attribution(Setting.parse({**plain_setting, "projection": projection}), 0)
        for point in found.points:
            found.record_cache(point)
            found.query_cache(point, found.task.queries["triggered"])
        return found.features(found.task.queries["triggered"])

    return features


def test_the_other_draw_is_that_of_the_next_seed(made):
    first, second = made(WIDTH), made(WIDTH, 1)
    for ours, theirs in zip(first.redrawn.points, second.points, strict=True):
        np.testing.assert_array_equal(ours.gradients, theirs.gradients)
        np.testing.assert_array_equal(ours.conditioned, theirs.conditioned)
        for behavior in theirs.queries:
            np.testing.assert_array_equal(ours.queries[behavior], theirs.queries[behavior])
    assert first.redrawn.redrawn is None


def test_agreement_between_draws_is_kendalls_of_each_query(made):
    first = made(WIDTH)
    table = sketching.stability(first).set_index(["estimator", "behavior"])["kendall_tau"]
    estimator = LANGUAGE_ESTIMATORS["tracin"]
    taus = [kendalltau(a, b).statistic for a, b in zip(
        estimator.score(first, "answer_logit"), estimator.score(first.redrawn, "answer_logit"), strict=True)]
    assert table["TracIn", "Answer logit"] == pytest.approx(np.mean(taus))
    assert {name for name, _ in table.index} == {"GradSim", "TracIn", "TRAK", "LESS"}
    wide = sketching.stability(made(4096))["kendall_tau"]
    assert wide.mean() > table.mean()


def test_what_is_said_follows_from_the_least_agreement(made):
    table = sketching.stability(made(WIDTH))
    told = sketching.told(table, Projection(dimension=WIDTH))
    assert told["least"] == table["kendall_tau"].min() < sketching.TARGET and not told["met"]
    assert "onto 32 numbers" in told["sentence"] and "a part of the ranking is the draw's" in told["sentence"]
    table["kendall_tau"] = 0.9599
    told = sketching.told(table, Projection(dimension=WIDTH))
    assert told["met"] and "0.95 (" in told["sentence"] and "0.96" not in told["sentence"]
    table["kendall_tau"] = np.nan
    assert "is not known" in sketching.told(table, Projection())["sentence"]


def test_whole_gradients_have_no_draw(attribution):
    table = sketching.stability(attribution.kept)
    told = sketching.told(table, attribution.projection)
    assert table.empty and told["met"] and told["sentence"].startswith("Gradients are kept whole")


@pytest.mark.parametrize(("budget", "projector", "dimension"), [
    (0, "count_sketch", 64), (WHOLE, "identity", 4096), (WHOLE - 1, "count_sketch", 256), (1, "count_sketch", 64)])
def test_gradients_are_kept_whole_or_as_wide_as_the_budget_allows(budget, projector, dimension):
    fitted = Projection(dimension=64, budget=budget).fitted(1_000, rows=10, points=3)
    assert (fitted.projector, fitted.dimension, fitted.budget) == (projector, dimension, 0)


def test_a_budget_is_written_only_where_there_is_one():
    assert "budget" not in Projection().model_dump(mode="json")
    assert Projection(budget=7).model_dump(mode="json")["budget"] == 7
