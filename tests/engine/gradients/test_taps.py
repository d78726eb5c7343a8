"""What hooks tell of a layer's calls: inputs, derivatives at its outputs, and that no hook is left behind."""

import pytest
import torch
from torch import nn

from engine.basics.errors import InvalidInput
from engine.gradients.taps import output_gradients, recorded, streamed, tapped


class Twice(nn.Module):
    """One layer called twice, by its keyword too, an operation in place behind it, and a layer that is never called."""

    def __init__(self):
        super().__init__()
        self.shared, self.head, self.idle = nn.Linear(3, 3), nn.Linear(3, 2), nn.Linear(3, 3)

    def forward(self, x):
        first = self.shared(x).relu_()
        return self.head(self.shared(input=first).tanh())


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Twice().double()


def modules(model):
    return [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Linear)]


def test_calls_give_the_gradients_of_the_weights(model):
    x, direction = torch.randn(5, 3).double(), torch.randn(5, 2).double()
    value, calls = recorded(modules(model), lambda: model(x))
    assert [call.key for call in calls] == ["shared", "shared", "head"] and torch.equal(calls[0].inputs, x)
    first, again = (output_gradients(value, calls, direction, keep=True) for _ in range(2))
    expected = dict(zip(["shared", "head"], torch.autograd.grad(
        model(x), [model.shared.weight, model.head.weight], direction), strict=True))
    for name, weight in expected.items():
        found = sum(g.T @ call.inputs for g, call in zip(first, calls, strict=True) if call.key == name)
        torch.testing.assert_close(found, weight)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert [call.shape for call in calls] == [(5, 3), (5, 3), (5, 2)]


def test_a_call_that_no_derivative_reaches_has_none(model):
    x = torch.randn(5, 3).double()
    model.shared.requires_grad_(False)
    value, calls = recorded(modules(model), lambda: model(x))
    assert [gradient is None for gradient in output_gradients(value.sum(), calls)] == [True, True, False]
    value, calls = recorded(modules(model), lambda: model(x) + 0 * model.idle(x).sum().detach())
    assert output_gradients(value.sum(), calls)[-1] is None
    model.requires_grad_(False)
    value, calls = recorded(modules(model), lambda: model(x))
    assert output_gradients(value.sum(), calls) == [None] * 3


def test_what_is_returned_stands_for_the_output(model):
    x = torch.randn(5, 3).double()
    with tapped([("head", model.head)], lambda key, module, inputs, output: output + 1):
        moved = model(x)
    torch.testing.assert_close(moved, model(x) + 1)


def test_no_hook_is_left_behind_by_a_failure(model):
    with pytest.raises(RuntimeError):
        recorded(modules(model), lambda: model(torch.randn(5, 4).double()))
    assert not any(module._forward_hooks for _, module in modules(model))


def test_calls_arrive_one_after_another_in_backward(model):
    x, direction = torch.randn(5, 3).double(), torch.randn(5, 2).double()
    value, calls = recorded(modules(model), lambda: model(x))
    expected = output_gradients(value, calls, direction)
    arrived = []
    with streamed(modules(model), lambda *call: arrived.append(call)):
        model(x).backward(direction)
    assert [key for key, _, _ in arrived] == ["head", "shared", "shared"]
    for (_, inputs, gradient), call, own in zip(arrived, reversed(calls), reversed(expected), strict=True):
        assert torch.equal(inputs, call.inputs) and torch.equal(gradient, own)
    assert not any(part._forward_hooks for part in model.modules())


def test_what_a_receiver_refuses_is_said_as_it_is(model):
    def refuse(key, inputs, gradient):
        raise InvalidInput(f"The layer `{key}` is not taken.")

    with streamed(modules(model), refuse), pytest.raises(InvalidInput, match="The layer `head` is not taken"):
        model(torch.randn(5, 3).double()).sum().backward()
