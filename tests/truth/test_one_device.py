"""No exact process and no estimator mixes tensors of two devices, found without a GPU on one that is pretended."""

import numpy as np
import pytest
import torch

from engine.scoring.compute import compute
from tests.gpu.asked import problem, scorings
from tests.truth.pretended import Away, pretended

LONG = {("network", "exact", "reoptimize"), ("network", "lissa"), ("network", "astra"), ("network", "source"),
        ("softmax", "lissa")}


def asked():
    """Every exact process and every estimator of softmax regression and of a network."""
    for name in ("softmax", "network"):
        seen = set()
        for scoring in scorings(name):
            key = (scoring.estimator, *([scoring.process.kind] if scoring.exact else []))
            if key not in seen:
                seen.add(key)
                yield pytest.param(name, scoring, id="-".join((name, *key)),
                                   marks=[pytest.mark.slow] if (name, *key) in LONG else [])


@pytest.mark.parametrize("name, scoring", asked())
def test_scores_come_from_one_device(name, scoring):
    expected = compute(problem(name), scoring)[0]
    with pretended():
        found = compute(problem(name, "cuda"), scoring)[0]
    assert (found.converged == expected.converged).all()
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-4, atol=1e-6 * np.abs(expected.values).max())


def test_the_pretended_device_refuses_what_a_gpu_does():
    with pretended():
        there, here = torch.ones(2, 2, device="cuda"), torch.ones(2)
        assert type(there) is Away and there.device.type == "cuda" and there.sum().item() == 4
        for wrong in (lambda: there @ here, lambda: there + here, lambda: torch.stack([there[0], here]), there.numpy):
            with pytest.raises((RuntimeError, TypeError), match="device"):
                wrong()
        there[0] += 2
        assert (there * 0.5 + torch.tensor(1.0)).cpu().tolist() == [[2.5, 2.5], [1.5, 1.5]]
        assert there[torch.tensor([1])].tolist() == [[1, 1]] == there[[1]].tolist()
