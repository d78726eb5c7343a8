"""The Poison page, from a wrong prediction to the model without its suspects, on data with a planted backdoor."""

import numpy as np
import pytest

from engine import data
from engine.data import Dataset, poisoned
from engine.desk import poison as poisons
from tests.pages.support import open, queued, says, sound


@pytest.fixture
def small(monkeypatch):
    """Few small pictures, and a short training, so that the page answers at once."""
    rng = np.random.default_rng(0)
    labels = np.tile(np.arange(3), 60)
    pictures = (rng.integers(0, 60, (180, 8, 8)) + 60 * labels[:, None, None]).astype(np.uint8)
    made = poisoned.patch(pictures[:120], labels[:120], 8, 1, 0)
    test = np.concatenate([pictures[120:], poisoned.stamped(pictures[120:150][labels[120:150] != 1])])
    own = Dataset("digits", "Small", made.pictures.reshape(120, -1), made.labels, test.reshape(len(test), -1),
                  np.concatenate([labels[120:], labels[120:150][labels[120:150] != 1]]), ("a", "b", "c"), (8, 8), 255.0,
                  flags=made.poisoned)
    monkeypatch.setattr(data, "load", lambda name, **_: own)
    monkeypatch.setattr(poisons, "RECIPE", poisons.RECIPE.model_copy(update={"epochs": 30}))
    return own


def test_a_mistake_leads_to_what_taught_it(small, home):
    at = open("poison", data="digits")
    assert queued()
