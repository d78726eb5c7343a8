"""Values with tensors in a form that another process reads without copying the numbers.

Only between processes of one run: a parcel is pickled, and is never read from a file.
"""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


class Unpackable(Exception):
    """The value holds something that only its own process can use."""


@dataclass(frozen=True)
class Parcel:
    """A pickled value. buffers: the bytes of its tensors and arrays, which stay where they lie."""

    stream: bytes
    buffers: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, value: object) -> Parcel:
        """The value, with tensors in the strides that they have, because products depend on them in the last digit.

        Raises `Unpackable` for what cannot be pickled, and for tensors with gradients or with gaps in memory.
        """
        stream = io.BytesIO()
        buffers: list[pickle.PickleBuffer] = []
        try:
            _Packer(stream, protocol=5, buffer_callback=buffers.append).dump(value)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise Unpackable(str(error)) from None
        return cls(stream.getvalue(), tuple(np.frombuffer(buffer.raw(), dtype=np.uint8) for buffer in buffers))

    def opened(self) -> Any:
        """The value. Its tensors lie in the buffers: who writes into one changes it for all who opened the parcel."""
        return pickle.loads(self.stream, buffers=self.buffers)

    @property
    def nbytes(self) -> int:
        return len(self.stream) + sum(buffer.nbytes for buffer in self.buffers)


class _Packer(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        return (_tensor, _taken_apart(value)) if isinstance(value, Tensor) else NotImplemented


def _taken_apart(value: Tensor) -> tuple[np.ndarray, Sequence[int], Sequence[int], str]:
    """What `_tensor` takes."""
    strides = value.stride()
    axes = sorted(range(value.ndim), key=strides.__getitem__, reverse=True)
    if type(value) is not Tensor or value.requires_grad or value.layout is not torch.strided:
        raise pickle.PicklingError("a tensor with gradients, or of another layout")
    dense = value.permute(axes)
    if not dense.is_contiguous():
        raise pickle.PicklingError("a tensor with gaps in memory")
    return dense.reshape(-1).cpu().numpy(), tuple(value.shape), strides, str(value.device)


def _tensor(flat: np.ndarray, shape: Sequence[int], strides: Sequence[int], device: str) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about arrays that must not be written into
        return torch.from_numpy(flat).as_strided(shape, strides).to(device)
