"""The device is there, and computes in float64 as IEEE 754 has it."""

import pytest
import torch

from tests.gpu.device import DEVICE, there


def test_products_are_those_of_the_processor():
    if not there():
        pytest.skip("tests/gpu needs a CUDA device")
    a = torch.randn(64, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close((a.to(DEVICE) @ a.to(DEVICE)).cpu(), a @ a, rtol=1e-12, atol=1e-12)
