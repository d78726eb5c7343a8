"""Where these tests compute: on the CUDA device, or on the one that WHICHFLUENCE_TEST_DEVICE names.

With `cpu` they compare the processor with itself, which tries the tests.
"""

import os

import torch

DEVICE = os.environ.get("WHICHFLUENCE_TEST_DEVICE", "cuda")


def there() -> bool:
    return not DEVICE.startswith("cuda") or torch.cuda.is_available()
