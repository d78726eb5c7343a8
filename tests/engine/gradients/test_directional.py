"""Derivatives along directions against per-example gradients of a loop, and against finite differences."""

import pytest
import torch

from engine.gradients import directional
from engine.gradients.directional import logit_derivatives, loss_derivatives
from engine.models.losses import differentiable
from tests.engine.gradients.networks import ZOO, assert_close, directions, loop_behaviors, loop_losses, moved, problem

ROWS = torch.tensor([2, 6, 0, 4])
FORWARD = dict.fromkeys(("tied", "sequences", "images", "branching"), directional.forward_mode)
ROUTE = {**FORWARD, "twice": directional.forward_mode, "frozen": directional.double_backward}
LOGIT_ROUTE = {**dict.fromkeys(("sequences", "tied"), directional.forward_mode),
               "backwards": directional.double_backward, "frozen": directional.double_backward}


@pytest.mark.parametrize("name", ZOO)
def test_of_the_loss_equal_products_with_a_loop_of_gradients(name):
    p = problem(name)
    v, theta = directions(p, 3), moved(p)
    assert_close(loss_derivatives(p, ROWS, v), v @ loop_losses(p, ROWS).T)
    assert_close(loss_derivatives(p, ROWS, v[1], theta), loop_losses(p, ROWS, theta) @ v[1])
    chosen = vars(p.network)["findings"]["derivative", differentiable(p.loss)]
    assert chosen is ROUTE.get(name, directional.layer_by_layer)


@pytest.mark.parametrize("name", ZOO)
def test_of_the_logits_equal_products_with_a_loop_of_gradients(name):
    p = problem(name)
    v, x = directions(p, 2), p.queries
    one_hot = torch.eye(p.classes, dtype=p.theta.dtype)
    expected = torch.stack([loop_behaviors(p, x, one_hot[c].expand(len(x), -1)) @ v.T for c in range(p.classes)], -1)
    assert_close(logit_derivatives(p, x, v), expected)
    chosen = vars(p.network)["findings"]["derivative", directional.logits_alone]
    assert chosen is LOGIT_ROUTE.get(name, directional.recorded)


@pytest.mark.parametrize("route", directional.ROUTES)
def test_every_route_gives_the_same(route):
    p = problem("small_cnn")
    v, theta = directions(p, 2), moved(p)
    vars(p.network)["findings"] = {("derivative", read): route
                                   for read in (differentiable(p.loss), directional.logits_alone)}
    if route is not directional.recorded:  # no rule for a loss
        assert_close(loss_derivatives(p, ROWS, v, theta), v @ loop_losses(p, ROWS, theta).T)
    if route in directional.ROUTES[1:]:
        expected = logit_derivatives(problem("small_cnn"), p.queries, v, theta)
        assert_close(logit_derivatives(p, p.queries, v, theta), expected)


@pytest.mark.parametrize("selection", ["weight", "bias", "3"])
def test_only_the_selected_parameters(selection):
    p = problem("small_cnn", parameters=selection)
    v = directions(p, 2)
    assert_close(loss_derivatives(p, ROWS, v), v @ loop_losses(p, ROWS).T)


def test_equal_finite_differences():
    p = problem("sequences")
    v, step = directions(p, 1)[0], 1e-6
    ahead, behind = (p.loss(p.network.predict(p.x[ROWS], p.theta + sign * step * v), p.y[ROWS]) for sign in (1, -1))
    assert_close(loss_derivatives(p, ROWS, v), (ahead - behind) / (2 * step), 1e-7)
    ahead, behind = (p.network.predict(p.queries, p.theta + sign * step * v) for sign in (1, -1))
    assert_close(logit_derivatives(p, p.queries, v[None])[:, 0], (ahead - behind) / (2 * step), 1e-7)


@pytest.mark.parametrize("name", ["small_cnn", "images", "positions"])
def test_the_same_at_any_budget(name):
    p = problem(name)
    v = directions(p, 2)
    assert_close(loss_derivatives(p, ROWS, v, budget=1), loss_derivatives(p, ROWS, v), 1e-13)
    assert_close(logit_derivatives(p, p.queries, v, budget=1), logit_derivatives(p, p.queries, v), 1e-13)
