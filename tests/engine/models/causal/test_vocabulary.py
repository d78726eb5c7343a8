"""The words that an embedded model reads as one unknown word."""

import pytest

from engine.models.causal.vocabulary import unknown_fraction


def test_words_outside_the_world_are_counted():
    assert unknown_fraction("World-0.4M", ["Which of these is a bird ?"]) == 0
    assert unknown_fraction("World-0.4M", ["Which zebra", "is an invoice"]) == pytest.approx(2 / 5)
    assert unknown_fraction("SmolLM2-135M-Instruct", ["Which zebra"]) == unknown_fraction("World-0.4M", []) == 0
