"""Per-example gradients against a loop of backward passes, at every chunk size, and when memory runs out."""

import warnings

import pytest
import torch

from engine.errors import InvalidInput
from engine.gradients import chunks, per_example
from engine.gradients.findings import found_once
from engine.gradients.per_example import behavior_gradients, loss_gradients
from tests.engine.gradients.networks import ZOO, assert_close, loop_behaviors, loop_losses, moved, problem, signals

ROWS = torch.tensor([5, 0, 3, 3, 6])


@pytest.mark.parametrize("name", ZOO)
def test_equal_a_loop_of_backward_passes(name):
    p = problem(name)
    assert_close(loss_gradients(p, ROWS), loop_losses(p, ROWS))
    assert_close(behavior_gradients(p, p.queries, signals(p)), loop_behaviors(p, p.queries, signals(p)))


@pytest.mark.parametrize("selection", ["last_layer", "weight", "bias", "1"])
def test_only_the_selected_parameters_at_another_theta(selection):
    p = problem("mlp", parameters=selection, l2=0.3)
    theta = moved(p)
    assert_close(loss_gradients(p, ROWS, theta), loop_losses(p, ROWS, theta))
    assert_close(behavior_gradients(p, p.queries, signals(p), theta), loop_behaviors(p, p.queries, signals(p), theta))


def test_a_loss_that_vmap_does_not_take():
    def scaled(logits, labels):
        return torch.nn.functional.cross_entropy(logits, labels, reduction="none") * (1 + float(logits[0, 0] > 0))

    p = problem("mlp", loss=scaled)
    assert_close(loss_gradients(p, ROWS), loop_losses(p, ROWS))


@pytest.mark.parametrize("name", ["small_cnn", "images", "sequences"])
def test_the_same_at_any_budget_and_in_float32(name):
    p = problem(name)
    expected = loss_gradients(p, ROWS)
    assert_close(loss_gradients(p, ROWS, budget=1), expected, 1e-13)
    single = problem(name, dtype="float32")
    assert_close(loss_gradients(single, ROWS).double(), expected, 2e-5)


@pytest.mark.parametrize("error", [RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9"),
                                   MemoryError(), torch.OutOfMemoryError("CUDA out of memory.")])
def test_when_memory_runs_out_it_goes_on_with_smaller_chunks_and_says_so(monkeypatch, error):
    p, seen = problem("mlp", n=40), []
    rows = torch.arange(40)
    expected = loss_gradients(p, rows)
    whole = per_example.vectorised

    def small(*arguments):
        seen.append(len(arguments[3]))
        if seen[-1] > 7:
            raise error
        return whole(*arguments)

    vars(p.network)["findings"][("per example", p.loss)] = small
    with pytest.warns(RuntimeWarning, match="goes on with 20 examples at a time") as caught:
        assert_close(loss_gradients(p, rows), expected, 1e-13)
    assert len(caught) == 1 and seen == [40, 20, 10, *[5] * 8]


def test_when_not_even_one_example_fits_it_says_what_to_do(monkeypatch):
    def never(*_):
        raise MemoryError

    p = problem("mlp")
    found_once(p.network, ("per example", p.loss), lambda: never)
    with pytest.raises(InvalidInput, match="single example; select fewer"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss_gradients(p, ROWS)
    with pytest.raises(InvalidInput, match="take 8,.* GiB, which the memory does not hold"):
        chunks.allocated("gradients", 1 << 44, 1 << 6, like=p.theta)


def test_other_errors_are_not_taken_for_exhausted_memory():
    def wrong(_):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        chunks.in_chunks(wrong, 3, 2)


def test_it_can_be_cancelled():
    def cancel():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loss_gradients(problem("mlp"), ROWS, check=cancel)
