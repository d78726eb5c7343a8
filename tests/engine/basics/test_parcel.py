"""Values that are handed to another process: the same numbers in the same strides, without a copy."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from engine.basics.parcel import Parcel, Unpackable


@dataclass(frozen=True)
class Two:
    first: torch.Tensor
    second: dict


@pytest.mark.parametrize("tensor", [
    torch.arange(24.0, dtype=torch.float64).view(2, 3, 4), torch.arange(6.0).view(2, 3).T, torch.zeros(0, 3),
    torch.tensor(3), torch.arange(24).view(2, 3, 4).permute(1, 2, 0), torch.ones(4, 1).T,
    torch.linalg.cholesky(torch.eye(3, dtype=torch.float64) * 2)], ids=lambda tensor: str(tuple(tensor.shape)))
def test_a_tensor_keeps_values_type_and_strides(tensor):
    found = Parcel.of({"one": Two(tensor, {"n": 3})}).opened()["one"]
    assert torch.equal(found.first, tensor) and found.second == {"n": 3}
    assert found.first.dtype == tensor.dtype and found.first.stride() == tensor.stride()


def test_the_numbers_are_not_copied():
    tensor = torch.arange(1000.0, dtype=torch.float64)
    parcel = Parcel.of((tensor, np.arange(10)))
    assert parcel.opened()[0].data_ptr() == parcel.buffers[0].ctypes.data == tensor.data_ptr()
    assert parcel.nbytes > 8080 and len(parcel.stream) < 1000


@pytest.mark.parametrize("value", [lambda: 1, torch.ones(2, requires_grad=True), torch.arange(10.0)[::2],
                                   torch.ones(2, dtype=torch.bfloat16), torch.nn.Parameter(torch.ones(1))],
                         ids=["function", "gradient", "gaps", "bfloat16", "parameter"])
def test_what_another_process_cannot_use_is_said(value):
    with pytest.raises(Unpackable):
        Parcel.of({"value": value})
