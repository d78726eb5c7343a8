"""What a precision takes from a user's numbers is said where digits are lost, and nowhere else."""

import numpy as np
import pytest
import torch
from torch import nn

from engine.problems import ModuleProblem
from engine.problems.rounding import loss
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.problems_for_tests import arrays


def problem(dtype, of=np.float64, weights=torch.float32):
    torch.manual_seed(0)
    x, y, queries, labels = arrays(n=12)
    return ModuleProblem(nn.Linear(5, 3, dtype=weights), x.astype(of), y, queries.astype(of), labels, dtype=dtype)


@pytest.mark.parametrize(("dtype", "of", "weights", "said"), [
    ("float32", np.float64, torch.float32, ["inputs are float64"]), ("float32", np.float32, torch.float32, []),
    ("float64", np.float64, torch.float32, []), ("float64", np.float64, torch.float64, []),
    ("float32", np.float64, torch.float64, ["inputs are float64", "model's parameters are float64"])])
def test_lost_digits_are_said(dtype, of, weights, said):
    found = problem(dtype, of, weights)
    assert len(found.rounded) == len(said)
    assert all(words in told for words, told in zip(said, found.rounded, strict=True))
    assert all("converted to float32" in told and told.endswith("of its value.") for told in found.rounded)
    scored = compute(found.with_candidates([3, 1]), Scoring.of("query_loss", {"kind": "add_occurrence"},
                                                               {"kind": "one_step", "eta": 0.1}))[0]
    assert scored.provenance.get("rounded", []) == list(found.rounded)


def test_what_is_told_is_how_far_values_move():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9_000, 3)) * 10.0 ** rng.integers(-6, 6, (9_000, 3))
    x[5] = 0.0
    found, wide = loss(x, torch.float32)
    moved = np.abs(x.astype(np.float32).astype(np.float64) - x)
    assert found == pytest.approx((moved[x != 0] / np.abs(x[x != 0])).max()) and 0 < found < 6e-8 and wide == "float64"
    for exact in (np.arange(9.0), np.arange(9), x.astype(np.float32)):
        assert loss(exact, torch.float32)[0] == 0.0
