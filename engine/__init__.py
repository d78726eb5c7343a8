"""Whichfluence: exact and approximate data influence under an explicit specification (B, P, T)."""

import os

# Two processes whose idle threads spin slow each other down tenfold on a small machine: a worker and a
# page share one. Read by the OpenMP runtime when torch is first imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# oneDNN keeps a compiled product for each of the last 1,024 shapes. Batches without padding have a shape of their own
# each, so that a long training of a language model grew by 14 MB a step. Read when torch first multiplies.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "256")

__version__ = "0.1.0"
