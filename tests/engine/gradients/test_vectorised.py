"""Per-example gradients by torch.func against a loop of backward passes, and what happens when memory runs out."""

import warnings

import pytest
import torch
from torch.nn.functional import cross_entropy

from engine.basics.errors import InvalidInput
from engine.gradients import chunks, vectorised
from engine.gradients.findings import computed_once
from engine.gradients.vectorised import gradients_of
from tests.engine.gradients.networks import ZOO, assert_close, loop_losses, moved, problem

ROWS = torch.tensor([5, 0, 3, 3, 6])


def losses(p, rows=ROWS, theta=None, budget=chunks.BUDGET, **options):
    return gradients_of(p.network, p.x[rows], p.y[rows], p.loss, theta, budget, **options)


@pytest.mark.parametrize("name", ZOO)
def test_equal_a_loop_of_backward_passes(name):
    p = problem(name)
    assert_close(losses(p), loop_losses(p, ROWS))
    assert_close(losses(p, theta=moved(p)), loop_losses(p, ROWS, moved(p)))
    assert_close(losses(p, budget=1), loop_losses(p, ROWS))


def test_some_of_the_parameters():
    p = problem("small_cnn")
    names = ("3.bias", "0.weight")
    expected = torch.cat([loop_losses(p, ROWS)[:, p.network.slices[name]] for name in names], 1)
    assert_close(losses(p, names=names), expected)


def test_a_loss_that_vmap_does_not_take():
    def scaled(logits, labels):
        return torch.cat([cross_entropy(row[None], label[None])[None] * (2 if row[0] > 0 else 1)
                          for row, label in zip(logits, labels, strict=True)])

    p = problem("mlp", loss=scaled)
    assert_close(losses(p), loop_losses(p, ROWS))
    assert vars(p.network)["findings"]["per example", scaled] is vectorised.one_by_one


@pytest.mark.parametrize("error", [RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9"),
                                   MemoryError(), torch.OutOfMemoryError("CUDA out of memory.")])
def test_when_memory_runs_out_it_goes_on_with_smaller_chunks_and_says_so(error):
    p, seen = problem("mlp", n=40), []

    def small(*arguments):
        seen.append(len(arguments[3]))
        if seen[-1] > 7:
            raise error
        return vectorised.vectorised(*arguments)

    computed_once(p.network, ("per example", p.loss), lambda: small)
    rows = torch.arange(40)
    with pytest.warns(RuntimeWarning, match="continue with 20 examples at a time") as caught:
        assert_close(losses(p, rows), loop_losses(p, rows))
    assert len(caught) == 1 and seen == [40, 20, 10, *[5] * 8]


def test_when_not_even_one_example_fits_it_says_what_to_do():
    def never(*_):
        raise MemoryError

    p = problem("mlp")
    computed_once(p.network, ("per example", p.loss), lambda: never)
    with pytest.raises(InvalidInput, match="does not fit in memory; select fewer"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        losses(p)
    with pytest.raises(InvalidInput, match="take 8,.* GiB, more than the available memory"):
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
        losses(problem("mlp"), check=cancel)
