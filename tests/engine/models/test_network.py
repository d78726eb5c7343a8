"""A module as a function of its selected parameters: selection, flattening, evaluation mode, representation."""

import pytest
import torch
from torch import nn

from engine.basics.errors import InvalidInput
from engine.models.network import Network, selected


def blocks():
    """A stem, two residual-like blocks in a Sequential, and a head."""
    module = nn.Module()
    module.stem = nn.Conv2d(1, 2, 3)
    module.stage = nn.Sequential(nn.Sequential(nn.Conv2d(2, 2, 3), nn.ReLU()), nn.Sequential(nn.Conv2d(2, 2, 1)))
    module.head = nn.Linear(2, 3)
    return module


def small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Dropout(0.5), nn.Linear(5, 3))


@pytest.mark.parametrize(("which", "names"), [
    ("last_block", ("stage.1.0.weight", "stage.1.0.bias", "head.weight", "head.bias")),
    ("last_layer", ("head.weight", "head.bias")),
    (r"^stem\.weight$", ("stem.weight",)),
    (r"bias$", ("stem.bias", "stage.0.0.bias", "stage.1.0.bias", "head.bias")),
])
def test_what_a_selection_names(which, names):
    assert selected(blocks(), which) == names
    assert len(selected(blocks(), "all")) == 8


def test_a_wrapper_is_looked_through():
    wrapped = nn.Sequential(blocks(), nn.ReLU())
    assert selected(wrapped, "last_block") == tuple(f"0.{name}" for name in selected(blocks(), "last_block"))


@pytest.mark.parametrize(("which", "sentence"), [
    ("no_such_layer", "No parameter's name matches `no_such_layer`; the names are stem.weight"),
    ("(", "is neither one of all, last_block, last_layer nor a regular expression"),
])
def test_a_selection_of_nothing_is_refused(which, sentence):
    with pytest.raises(InvalidInput, match=sentence.replace("(", r"\(") if which != "(" else sentence):
        selected(blocks(), which)


def test_a_selection_that_takes_too_long_is_stopped(monkeypatch):
    monkeypatch.setattr("engine.models.network.MOST_SECONDS", 0.2)
    module = nn.Module()
    module.register_parameter("x" * 3_000, nn.Parameter(torch.zeros(1)))
    with pytest.raises(InvalidInput, match=r"`\(x\+x\+\)\+y` takes too long \(names of parameters\)"):
        selected(module, "(x+x+)+y")


def test_a_model_without_parameters_is_refused():
    with pytest.raises(InvalidInput, match="has no parameters"):
        Network(nn.ReLU())


def test_theta_is_the_selected_parameters_in_order_and_goes_back_and_forth():
    module = small()
    network = Network(module, r"^4\.", dtype=torch.float64)
    expected = torch.cat([module[4].weight.detach().flatten(), module[4].bias.detach()]).double()
    torch.testing.assert_close(network.theta, expected, rtol=0, atol=0)
    batch = torch.arange(2.0 * network.size).view(2, -1)
    back = network.unflatten(batch)
    assert back["4.weight"].shape == (2, 3, 5)
    torch.testing.assert_close(network.flatten(back), batch, rtol=0, atol=0)


def test_a_parameter_without_dimensions_is_one_number_of_theta():
    module = small()
    module[0].register_parameter("scale", nn.Parameter(torch.tensor(2.0)))
    network = Network(module, "scale|4.bias")
    assert network.theta.shape == (4,) and network.unflatten(network.theta)["0.scale"].shape == ()
    assert network.unflatten(torch.zeros(5, 4))["0.scale"].shape == (5,)


def test_logits_at_another_theta_are_those_of_a_module_with_these_weights():
    module, x = small().double().eval(), torch.randn(6, 4, dtype=torch.float64)
    network = Network(module, r"^0\.weight", dtype=torch.float64)
    moved = network.theta + 0.3
    other = small().double().eval()
    with torch.no_grad():
        other[0].weight.copy_(moved.view(5, 4))
    torch.testing.assert_close(network.predict(x, moved, batch=4), other(x).detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(network.predict(x, batch=1), module(x).detach(), rtol=1e-12, atol=1e-12)


def test_the_users_own_module_is_left_as_it_was():
    module = small().train()
    network = Network(module)
    assert module.training and module[0].weight.requires_grad and not network.module.training
    first = network.predict(torch.randn(50, 4))
    with torch.no_grad():
        module[0].weight.add_(1.0)
    assert not torch.equal(network.theta[:20].view(5, 4), module[0].weight) and torch.isfinite(first).all()


def test_an_example_is_scored_alike_in_any_batch():
    network, x = Network(small(), dtype=torch.float64), torch.randn(8, 4, dtype=torch.float64)
    alone = torch.cat([network.predict(row[None]) for row in x])
    torch.testing.assert_close(network.predict(x), alone, rtol=1e-12, atol=1e-12)


def test_the_representation_is_what_the_last_layer_reads():
    network, x = Network(small(), dtype=torch.float64), torch.randn(7, 4, dtype=torch.float64)
    features, head = network.features(x, batch=3), network.module[4]
    assert features.shape == (7, 6) and (features[:, -1] == 1).all()
    expected = network.predict(x)
    torch.testing.assert_close(features @ torch.cat([head.weight, head.bias[:, None]], 1).T, expected)


def test_a_model_that_does_not_end_in_a_linear_layer_has_no_representation():
    network = Network(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)))
    with pytest.raises(InvalidInput, match="does not end in a linear layer"):
        network.features(torch.randn(2, 4))


def test_the_fingerprint_knows_weights_buffers_and_selection():
    first = Network(small()).fingerprint
    assert Network(small()).fingerprint == first != Network(small(), "last_layer").fingerprint
    moved = small()
    moved[1].running_mean.add_(1e-3)
    assert Network(moved).fingerprint != first
