"""Models of subsets by each protocol, against plain loops that share no code with the engine's training."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import nn
from torch.nn.functional import cross_entropy

from engine.analysis.datamodels import agreement_of_outcomes, retrain_members
from engine.analysis.protocols import APART, PROTOCOLS, trained_outputs
from engine.analysis.subset_bank import TOGETHER, Draw, bank, retrained_rows
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.models.recipe import Recipe
from engine.problems import ModuleProblem
from engine.store.results import Store
from tests.engine.problems_for_tests import arrays, problem, sklearn_weights
from tests.engine.single_thread import one_thread  # noqa: F401

EPOCHS, BATCH, RATE, SEED = 3, 6, 0.2, 3


def build():
    return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))


def network(candidates=range(12)):
    recipe = Recipe(epochs=EPOCHS, batch_size=BATCH, learning_rate=RATE)
    torch.manual_seed(0)
    return ModuleProblem(build(), *arrays(n=20), candidates, recipe=recipe, build=build, seed=SEED, dtype="float64")


def steps(x, y, seed, weights=None):
    """Plain descent from the initial weights of a seed, epochs of a permutation of all of x cut into batches."""
    torch.manual_seed(seed)
    module = build().double()
    generator = torch.Generator().manual_seed(seed)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(y), generator=generator).split(BATCH):
            left = rows if weights is None else rows[weights[rows] > 0]
            if len(left):
                gradient = torch.autograd.grad(cross_entropy(module(x[left]), y[left]), list(module.parameters()))
                with torch.no_grad():
                    for part, slope in zip(module.parameters(), gradient, strict=True):
                        part -= RATE * slope
    return module


def by_hand(small, protocol, own, number):
    """The module that a protocol makes of one subset, own (n,) bool, which is model `number` of its draw."""
    kept = torch.as_tensor(own)
    if protocol == "weights":
        return steps(small.x, small.y, SEED, kept.double())
    return steps(small.x[kept], small.y[kept], SEED if protocol == "subset" else SEED + 1 + number)


@pytest.mark.parametrize("among", ["candidates", "all"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_bank_is_the_plain_loop(tmp_path, protocol, among):
    small, draw = network(), Draw(count=TOGETHER + 3, protocol=protocol, among=among)
    found, members = bank(small, draw, Store(tmp_path)), draw.members(small)
    assert (members[:, 12:].all() or among == "all") and members.sum(1).tolist() == [14 if among == "candidates" else 10
                                                                                    ] * len(members)
    np.testing.assert_array_equal(found.members, members[:, :12])
    for number in (0, 2, TOGETHER + 2):  # the last one is in another part of the bank
        expected = by_hand(small, protocol, members[number], number)(small.queries).detach()
        np.testing.assert_allclose(found.logits[number], expected, atol=1e-10)
    again = retrained_rows(small, draw, [1, TOGETHER + 1], Options())
    np.testing.assert_allclose(again, found.logits[[1, TOGETHER + 1]], atol=1e-10)


def test_protocols_are_three_different_trainings_and_other_seeds_are_others():
    small = network()
    members = torch.as_tensor(Draw(count=3, among="all").members(small))
    found = {name: trained_outputs(small, members, name) for name in PROTOCOLS}
    for a, b in (("weights", "subset"), ("weights", "seeds"), ("subset", "seeds")):
        assert not torch.allclose(found[a], found[b], atol=1e-3)
    for name in PROTOCOLS:
        assert not torch.allclose(trained_outputs(small, members, name, later=1), found[name], atol=1e-3)
    alone = trained_outputs(small, members[1:2], "seeds", later=2, first=1)
    kept = members[1]
    expected = steps(small.x[kept], small.y[kept], SEED + 1 + 2 * APART + 1)(small.queries).detach()
    np.testing.assert_allclose(alone[0], expected, atol=1e-10)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_convex_objective_has_one_optimum_by_every_protocol(protocol):
    small = problem(n=40, candidates=range(5, 30), queries=4)
    members = Draw(count=3, among="all").members(small)
    for own, logits in zip(members, retrain_members(small, members, protocol=protocol, later=1).logits, strict=True):
        expected = small.queries @ sklearn_weights(small, small.x[own], small.y[own])
        np.testing.assert_allclose(logits, expected, atol=1e-6)


def test_what_share_of_the_data_is_trained_on_is_counted():
    small = problem(n=50, candidates=range(10))
    for among, fraction, told in (("candidates", 0.9, "50% of the candidates, 90% of the training data"),
                                  ("all", 0.5, "50% of the training data")):
        draw = Draw(count=5, among=among)
        members = draw.members(small)
        assert members.mean() == draw.fraction(50, 10) == fraction and draw.description(50, 10) == told
        assert members[:, 10:].all() == (among == "candidates")
    assert abs(Draw(count=2_000, kind="halves", among="all").members(small).mean() - 0.5) < 0.01
    assert Draw(kind="halves").fraction(50, 10) == 0.9


def test_a_draw_of_an_earlier_version_is_found_again(tmp_path):
    """A draw that says neither protocol nor among is the one that it was, also in the store."""
    old = Draw.parse({"kind": "share", "count": 4, "share": 0.5, "seed": 2})
    assert (old.protocol, old.among, old.later) == ("weights", "candidates", 0)
    assert old.identity == {"kind": "share", "seed": 2, "share": 0.5}
    digests = {tuple(sorted(old.model_copy(update=other).identity.items())) for other in (
        {}, {"protocol": "subset"}, {"protocol": "seeds"}, {"among": "all"}, {"later": 1})}
    assert len(digests) == 5


def test_the_ceiling_is_spearmans_between_two_banks(tmp_path):
    small, store = network(), Store(tmp_path)
    first, second = (bank(small, Draw(count=8, among="all", later=later), store).outcomes("query_loss")
                     for later in (0, 1))
    np.testing.assert_allclose(agreement_of_outcomes(first, second), [
        spearmanr(a, b).statistic for a, b in zip(first, second, strict=True)], atol=1e-12)


def test_what_cannot_be_trained_is_refused():
    small = network()
    with pytest.raises(InvalidInput, match="subset is empty"):
        trained_outputs(small, torch.zeros(1, 20, dtype=torch.bool), "subset")
    with pytest.raises(InvalidInput, match="protocol"):
        trained_outputs(small, torch.ones(1, 20, dtype=torch.bool), "ordinary")
    with pytest.raises(InvalidInput, match="Shapley values are defined over the candidates"):
        Draw(kind="shapley", among="all").members(small)
    small.recipe = None
    with pytest.raises(InvalidInput, match="unknown how this model was trained"):
        trained_outputs(small, torch.ones(1, 20, dtype=torch.bool), "seeds")
