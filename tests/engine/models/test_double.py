"""A module that asks for float32 inside keeps float64 once it is told to; one that does not is left as it is."""

import copy

import torch
from torch import nn

from engine.models.double import keep_double
from engine.problems import ModuleProblem


class Lowering(nn.Module):
    """A norm as language models have it, and a softmax in float32."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x):
        h = self.layer(x)
        wide = h.to(torch.float32)
        h = (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(h.dtype)
        return torch.softmax(h, -1, dtype=torch.float32).to(h.dtype) + h.float().to(h.dtype)


def expected(module, x):
    h = module.layer(x)
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
    return h.softmax(-1) + h


def test_the_digits_come_back_and_copies_keep_them():
    torch.manual_seed(0)
    module, x = Lowering().double(), torch.randn(5, 3).double()
    before, truth = module(x), expected(module, x)
    assert 1e-9 < (before - truth).abs().max() < 1e-5
    keep_double(module, x)
    keep_double(module, x)
    for one in (module, copy.deepcopy(module)):
        assert (one(x) - truth).abs().max() < 1e-15 and type(one) is Lowering
    twin = copy.deepcopy(module)
    with torch.no_grad():
        twin.layer.weight.zero_()
    assert (module(x) - truth).abs().max() < 1e-15
    assert (twin(x) - expected(twin, x)).abs().max() < 1e-15


def test_a_module_that_keeps_its_precision_is_left_alone():
    module = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Softmax(-1)).double()
    keep_double(module, torch.randn(2, 3).double())
    assert not any("forward" in vars(part) for part in module.modules())


def test_who_compares_types_asks_for_none():
    """A reader of tokens takes its logits in float32 at least; all of a model would be watched inside of it."""
    class Least(nn.Linear):
        def forward(self, x):
            return super().forward(x.to(torch.promote_types(x.dtype, torch.float32)))

    module = Least(3, 4).double()
    keep_double(module, torch.randn(2, 3).double())
    assert "forward" not in vars(module) and module(torch.randn(2, 3).double()).dtype == torch.float64


def test_a_problem_in_float64_is_one_throughout():
    torch.manual_seed(0)
    single = ModuleProblem(Lowering(), torch.randn(6, 3), [0, 1, 2, 3, 0, 1], torch.randn(2, 3), [0, 1])
    double = single.double()
    truth = expected(copy.deepcopy(single.network.module).double(), double.queries)
    assert (double.query_logits - truth).abs().max() < 1e-15
    assert "forward" not in vars(single.network.module)
