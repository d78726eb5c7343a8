"""What a program of ours asks of the libraries below torch; a program that imports the engine is left as it is."""

from __future__ import annotations

import os

DEFAULTS = {
    # Two processes whose idle threads spin slow each other down tenfold on a small machine: a worker and a page share
    # one. Read by the OpenMP runtime when torch is first imported.
    "OMP_WAIT_POLICY": "passive",
    # oneDNN keeps a compiled product for each of the last 1,024 shapes. Batches without padding have a shape of their
    # own each, so that a long training of a language model grew by 14 MB a step. Read when torch first multiplies.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "256",
    # Ten bits of mantissa on a GPU would drown small interventions. Read when CUDA's libraries are first used.
    "NVIDIA_TF32_OVERRIDE": "0",
}


def settle() -> None:
    """Set what the user has not set. To be called before torch is imported."""
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
