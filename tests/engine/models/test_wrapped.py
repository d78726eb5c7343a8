"""What people have around their modules is taken off, or refused by a sentence."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, weight_norm

from engine.basics.errors import InvalidInput
from engine.models.wrapped import by_names, copied, in_precision, unwrapped


def plain():
    return nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))


@pytest.mark.parametrize("wrap", [nn.DataParallel, lambda module: torch.compile(module, backend="eager"),
                                  lambda module: nn.DataParallel(torch.compile(module, backend="eager"))])
def test_the_module_within_is_taken(wrap):
    module = plain()
    assert unwrapped(wrap(module)) is module
    assert by_names(wrap(module).state_dict(), module.state_dict()).keys() == module.state_dict().keys()


def hooked(hook):
    module = nn.Sequential(nn.Linear(4, 3))
    module[0].weight.register_hook(hook)
    return module


def test_a_hook_that_only_looks_is_no_reason():
    seen = []
    assert copied(hooked(lambda gradient: seen.append(gradient.shape))) is not None and seen == [(3, 4)]


@pytest.mark.parametrize("module, said", [
    (nn.Sequential(nn.LazyLinear(3)), "`weight` of the layer `0` has no shape yet"),
    (nn.Sequential(weight_norm(nn.Linear(4, 3))), "layer `0` stores `weight`, .* use `torch.nn.utils.parametrizations"),
    (nn.Sequential(torch.jit.script(nn.Linear(4, 3))), "layer `0` is a `.*ScriptModule`, which per-example"),
    (nn.Sequential(nn.DataParallel(nn.Linear(4, 3))), "layer `0` is a `DataParallel`, which per-example"),
    (nn.Sequential(nn.Linear(4, 3, dtype=torch.cfloat)), "`weight` of the layer `0` is complex"),
    (hooked(lambda gradient: gradient * (torch.arange(12).view(3, 4) > 0)), "A hook changes .* `weight`"),
    (hooked(lambda gradient: gradient.clamp(-1, 1)), "A hook changes the gradient"),
    (nn.Sequential(nn.Embedding(4, 3, max_norm=1.0)), "layer `0` has a `max_norm`")])
@pytest.mark.filterwarnings("ignore")
def test_what_is_no_function_of_its_parameters_is_refused(module, said):
    with pytest.raises(InvalidInput, match=said):
        copied(module)


def test_a_parametrised_weight_is_copied():
    module, x = nn.Sequential(parametrizations.weight_norm(nn.Linear(4, 3))), torch.randn(2, 4)
    assert torch.equal(copied(module)(x), module(x))


@pytest.mark.parametrize(("wrap", "beside"), [
    (lambda key: f"module.{key}", {"n_averaged": torch.tensor(3)}),
    (lambda key: f"model.{key}", {"criterion.weight": torch.ones(2), "metric.total": torch.tensor(1)}),
    (lambda key: f"state.model.{key}", {})])
def test_what_trainers_hold_beside_the_module_is_left_out(wrap, beside):
    own = plain().state_dict()
    assert by_names({wrap(key): value for key, value in own.items()} | beside, own).keys() == own.keys()


def test_of_two_models_in_one_file_none_is_taken():
    own = plain().state_dict()
    both = {f"{head}.{key}": value for head in ("student", "teacher") for key, value in own.items()}
    assert by_names(both, own) is both


class Scaled(nn.Module):
    """Holds a tensor beside its parameters and buffers."""

    def __init__(self):
        super().__init__()
        self.inner, self.scale = nn.Linear(4, 3), torch.arange(1.0, 5.0)

    def forward(self, x):
        return self.inner(x @ torch.diag(self.scale))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tensors_beside_parameters_have_the_precision_of_the_model(dtype):
    module, x = Scaled(), torch.ones(2, 4, dtype=dtype)
    assert in_precision(copied(module), dtype)(x).dtype == dtype
    assert module.scale.dtype == torch.float32
    torch.testing.assert_close(in_precision(copied(module), dtype)(x).float(), module(x.float()))
