"""Whichfluence: exact and approximate data influence under an explicit specification (B, P, T)."""

import os

# Two processes whose idle threads spin slow each other down tenfold on a small machine: a worker and a
# page share one. Read by the OpenMP runtime when torch is first imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__version__ = "0.1.0"
