"""Which layers' factors are relied on, and that layer by layer they give the gradients of a loop."""

import pytest
import torch

from engine.gradients import forms
from engine.gradients.factors import gradient_forms, patches_of, planned
from engine.gradients.forms import Outer, RowGradients
from engine.gradients.layout import arranged, channels_last
from engine.models.cnn import cnn
from engine.models.network import Network
from engine.problems.module import ModuleProblem
from tests.engine.gradients.networks import ZOO, assert_close, directions, loop_losses, moved, problem

ROWS = torch.tensor([1, 5, 2, 2])
LAYERS = {
    "linear": {""}, "mlp": {"1", "3"}, "small_cnn": {"0", "3", "6"}, "positions": {"0", "3"},
    "twice": {"shared", "head"}, "tied": {"first", "second"}, "sequences": {"head"},
    "images": {"first", "second", "head"}, "branching": set(), "backwards": {"first", "second"},
    "frozen": {"middle", "head"},
}


def assembled(p, found):
    """The gradients that forms stand for, (b, P)."""
    identity = torch.eye(p.parameters, dtype=p.theta.dtype)
    return sum(form.along(identity) for form in found)


@pytest.mark.parametrize("name", ZOO)
def test_forms_give_the_gradients_of_a_loop(name):
    p = problem(name)
    theta = moved(p)
    found = gradient_forms(p.network, p.x[ROWS], p.y[ROWS], p.loss, theta)
    expected = loop_losses(p, ROWS, theta)
    assert_close(assembled(p, found), expected)
    assert_close(sum(form.squares() for form in found), expected.square().sum(1))


@pytest.mark.parametrize("name", ZOO)
def test_factors_are_relied_on_where_they_reproduce_the_gradients(name):
    p = problem(name)
    plan = planned(p.network, p.x)
    assert {layer.name for layer in plan.layers} == LAYERS[name]
    covered = [name for layer in plan.layers for name in layer.names]
    assert sorted([*covered, *plan.written]) == sorted(p.network.names)
    assert {layer.name for layer in planned(problem(name, dtype="float32").network, p.x).layers} == LAYERS[name]


@pytest.mark.parametrize("selection, kinds", [("weight", [RowGradients, RowGradients, Outer]),
                                              ("bias", [RowGradients] * 3), ("^6", [Outer]),
                                              ("3.bias|6.weight", [RowGradients, Outer])])
def test_only_the_selected_parameters(selection, kinds):
    p = problem("small_cnn", parameters=selection)
    found = gradient_forms(p.network, p.x[ROWS], p.y[ROWS], p.loss)
    assert [type(form) for form in found] == kinds
    assert_close(assembled(p, found), loop_losses(p, ROWS))


def test_the_cheaper_form_is_taken_layer_by_layer():
    p = problem("positions")
    assert [type(form) for form in gradient_forms(p.network, p.x, p.y, p.loss)] == [Outer, Outer]
    p = problem("small_cnn")  # linear layers factored, convolutions over many positions written out
    assert [type(form) for form in gradient_forms(p.network, p.x, p.y, p.loss)] == [RowGradients] * 4 + [Outer]


def test_inputs_of_other_lengths_have_the_same_inner_products():
    """A layer whose factors are cheaper for short inputs is written out for long ones."""
    torch.manual_seed(0)
    place, bias = slice(0, 12), slice(12, 15)
    short, long = (forms.Factors(torch.randn(b, steps, 4).double(), torch.randn(b, steps, 3).double())
                   for b, steps in ((2, 1), (5, 6)))
    left, right = (forms.forms_of(factors, place, bias) for factors in (short, long))
    assert [type(form) for form in left] == [Outer] and [type(form) for form in right] == [RowGradients, RowGradients]
    expected = torch.einsum("qti,qto,ksi,kso->qk", short.inputs, short.outputs, long.inputs, long.outputs)
    expected += torch.einsum("qto,kso->qk", short.outputs, long.outputs)
    assert_close(forms.inner_products(left, right), expected)
    assert_close(forms.inner_products(right, left), expected.T)


class Single(torch.nn.Module):
    """A module that insists on float32."""

    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.head(x.float())


def test_a_module_that_float64_does_not_suit_is_checked_in_its_own_precision():
    assert [layer.name for layer in planned(Network(Single()), torch.rand(3, 4)).layers] == ["head"]


def test_images_are_arranged_where_the_module_takes_that():
    p = problem("small_cnn", dtype="float32")
    x = arranged(p.network, p.x)
    assert x.stride() == (64, 1, 8, 1) and x.equal(p.x)
    assert arranged(p.network, p.x[2:]).equal(p.x[2:])
    wide = torch.rand(3, 2, 9, 8)
    assert channels_last(wide).equal(wide) and channels_last(wide).stride() == (144, 1, 16, 2)
    viewing = problem("images", dtype="float32").network
    assert arranged(viewing, wide) is wide
    with pytest.raises(RuntimeError, match="view"):
        viewing.predict(channels_last(wide))


def test_large_products_are_made_in_pieces(monkeypatch):
    p = problem("positions")
    (whole, *_), v = gradient_forms(p.network, p.x, p.y, p.loss), directions(p, 3)
    inner, along = whole.inner(whole), whole.along(v)
    monkeypatch.setattr(forms, "PIECE", 1)
    assert_close(whole.inner(whole), inner, 1e-14)
    assert_close(whole.along(v), along, 1e-14)


@pytest.mark.parametrize("stride, padding, dilation", [((1, 1), (0, 0), (1, 1)), ((2, 1), (1, 2), (1, 3))])
def test_patches_are_those_of_unfold_in_another_order(stride, padding, dilation):
    images = torch.rand(2, 3, 9, 8, generator=torch.Generator().manual_seed(0))
    for x in (images, channels_last(images)):
        found = patches_of(x, (3, 2), stride, padding, dilation)
        expected = torch.nn.functional.unfold(images, (3, 2), dilation, padding, stride).unflatten(1, (3, 3, 2))
        assert found.equal(expected.permute(0, 4, 2, 3, 1).flatten(2))


def test_a_view_of_a_larger_array_is_not_kept():
    large = torch.rand(50, 4, 3)
    assert forms.compact(large) is large
    small = forms.compact(large[:2])
    assert small.equal(large[:2]) and small.untyped_storage().nbytes() == small.nbytes


def test_the_paper_network_in_float32_and_float64():
    torch.manual_seed(0)
    module, x = cnn((1, 28, 28), 10), torch.rand(3, 1, 28, 28)
    for dtype, tolerance in (("float64", 1e-11), ("float32", 1e-5)):
        p = ModuleProblem(module, x, [0, 4, 9], x, [1, 2, 3], dtype=dtype)
        found, v = gradient_forms(p.network, p.x, p.y, p.loss), directions(p, 5)
        assert [type(form) for form in found] == [RowGradients] * 4 + [Outer] * 2
        assert_close(sum(form.along(v) for form in found), loop_losses(p, torch.arange(3)) @ v.T, tolerance)
