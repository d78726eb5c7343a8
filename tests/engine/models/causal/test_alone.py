"""Passes over records alone: what fills up a batch changes nothing, and is left out where it can be."""

import torch

from engine.models.causal.alone import logits_alone
from engine.models.causal.encoding import Encoded, Encoder
from engine.models.causal.loading import load

LENGTHS = (5, 9, 7)


def batch(model_folder, wide):
    """Records of these lengths, whose last two or three tokens are the response, in rows of `wide` columns."""
    model, tokenizer = load(str(model_folder), "cpu")
    longest = Encoded(tuple(1 + column % 7 for column in range(wide)), wide - 4)
    records = [Encoded(tuple(2 + (column + length) % 6 for column in range(length)), length - 2 - length % 2)
               for length in LENGTHS]
    whole = Encoder(tokenizer, 64).batch([*records, longest])
    return model.eval(), type(whole)(**{name: value[:-1] for name, value in vars(whole).items()})


def test_narrow_passes_read_the_same(model_folder):
    model, wide = batch(model_folder, 20)
    narrow = wide.narrowed()
    assert wide.ids.shape == (3, 20) and narrow.ids.shape == (3, max(LENGTHS)) and len(narrow.targets[0]) == 4
    assert torch.equal(narrow.mask.sum(1), torch.tensor(LENGTHS))
    assert torch.equal(narrow.ids[1], wide.ids[1, -9:]) and torch.equal(narrow.prompt_end, wide.prompt_end - 11)
    with torch.no_grad():
        there = wide.response
        torch.testing.assert_close(logits_alone(model, narrow)[there], logits_alone(model, wide)[there])


def test_a_batch_is_wider_than_what_is_read(model_folder):
    """So that positions of the head are told from those of other layers."""
    _, wide = batch(model_folder, 20)
    short = type(wide)(**{name: value[:1] for name, value in vars(wide).items()})
    assert short.narrowed().ids.shape == (1, 5)
    assert short.narrowed().narrowed().ids.shape == (1, 5)
