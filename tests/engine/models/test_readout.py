"""The layer that the logits come from is found by watching the forward pass, whatever the order of registration."""

import pytest
import torch
from torch import nn

from engine.basics.errors import InvalidInput
from engine.models.network import Network
from engine.models.readout import readout
from engine.problems import ModuleProblem
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

AUXILIARY, ADD, STEP = {"kind": "auxiliary"}, {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.3}
ORDERS = (("body", "head"), ("head", "body"))


class Parts(nn.Module):
    """A body and a head of equal outputs, registered in either order; `after` is done to the logits."""

    def __init__(self, order=ORDERS[0], after=lambda logits: logits):
        super().__init__()
        for name in order:
            self.add_module(name, nn.Linear(4, 3) if name == "body" else nn.Linear(3, 3))
        self.after = after

    def forward(self, x):
        return self.after(self.head(torch.tanh(self.body(x))))


class Twice(Parts):
    def forward(self, x):
        return self.head(torch.tanh(self.head(torch.tanh(self.body(x)))))


class Tied(Parts):
    def __init__(self):
        super().__init__()
        self.other = nn.Linear(3, 3)
        self.other.weight = self.head.weight

    def forward(self, x):
        return self.head(torch.tanh(self.other(torch.tanh(self.body(x)))))


class Unused(Parts):
    """Layers that a forward pass does not end in: one after the head in registration, one never called."""

    def __init__(self):
        super().__init__(ORDERS[1])
        self.auxiliary, self.never = nn.Linear(3, 2), nn.Linear(3, 3)

    def forward(self, x):
        h = torch.tanh(self.body(x))
        logits = self.head(h)
        self.auxiliary(h)
        return logits


class Wrapped(nn.Module):
    def __init__(self, inner, outer=nn.Identity):
        super().__init__()
        self.outer, self.inner = outer(), nn.ModuleDict({"model": inner})

    def forward(self, x):
        return self.outer(self.inner["model"](x))


class NotLinear(nn.Linear):
    def forward(self, x):
        return super().forward(x).square()


@pytest.mark.parametrize(("build", "name"), [
    (lambda: Parts(ORDERS[0]), "head"), (lambda: Parts(ORDERS[1]), "head"), (Unused, "head"),
    (lambda: Wrapped(Parts(ORDERS[1])), "inner.model.head"),
    (lambda: Wrapped(Parts(ORDERS[1]), nn.Dropout).eval(), "inner.model.head"),
    (lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Sequential(nn.Linear(3, 3), nn.Flatten())), "2.0"),
])
def test_it_is_found_wherever_it_is_registered(build, name):
    assert readout(build(), torch.randn(2, 4)) == name


@pytest.mark.parametrize("after", [
    lambda logits: logits / 2.0, lambda logits: logits.div_(2.0), lambda logits: logits.log_softmax(-1),
    lambda logits: logits.relu_(), lambda logits: logits[:, :2], lambda logits: logits + 1.0, torch.sigmoid,
])
def test_logits_that_are_changed_afterwards_are_refused(after):
    with pytest.raises(InvalidInput, match="does not end in a linear layer"):
        readout(Parts(after=after), torch.randn(2, 4))


@pytest.mark.parametrize("build", [Twice, Tied])
def test_a_head_that_is_used_twice_is_refused(build):
    with pytest.raises(InvalidInput, match="`head`.* more than once or shares its weights"):
        readout(build(), torch.randn(2, 4))


def test_a_layer_that_computes_something_else_is_refused():
    with pytest.raises(InvalidInput, match="not linear in its input"):
        readout(nn.Sequential(nn.Linear(4, 3), NotLinear(3, 3)), torch.randn(2, 4))


def test_no_hook_stays():
    network = Network(Parts())

    def hooks():
        return [{**module._forward_hooks, **module._forward_pre_hooks} for module in network.module.modules()]

    before = hooks()
    network.features(torch.randn(5, 4))
    assert hooks() == before


def problem(order, **options):
    torch.manual_seed(0)
    like, module = Parts(), Parts(order)
    module.load_state_dict(like.state_dict())
    x, q = torch.randn(9, 4), torch.randn(5, 4)
    return ModuleProblem(module, x, torch.arange(9) % 3, q, torch.arange(5) % 3, [3, 0, 7], dtype="float64", **options)


@pytest.mark.parametrize(("intervention", "estimator"), [
    (AUXILIARY, "exact"), (AUXILIARY, "ntk_last_layer"), (AUXILIARY, "cosine"), (ADD, "representer")])
def test_scores_do_not_depend_on_the_order_of_registration(intervention, estimator):
    expected, found = (compute(problem(order), Scoring.of("query_logit", intervention, STEP, estimator))[0].values
                       for order in ORDERS)
    torch.testing.assert_close(torch.as_tensor(found), torch.as_tensor(expected), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("selection", ["last_layer", "last_block"])
def test_a_selection_that_misses_the_head_is_refused(selection):
    assert problem(ORDERS[0], parameters=selection).parameters
    if selection == "last_block":  # body and head are both of it
        assert problem(ORDERS[1], parameters=selection).parameters
    else:
        with pytest.raises(InvalidInput, match="logits come from a different layer"):
            problem(ORDERS[1], parameters=selection)
