"""What needs a CUDA device, as one folder: `python -m pytest tests/gpu`, under five minutes on any such machine."""

import pytest

from engine.models.precision import without_tf32
from tests.gpu.device import DEVICE, there


@pytest.fixture(autouse=True)
def all_bits():
    """As in our own programs."""
    with without_tf32():
        yield


@pytest.fixture
def device():
    """The device to compare with the processor."""
    return DEVICE


def pytest_ignore_collect(collection_path):
    """Without the device nothing is collected but the file that says so."""
    return True if not there() and collection_path.name not in ("gpu", "test_device.py") else None
