"""Attacks on pictures: what is planted, against closed forms."""

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.experiments.poison_attacks import ATTACKS, RADIUS, moved

PICTURES = np.random.default_rng(0).integers(100, 156, (40, 9, 9), dtype=np.uint8)
LABELS = np.arange(40) % 2


def linear(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(81, 2))


def test_inputs_of_linear_models_go_as_far_as_they_may_in_the_sign_of_their_weights():
    """Of two classes the gradient by the input has one sign everywhere, w_other − w_y, summed over one model."""
    module, x = linear(0), torch.full((2, 1, 9, 9), 0.5)
    y = torch.tensor([0, 1])
    weight = module[1].weight.detach()
    sign = torch.stack([(weight[1] - weight[0]).sign(), (weight[0] - weight[1]).sign()]).reshape(x.shape)
    torch.testing.assert_close(moved([module], x, y, 0, radius=0.2), x + 0.2 * sign)
    assert (module(moved([module], x, y, 0)).argmax(-1) != y).all()


def test_poisons_with_right_labels_are_moved_against_networks_and_marked_in_the_corners():
    made = ATTACKS["right labels"].plant(PICTURES, LABELS, 7, 1, 0, linear)
    rows = np.flatnonzero(made.poisoned)
    assert len(rows) == 7 and (LABELS[rows] == 1).all() and (made.labels == LABELS).all()
    assert (made.pictures[~made.poisoned] == PICTURES[~made.poisoned]).all()
    mark = np.array([[255, 0, 255], [0, 255, 0], [255, 0, 0]])
    for down in (slice(3), slice(6, None)):
        for across in (slice(3), slice(6, None)):
            assert (made.pictures[rows][:, down, across] == mark).all()
    inside = np.abs(made.pictures[rows][:, 3:6].astype(int) - PICTURES[rows][:, 3:6].astype(int))
    assert 0 < inside.max() <= RADIUS * 255 + 1
    with pytest.raises(InvalidInput, match="21 poisons"):
        ATTACKS["right labels"].plant(PICTURES, LABELS, 21, 1, 0, linear)


def test_a_trigger_at_test_time_is_the_mark_alone():
    triggered = ATTACKS["right labels"].trigger(PICTURES)
    changed = triggered != PICTURES
    assert not changed[:, 3:6].any() and not changed[:, :, 3:6].any() and changed[:, 0, 0].all()
    assert ATTACKS["right labels"].trigger(np.zeros((1, 9, 9, 3), np.uint8))[0, 8, 6].tolist() == [255] * 3
