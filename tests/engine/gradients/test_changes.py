"""Changes through a network in float32 against a subtraction in float64, and derivatives against torch's own."""

import pytest
import torch
from torch import nn

from engine.exact.differences import FactualPoint
from engine.gradients.changes import Recorded, changed, has_rules
from engine.models.network import Network
from engine.problems import ModuleProblem


class Residual(nn.Module):
    """x + g(x), with an addition in place."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x):
        out = self.inner(x)
        out += x
        return torch.relu(out)


def normalised(channels):
    layer = nn.BatchNorm2d(channels)
    layer.running_mean.uniform_(-1, 1)
    layer.running_var.uniform_(0.5, 2)
    return layer


def pictures(*layers, features):
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(features, 4))


class Gated(nn.Module):
    """A product of two layers beside what one of them reads, of which a part goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Conv2d(2, 3, 3), nn.Conv2d(2, 3, 3)

    def forward(self, x):
        return torch.cat([self.one(x) * torch.sigmoid(self.other(x)), x[:, :, 1:-1, 1:-1]], 1)[:, 1:]


MODULES = {
    "gated": lambda: pictures(Gated(), nn.MaxPool2d(2), features=16),
    "convolutions": lambda: pictures(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                     nn.Conv2d(3, 5, 3, stride=2, padding=1, bias=False), nn.ReLU(), features=20),
    "residual": lambda: pictures(nn.Conv2d(2, 3, 1), Residual(nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), nn.Tanh())),
                                 nn.AdaptiveAvgPool2d(2), features=12),
    "statistics": lambda: pictures(nn.Conv2d(2, 4, 3), normalised(4), nn.ReLU(inplace=True), nn.AvgPool2d(2),
                                   features=16),
    "smooth": lambda: pictures(nn.Conv2d(2, 3, 3), nn.Sigmoid(), nn.Conv2d(3, 2, 3), nn.SiLU(), nn.Dropout(0.5),
                               features=8),
    "groups": lambda: pictures(nn.Conv2d(2, 4, 3, groups=2), nn.Tanh(), nn.MaxPool2d(2),
                               features=16),
}


def network(module, dtype):
    return Network(module.eval(), dtype=dtype)


@pytest.mark.grid
@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("size", [1.0, 1e-2, 1e-5, 1e-9])
def test_the_change_has_its_digits_however_small_it_is(name, size):
    torch.manual_seed(1)
    module, x = MODULES[name](), torch.randn(20, 2, 6, 6)
    single, double = network(module, torch.float32), network(module, torch.float64)
    assert has_rules(single, single.theta, x)
    displacement = size * torch.randn(single.theta.shape)
    found = changed(single, single.theta, displacement, x).double()
    exact = changed(double, single.theta.double(), displacement.double(), x.double())
    assert (found - exact).abs().max() <= 2e-5 * exact.abs().max()
    if size >= 1e-5:
        values = [double.unflatten(at) for at in (single.theta.double() + displacement.double(),
                                                  single.theta.double())]
        after, before = (torch.func.functional_call(double.module, value, (x.double(),)) for value in values)
        torch.testing.assert_close(exact, after - before, rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize("name", MODULES)
def test_derivatives_are_those_of_torch(name):
    torch.manual_seed(2)
    module, x = MODULES[name](), torch.randn(5, 2, 6, 6).double()
    one = network(module, torch.float64)
    values, direction = one.unflatten(one.theta), torch.randn(one.theta.shape, dtype=torch.float64)
    with Recorded() as recorded:
        outputs = one.at(x, values)
    moved = [(values[part], own) for part, own in one.unflatten(direction).items()]
    _, expected = torch.func.jvp(lambda theta: one.at(x, one.unflatten(theta)), (one.theta,), (direction,))
    torch.testing.assert_close(recorded.along(moved, outputs), expected)


def test_a_list_of_values_that_change_has_no_rule():
    class Joined(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x):
            return torch.stack([self.layer(x), x[:, :2]], 1)

    one = network(Joined(), torch.float64)
    with pytest.raises(LookupError, match="stack"):
        changed(one, one.theta, one.theta, torch.randn(4, 3).double())


def test_what_is_done_in_place_as_a_statement_is_not_relied_on():
    """The constant changes no change, but the outputs at which a loss is curved."""
    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.head = nn.Linear(3, 4), nn.Linear(4, 2)

        def forward(self, x):
            h = self.layer(x)
            h.add_(1.0)
            return self.head(h)

    one = network(Shifted(), torch.float64)
    assert not has_rules(one, one.theta, torch.randn(4, 3).double())


def test_parameters_that_stay_do_not_change_the_outputs():
    module, x = MODULES["convolutions"](), torch.randn(3, 2, 6, 6)
    one = network(module, torch.float64)
    assert not changed(one, one.theta, torch.zeros_like(one.theta), x.double()).any()


@pytest.mark.parametrize("layer", [nn.GELU(), nn.Softmax(-1), nn.LayerNorm(4)])
def test_an_operation_without_a_rule_leaves_it_to_others(layer):
    module, x = nn.Sequential(nn.Linear(3, 4), layer, nn.Linear(4, 2)), torch.randn(6, 3)
    one = network(module, torch.float64)
    assert not has_rules(one, one.theta, x.double())
    with pytest.raises(LookupError):
        changed(one, one.theta, one.theta, x.double())


@pytest.mark.parametrize("activation", [nn.Tanh, nn.GELU])
def test_both_routes_resolve_what_a_subtraction_loses(activation):
    """A tenth of the smallest float32 step of a weight: carried through tanh, integrated through GELU."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 8), activation(), nn.Linear(8, 3))
    x, y = torch.randn(12, 3), torch.randint(3, (12,))
    single = ModuleProblem(module, x[:6], y[:6], x[6:], y[6:])
    displacement = 1e-8 * torch.randn(single.parameters)
    found, bound = FactualPoint.at(single, single.theta).change(displacement)
    truth, _ = FactualPoint.at(single.double(), single.double().theta).change(displacement.double())
    off = (found.double() - truth).abs().amax(1)
    assert (off <= bound).all() and (off <= 1e-4 * truth.abs().amax(1)).all()
