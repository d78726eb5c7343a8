"""RepSim, NTK and the signal-augmented similarities against their formulas, example by example."""

import numpy as np
import pytest
import torch

from engine.applications.noisy_labels.pairs import BEHAVIOR_TITLES, Pair, augmented
from engine.applications.noisy_labels.scoring import suspicions
from engine.question.behaviors import BEHAVIORS
from tests.engine.applications.noisy_labels.sources import model


def parts(trained):
    """(φ, trusted φ, logits, trusted logits, W) by hooks on the head alone."""
    kept = []
    head = trained.module.head
    hook = head.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0]))
    with torch.no_grad():
        logits = trained.module(torch.tensor(trained.evidence.x))
        others = trained.module(torch.tensor(trained.evidence.trusted_x))
    hook.remove()
    return kept[0].double(), kept[1].double(), logits.double(), others.double(), head.weight.detach().double()


@pytest.fixture(scope="module")
def found():
    return suspicions(model(), ("repsim", "ntk", "augmented"))


def test_repsim_and_ntk(found):
    trained = model()
    phi, trusted, *_ = parts(trained)
    y, labels = trained.evidence.y, trained.evidence.trusted_y
    for k in range(0, len(y), 17):
        own = trusted[labels == y[k]]
        centroid = own.mean(0)
        cosine = (phi[k] @ centroid) / (phi[k].norm() * centroid.norm())
        assert found[Pair("RepSim")][k] == pytest.approx(-cosine.item(), rel=1e-4)
        assert found[Pair("NTK")][k] == pytest.approx(-(own @ phi[k] + 1).mean().item(), rel=1e-4)


def test_repsim_and_ntk_of_the_authors_code():
    """The centroid of unit representations; the cosine with the class's mean loss gradient, written out."""
    trained = model()
    scores = suspicions(trained, ("repsim_unit", "ntk_loss_gradients"))
    phi, trusted, logits, others, _ = parts(trained)
    y, labels = trained.evidence.y, trained.evidence.trusted_y

    def gradients(features, values, own):
        signals = values.softmax(1) - torch.eye(10).double()[own]
        with_one = torch.cat([features, torch.ones(len(features), 1)], 1)
        return (signals[:, :, None] * with_one[:, None]).flatten(1)

    mine, theirs = gradients(phi, logits, y), gradients(trusted, others, labels)
    for k in range(0, len(y), 11):
        own = labels == y[k]
        centroid = (trusted[own] / trusted[own].norm(dim=1, keepdim=True)).mean(0)
        for title, vector, mean in (("RepSim (unit centroid)", phi[k], centroid),
                                    ("NTK (loss gradients)", mine[k], theirs[own].mean(0))):
            cosine = (vector @ mean) / (vector.norm() * mean.norm())
            assert scores[Pair(title)][k] == pytest.approx(-cosine.item(), rel=1e-3, abs=1e-5)


def test_signals_are_added_to_the_repsim_that_is_wanted():
    both = [suspicions(model(), (name, "augmented")) for name in ("repsim", "repsim_unit")]
    ratios = [one[Pair(augmented("train", "logit"))] / one[pair] for one, pair in zip(
        both, (Pair("RepSim"), Pair("RepSim (unit centroid)")), strict=True)]
    np.testing.assert_allclose(*ratios, rtol=1e-4)
    assert np.abs(both[0][Pair("RepSim")] - both[1][Pair("RepSim (unit centroid)")]).max() > 1e-4


@pytest.mark.parametrize("space", ["logit", "repr"])
def test_signals_are_those_of_the_formula(found, space):
    trained = model()
    phi, trusted, logits, others, head = parts(trained)
    y, labels = trained.evidence.y, torch.tensor(trained.evidence.trusted_y)
    metric = torch.eye(10).double() if space == "logit" else head @ head.T
    for k in range(0, len(y), 29):
        members = labels == int(y[k])
        centroid = trusted[members].mean(0)
        cosine = (phi[k] @ centroid) / (phi[k].norm() * centroid.norm())
        own = torch.eye(10).double()[y[k]]
        training = logits[k].softmax(0) - own
        assert found[Pair(augmented("train", space))][k] == pytest.approx(
            -(cosine * (own @ metric @ training)).item(), rel=1e-3, abs=1e-5)
        for name, title in BEHAVIOR_TITLES.items():
            signal = BEHAVIORS[name].signal(others[members], labels[members]).mean(0)
            assert found[Pair(augmented("behavior", space), title)][k] == pytest.approx(
                -(cosine * (signal @ metric @ own)).item(), rel=1e-3, abs=1e-5)
            assert found[Pair(augmented("both", space), title)][k] == pytest.approx(
                -(cosine * (signal @ metric @ training)).item(), rel=1e-3, abs=1e-5)


def test_the_equalities_of_the_paper_s_table(found):
    plain, train = found[Pair("RepSim")], found[Pair(augmented("train", "logit"))]
    for title in ("Target logit", "Hard margin"):
        np.testing.assert_allclose(found[Pair(augmented("behavior", "logit"), title)], plain, rtol=1e-5)
    np.testing.assert_allclose(found[Pair(augmented("both", "logit"), "Target logit")], train, rtol=1e-5)
    np.testing.assert_allclose(found[Pair(augmented("both", "repr"), "Target logit")],
                               found[Pair(augmented("train", "repr"))], rtol=1e-5)


def test_the_sign_of_eq_6_is_the_opposite(found):
    np.testing.assert_array_equal(found[Pair(augmented("train", "logit"))],
                                  -found[Pair(augmented("train", "logit", influence=True))])
