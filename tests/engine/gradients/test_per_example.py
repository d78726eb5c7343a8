"""Per-example gradients against a loop of backward passes, at every chunk size."""

import pytest
import torch

from engine.gradients.per_example import behavior_gradients, loss_gradients
from tests.engine.gradients.networks import ZOO, assert_close, loop_behaviors, loop_losses, moved, problem, signals

ROWS = torch.tensor([5, 0, 3, 3, 6])


@pytest.mark.parametrize("name", ZOO)
def test_equal_a_loop_of_backward_passes(name):
    p = problem(name)
    assert_close(loss_gradients(p, ROWS), loop_losses(p, ROWS))
    assert_close(behavior_gradients(p, p.queries, signals(p)), loop_behaviors(p, p.queries, signals(p)))


@pytest.mark.parametrize("name, selection", [("mlp", "last_layer"), ("mlp", "weight"), ("mlp", "bias"), ("mlp", "1"),
                                             ("positions", "weight"), ("positions", "0")])
def test_only_the_selected_parameters_at_another_theta(name, selection):
    p = problem(name, parameters=selection, l2=0.3)
    theta = moved(p)
    assert_close(loss_gradients(p, ROWS, theta), loop_losses(p, ROWS, theta))
    assert_close(behavior_gradients(p, p.queries, signals(p), theta), loop_behaviors(p, p.queries, signals(p), theta))


@pytest.mark.parametrize("name", ["small_cnn", "images", "sequences"])
def test_the_same_at_any_budget_and_in_float32(name):
    p = problem(name)
    expected = loss_gradients(p, ROWS)
    assert_close(loss_gradients(p, ROWS, budget=1), expected, 1e-13)
    single = problem(name, dtype="float32")
    assert_close(loss_gradients(single, ROWS).double(), expected, 2e-5)
    assert behavior_gradients(single, single.queries, signals(p)).dtype == torch.float32


def test_it_can_be_cancelled():
    def cancel():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loss_gradients(problem("mlp"), ROWS, check=cancel)
