"""Two draws of the projection: the second is that of the next seed, and how far they agree is measured and said."""

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from engine.applications.language import sketching, width
from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.methods import METHODS
from engine.applications.language.projection import Projection
from engine.models.causal import lora
from engine.models.training import Diverged

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
    estimator = METHODS["tracin"]
    taus = [kendalltau(a, b).statistic for a, b in zip(
        estimator.score(first, "answer_logit"), estimator.score(first.redrawn, "answer_logit"), strict=True)]
    assert table["TracIn", "Answer logit"] == pytest.approx(np.mean(taus))
    assert {name for name, _ in table.index} == {"GradSim", "TracIn", "TRAK", "LESS"}
    wide = sketching.stability(made(4096))["kendall_tau"]
    assert wide.mean() > table.mean()


def test_what_is_said_follows_from_the_least_agreement(made):
    table = sketching.stability(made(WIDTH))
    told = sketching.described(table, Projection(dimension=WIDTH))
    assert told["least"] == table["kendall_tau"].min() < sketching.TARGET and not told["met"]
    assert "onto 32 numbers" in told["sentence"] and "part of the ranking is due to the seed" in told["sentence"]
    table["kendall_tau"] = 0.9599
    told = sketching.described(table, Projection(dimension=WIDTH))
    assert told["met"] and "0.95 (" in told["sentence"] and "0.96" not in told["sentence"]
    table["kendall_tau"] = np.nan
    assert "is unknown" in sketching.described(table, Projection())["sentence"]


def test_whole_gradients_have_no_draw(attribution):
    table = sketching.stability(attribution.kept)
    told = sketching.described(table, attribution.projection)
    assert table.empty and told["met"] and told["sentence"].startswith("Gradients are not projected")


@pytest.mark.parametrize(("budget", "projector", "dimension"), [
    (0, "count_sketch", 64), (WHOLE, "identity", 4096), (WHOLE - 1, "count_sketch", 256), (1, "count_sketch", 64)])
def test_gradients_are_kept_whole_or_as_wide_as_the_budget_allows(budget, projector, dimension):
    fitted = Projection(dimension=64, budget=budget).fitted(1_000, rows=10, points=3)
    assert (fitted.projector, fitted.dimension, fitted.budget) == (projector, dimension, 0)


def test_a_budget_is_written_only_where_there_is_one():
    assert "budget" not in Projection().model_dump(mode="json")
    assert Projection(budget=7).model_dump(mode="json")["budget"] == 7


@pytest.fixture
def growing(attribution, plain_setting):
    """dimension, widest -> the training with a budget that allows this width."""
    def made(dimension, widest):
        points, rows = len(attribution.points), len(attribution.train_records)
        projection = {"dimension": dimension, "budget": 2 * 4 * 2 * rows * points * widest}
        return Attribution(Setting.parse({**plain_setting, "projection": projection}), 0)

    return made


def least(found):
    for point in found.points:
        found.record_cache(point)
        found.query_cache(point, found.task.queries["triggered"])
    table = sketching.stability(found.features(found.task.queries["triggered"]))
    return table["kendall_tau"].min(), table


@pytest.mark.slow
def test_the_width_doubles_until_the_draws_agree(growing, monkeypatch):
    """On a task that is smaller than the sample, what is tried is what the whole run shows."""
    found = growing(16, 256)
    assert not found.widest.whole and found.widest.dimension == 256
    tried = width.measure(found, found.queries("triggered"), width.widths(16, 256))
    assert list(tried) == [16, 32, 64, 128, 256]
    for dimension, tau in tried.items():
        narrow = growing(16, 256)
        narrow.projection = narrow.widest.model_copy(update={"dimension": dimension})
        assert tau == pytest.approx(least(narrow)[0], abs=1e-6)
    aim = sorted(tried.values())[3]
    monkeypatch.setattr(width, "AIM", aim)
    choice = width.choose(found)
    assert choice.projection.dimension == next(one for one, tau in tried.items() if tau >= aim)
    assert choice.tried == tried
    monkeypatch.setattr(width, "measure", None)
    assert width.choose(growing(16, 256)) == choice, "it stands beside the checkpoints"


def test_a_target_that_no_width_meets_is_missed_at_the_widest(growing, monkeypatch):
    monkeypatch.setattr(width, "AIM", 1.01)
    found = growing(8, 16)
    choice = width.choose(found)
    found.projection = choice.projection
    told = sketching.described(least(found)[1], choice.projection, choice.tried)
    assert (told["dimension"], told["outcome"]) == (16, sketching.MISSED)
    assert [one for one, _ in told["tried"]] == [8, 16]
    assert "the largest within the budget" in told["sentence"]


def test_no_width_is_chosen_by_gradients_that_are_not_finite(growing, monkeypatch):
    found = growing(8, 16)
    weights = {name: torch.full_like(weight, torch.nan) for name, weight in found.points[0].weights.items()}
    monkeypatch.setattr(found, "load", lambda point: lora.put(found.model, weights))
    with pytest.raises(Diverged, match=f"step {found.points[0].step} .* not finite"):
        width.measure(found, found.queries("triggered"), [8, 16])


def test_what_is_told_names_the_outcome(made, attribution):
    table = sketching.stability(made(WIDTH))
    table["kendall_tau"] = 0.97
    told = sketching.described(table, Projection(dimension=WIDTH), {16: 0.5, WIDTH: 0.97})
    assert told["outcome"] == sketching.MET and "the smallest dimension at which two seeds agreed" in told["sentence"]
    assert sketching.described(table, attribution.projection)["outcome"] == sketching.WHOLE


def test_without_a_budget_or_with_whole_gradients_nothing_is_tried(attribution, made):
    assert width.choose(attribution) == width.Choice(attribution.projection)
